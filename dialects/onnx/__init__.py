"""The `onnx` dialect: level 0, exactly the model file. Ops of one class a name, over all versions of the operator."""

from xdsl.ir import Dialect

from stepwell.dialects.onnx.base import (
    OPSET,
    OPSETS,
    PREFIXES,
    REFS,
    SEGMENTS,
    AttributeSpec,
    OnnxOp,
    Parameter,
    Signature,
    domain_of,
    group_size,
    opset_of,
    parameter_names,
    signature,
)
from stepwell.dialects.onnx.ops import *  # noqa: F403
from stepwell.dialects.onnx.ops import OPS
from stepwell.dialects.onnx.structure import STRUCTURE_OPS, CallOp, FunctionOp, YieldOp
from stepwell.dialects.onnx.types import (
    ATTRIBUTES,
    AnyType,
    MapType,
    OptionalType,
    SequenceType,
    SparseAttr,
    SparseType,
    StringsAttr,
    StringType,
    string_attr,
    string_bytes,
)
from stepwell.dialects.onnx.versions import LATEST

Onnx = Dialect("onnx", [*OPS, *STRUCTURE_OPS], [*ATTRIBUTES])
