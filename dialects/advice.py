"""Advice of errors that depends on the program around an op."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from stepwell.dialects.types import Tensor, dims_of


def on_open_size(op: Operation) -> str:
    """The advice for a size that must be known: to fix the shapes of the inputs, unless they are fixed."""
    function = op
    while not isinstance(function, FuncOp) and (parent := function.parent_op()) is not None:
        function = parent
    if isinstance(function, FuncOp) and all(map(_is_fixed, function.function_type.inputs)):
        return "make the size a constant of the model: data decide it, the inputs have fixed shapes already"
    return "give the model's inputs fixed shapes, for example with --input-shape"


def _is_fixed(type: Attribute) -> bool:
    return not isinstance(type, TensorType) or all(dim.is_static for dim in dims_of(cast(Tensor, type)))
