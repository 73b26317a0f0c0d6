"""The `onnx` dialect: level 0, exactly the model file; one op class a name, over all versions of the op."""

from typing import TYPE_CHECKING

from xdsl.ir import Dialect

from stepwell.dialects.onnx import ops
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
from stepwell.dialects.onnx.op_class import op_class
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

if TYPE_CHECKING:
    from stepwell.dialects.onnx.ops import *  # noqa: F403

    Onnx: Dialect


def __getattr__(name: str) -> object:
    """The dialect, or a class of an operator, made when it is first used."""
    if name == "Onnx":
        value = Dialect("onnx", [*ops.OPS, *STRUCTURE_OPS], [*ATTRIBUTES])
    else:
        value = getattr(ops, name)
    globals()[name] = value
    return value


__all__ = [
    "AnyType",
    "AttributeSpec",
    "CallOp",
    "FunctionOp",
    "LATEST",
    "MapType",
    "OPSET",
    "OPSETS",
    "Onnx",
    "OnnxOp",
    "OptionalType",
    "PREFIXES",
    "Parameter",
    "REFS",
    "SEGMENTS",
    "SequenceType",
    "Signature",
    "SparseAttr",
    "SparseType",
    "StringType",
    "StringsAttr",
    "YieldOp",
    "domain_of",
    "group_size",
    "op_class",
    "opset_of",
    "parameter_names",
    "signature",
    "string_attr",
    "string_bytes",
]
