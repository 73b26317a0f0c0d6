"""Result types inferred again after a rewrite made operand types more precise."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import set_type
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.types import Tensor, dims_of, tensor_of, tensor_type


def refine_types(func: FuncOp) -> None:
    """Infer all types again after replaced values have become more precise."""
    for op in func.body.walk():
        if isinstance(op, GraphOp) and op.KIND is not Kind.STRUCTURE:
            refine_result_types(op)


def refine_result_types(op: GraphOp) -> None:
    """Give results the dimensions that the type relation knows; a name that it does not know stays."""
    for result, inferred in zip(op.results, op.inferred_types(), strict=True):
        if not isinstance(inferred, TensorType) or inferred == result.type:
            continue
        found, known = dims_of(result.type), dims_of(cast(Tensor, inferred))
        dims = [old if new.is_unknown else new for old, new in zip(found, known, strict=True)]
        type = tensor_type(tensor_of(result).element_type, dims)
        set_type(result, type)
