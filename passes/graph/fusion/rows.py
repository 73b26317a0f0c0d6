"""Rows of a tensor: the iteration space that reductions over the same innermost axes share for fusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph.expression_reads import reads_rows, whole_input
from stepwell.dialects.graph.norm import RowNormOp
from stepwell.dialects.graph.reduction import RowOp
from stepwell.dialects.types import dims_of
from stepwell.runtime.dims import Dim, same_dims

_FOLLOWERS = (Kind.ELEMENTWISE, Kind.BROADCAST)


@dataclass(frozen=True)
class RowShape:
    """The rows of a tensor: the full shape, and the innermost axes along which a row extends."""

    dims: Sequence[Dim]
    axes: frozenset[int]

    @property
    def _kept(self) -> list[Dim]:
        return [dim for axis, dim in enumerate(self.dims) if axis not in self.axes]

    @property
    def _as_ones(self) -> list[Dim]:
        return [Dim.of(1) if axis in self.axes else dim for axis, dim in enumerate(self.dims)]

    def same(self, other: RowShape) -> bool:
        """Whether two tensors have the same rows: equal shapes and axes."""
        return self.axes == other.axes and same_dims(self.dims, other.dims)

    def is_whole(self, value: SSAValue) -> bool:
        """Whether a tensor has the full shape of the rows."""
        return same_dims(dims_of(value.type), self.dims)

    def is_number_a_row(self, value: SSAValue) -> bool:
        """Whether a tensor has one number a row: the row axes are missing in its shape, or of size 1."""
        dims = dims_of(value.type)
        return same_dims(dims, self._kept) or same_dims(dims, self._as_ones)

    def broadcasts(self, value: SSAValue) -> bool:
        """Whether a tensor with one number a row broadcasts along the row axes, since these have size 1."""
        return same_dims(dims_of(value.type), self._as_ones) or not self._kept


def rows_of(op: Operation) -> RowShape | None:
    """The rows of a reduction over innermost axes, a softmax-like op or a norm; None for other ops."""
    match op:
        case graph.ReduceOp():
            dims, axes = dims_of(op.input.type), op.axes.get_values()
            innermost = list(axes) == list(range(len(dims) - len(axes), len(dims)))
            return RowShape(dims, frozenset(axes)) if axes and innermost else None
        case graph.ExpressionOp():
            return _rows_of_expression(op)
        case RowOp():
            return RowShape(dims_of(op.input.type), frozenset([op.axis.value.data]))
        case RowNormOp():
            dims = dims_of(op.input.type)
            return RowShape(dims, frozenset(range(op.axis.value.data, len(dims))))
        case _:
            return None


def _rows_of_expression(op: graph.ExpressionOp) -> RowShape | None:
    """The rows of a formula that reduces the last axes of an input."""
    if not len(op.reduce) or (whole := whole_input(op)) is None:
        return None
    dims = dims_of(whole.type)
    reduced = sum(extent != 1 for extent in op.reduce_dims)
    last = [axis for axis, dim in enumerate(dims) if dim != 1][-reduced:]
    innermost = bool(reduced) and last == list(range(len(dims) - reduced, len(dims)))
    return RowShape(dims, frozenset(last)) if innermost else None


def stays_on_rows(rows: RowShape, op: GraphOp, kind: Kind, inside: set[Operation]) -> bool:
    """
    Whether an op can be computed row by row in one kernel with the ops `inside`.

    Its result has whole rows or one number a row, and so, aligned with it, have its operands from `inside`.
    """
    if kind in _FOLLOWERS:
        result = op.results[0]
        reads = [value for value in op.operands if value.owner in inside]
        if rows.is_whole(result):
            return all(rows.is_whole(value) or _is_spread(rows, op, value) for value in reads)
        shape = dims_of(result.type)
        return rows.is_number_a_row(result) and all(same_dims(dims_of(v.type), shape) for v in reads)
    own = rows_of(op)
    return own is not None and own.same(rows)


def _is_spread(rows: RowShape, op: GraphOp, value: SSAValue) -> bool:
    """Whether an op on whole rows reads, for all elements of a row, one number of it from a tensor."""
    if rows.broadcasts(value):
        return True
    first = len(rows.dims) - len(rows.axes)
    innermost = rows.axes == frozenset(range(first, len(rows.dims)))
    return isinstance(op, graph.ExpressionOp) and innermost and reads_rows(op, value, first)
