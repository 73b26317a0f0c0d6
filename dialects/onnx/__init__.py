"""The `onnx` dialect: level 0, exactly the model file; one op class a name, over all versions of the op."""

from importlib import import_module
from typing import TYPE_CHECKING

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
    from stepwell.dialects.onnx.ops import OPS as OPS

    Onnx: Dialect


def __getattr__(name: str) -> object:
    """
    The dialect, or a class of an operator: 200 classes are made (25 ms) when the first is used.

    Programs and plugins that begin on level 1 need none of them.
    """
    operators = vars(import_module("stepwell.dialects.onnx.ops"))
    made = {each: operators[each] for each in (*operators["__all__"], "OPS")}
    made["Onnx"] = Dialect("onnx", [*made["OPS"], *STRUCTURE_OPS], [*ATTRIBUTES])
    if name not in made:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals().update(made)
    return made[name]


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
    "opset_of",
    "parameter_names",
    "signature",
    "string_attr",
    "string_bytes",
]
