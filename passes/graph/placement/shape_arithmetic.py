"""Operands that determine sizes, and the cheap integer ops whose results are used for these operands only."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import cast

from xdsl.dialects.builtin import IntegerType, ModuleOp, TensorType
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.types import dims_of, tensor_of

MOST_ELEMENTS = 64
"""Integer ops on more elements are work for a device."""
_DECIDING: Mapping[type[Operation], tuple[str, ...]] = {
    graph.IfOp: ("condition",),
    graph.ForOp: ("count",),
    graph.RangeOp: ("start", "limit", "delta"),
}
_SIZES = (graph.ShapeOfOp, graph.ExtentsOp, graph.BindSizesOp)
_SUFFIX = "_value"
"""The ending of the names of operands that are a shape, sizes, offsets or pads at run time."""


def deciding_operands(op: Operation) -> set[int]:
    """The positions of operands that the host reads: conditions, numbers of iterations, sizes, offsets."""
    if not isinstance(op, GraphOp):
        return set()
    if is_test(op):
        return {0}
    names = _DECIDING.get(type(op), ())
    names += tuple(n for n, _ in op.get_irdl_definition().operands if n.endswith(_SUFFIX))
    values = [cast("SSAValue | None", getattr(op, name, None)) for name in names]
    return {position for position, operand in enumerate(op.operands) if operand in values}


def is_test(op: Operation) -> bool:
    """Whether an op yields the condition of a loop."""
    parent = op.parent_op()
    return isinstance(parent, graph.WhileOp) and op is parent.test.block.last_op


def shape_arithmetic(module: ModuleOp) -> set[Operation]:
    """
    The ops that compute sizes alone: `graph.shape_of`, `graph.extents`, `graph.bind_sizes`, and ops on a few
    integers whose uses all decide or compute sizes.
    """
    found: set[Operation] = set()
    for op in reversed(list(module.walk())):
        if isinstance(op, _SIZES) or (_is_cheap(op) and _decides(op, found)):
            found.add(op)
    return found


def _is_cheap(op: Operation) -> bool:
    if not isinstance(op, GraphOp) or op.KIND is Kind.STRUCTURE or op.regions or not op.results:
        return False
    return all(map(_are_few_integers, (*op.operands, *op.results)))


def _are_few_integers(value: SSAValue) -> bool:
    if value.type.name != TensorType.name or not isinstance(tensor_of(value).element_type, IntegerType):
        return False
    dims = dims_of(value.type)
    return all(dim.is_static for dim in dims) and prod(dim.value for dim in dims) <= MOST_ELEMENTS


def _decides(op: Operation, found: set[Operation]) -> bool:
    uses = [use for result in op.results for use in result.uses]
    return bool(uses) and all(
        use.operation in found or use.index in deciding_operands(use.operation) for use in uses
    )
