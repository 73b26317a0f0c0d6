"""
ONNX operators whose results have a size that depends on data → `graph`: NonZero, Compress, Unique by
counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.relations import is_bool, is_float
from stepwell.dialects.types import dims_of
from stepwell.lowering.onnx_to_graph.run_time_numbers import Numbers
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, element_of, emit, normalized_axis, shape_of
from stepwell.runtime.dims import Dim


def true_positions(mask: SSAValue, lowering: OnnxLowering, rewriter: PatternRewriter) -> tuple[SSAValue, Dim]:
    """
    The positions of true elements in a vector, in order, and their number.

    A running count is the position in the result of each true element; all others are written to an extra
    element, which is cut off.
    """
    numbers = Numbers(lowering, rewriter)
    length = dims_of(mask.type)[0]
    flags = numbers.of(mask)
    count = numbers.bind(emit(graph.ReduceOp(flags, "sum", [0], keep_dims=False), rewriter))[0]
    running = emit(graph.ScanOp(flags, "sum", 0), rewriter)
    last = emit(graph.SqueezeOp(numbers.extents([count]), [0]), rewriter)
    position = numbers.where(mask, numbers.subtract(running, 1), last)
    room = emit(graph.FullOp(numbers.of(0), [count + 1]), rewriter)
    placed = numbers.put(room, position, numbers.count_up(length))
    return emit(graph.SliceOp(placed, [0], [count], [1]), rewriter), count


class NonZeroLowering(OnnxLowering):
    """`NonZero` → positions in the flat tensor, then their index along each axis."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.NonZeroOp, rewriter: PatternRewriter) -> None:
        """Find the true positions of the flattened tensor, and split them into indices per axis."""
        dims = shape_of(op.X, op)
        flat = emit(graph.ReshapeOp(op.X, [prod(dims, start=Dim.of(1))]), rewriter)
        element = element_of(op.X)
        mask = flat
        if not is_bool(element):
            mask = emit(graph.NotEqualOp(flat, self.scalar(0, element, rewriter)), rewriter)
        positions, count = true_positions(mask, self, rewriter)
        if not dims:
            rewriter.replace(op, graph.FullOp(Numbers(self, rewriter).of(0), [0, count]))
            return
        rows = [
            emit(graph.ExpandDimsOp(row, [0]), rewriter) for row in self._indices(positions, dims, rewriter)
        ]
        rewriter.replace(op, graph.ConcatOp(rows, 0))

    def _indices(self, positions: SSAValue, dims: Sequence[Dim], rewriter: PatternRewriter) -> list[SSAValue]:
        """The index along each axis of elements counted in row-major order."""
        numbers = Numbers(self, rewriter)
        sizes = numbers.extents(dims)
        rows: list[SSAValue] = []
        for axis in reversed(range(len(dims))):
            size = numbers.element(sizes, axis)
            rows.insert(0, numbers.modulo(positions, size))
            positions = numbers.divide(positions, size)
        return rows


class CompressLowering(OnnxLowering):
    """`Compress` → `graph.gather` at the positions where the condition is true."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CompressOp, rewriter: PatternRewriter) -> None:
        """Gather the true positions along the axis, or from the flattened tensor."""
        dims = shape_of(op.input, op)
        positions, _ = true_positions(op.condition, self, rewriter)
        data, axis = op.input, 0
        if op.has("axis"):
            axis = normalized_axis(op.integer("axis"), len(dims), op)
        else:
            data = emit(graph.ReshapeOp(op.input, [prod(dims, start=Dim.of(1))]), rewriter)
        rewriter.replace(op, graph.GatherOp(data, positions, axis))


class UniqueLowering(OnnxLowering):
    """
    `Unique`, of elements or of slices along an axis → sorted, then the first of each run of equal ones.

    Runs are numbered by a running count; results in order of appearance are sorted once more, by the first
    position of each value.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.UniqueOp, rewriter: PatternRewriter) -> None:
        """Sort, find the runs, take their first elements, and compute the results that the model uses."""
        dims, data, axis = shape_of(op.X, op), op.X, 0
        if op.has("axis"):
            axis = normalized_axis(op.integer("axis"), len(dims), op)
        else:
            data = emit(graph.ReshapeOp(op.X, [prod(dims, start=Dim.of(1))]), rewriter)
        # Runs of equal elements in sorted order
        total = shape_of(data, op)[axis]
        order, starts = self._sorted_runs(data, axis, rewriter)
        begins, count = true_positions(starts, self, rewriter)
        numbers = Numbers(self, rewriter)
        first = numbers.take(order, begins, 0)
        ends = emit(graph.ConcatOp([begins, numbers.extents([total])], 0), rewriter)
        ends = numbers.take(ends, numbers.add(numbers.count_up(count), 1), 0)
        counts = numbers.subtract(ends, begins)
        runs = numbers.subtract(emit(graph.ScanOp(numbers.of(starts), "sum", 0), rewriter), 1)
        # Order of appearance
        if op.has("sorted") and op.integer("sorted") == 0:
            first, ranked = rewriter.insert(graph.TopKOp(first, count, 0, largest=False)).results
            counts = numbers.take(counts, ranked, 0)
            runs = numbers.take(self._inverted(ranked, numbers.count_up(count), count, rewriter), runs, 0)
        inverse = self._inverted(order, runs, total, rewriter)
        made = (numbers.take(data, first, axis), first, inverse, counts)
        wanted = (op.Y, op.indices, op.inverse_indices, op.counts)
        rewriter.replace(op, [], [v for v, result in zip(made, wanted, strict=True) if result is not None])

    def _inverted(
        self, positions: SSAValue, values: SSAValue, count: Dim, rewriter: PatternRewriter
    ) -> SSAValue:
        """Values written at positions that are a permutation."""
        numbers = Numbers(self, rewriter)
        return numbers.put(emit(graph.FullOp(numbers.of(0), [count]), rewriter), positions, values)

    def _sorted_runs(self, data: SSAValue, axis: int, rewriter: PatternRewriter) -> tuple[SSAValue, SSAValue]:
        """The order that sorts slices along an axis, and whether each differs from the previous one."""
        numbers = Numbers(self, rewriter)
        dims = dims_of(data.type)
        total = dims[axis]
        if len(dims) == 1:
            rows = data
            order = rewriter.insert(graph.TopKOp(data, total, 0, largest=False)).indices
        else:
            perm = [axis, *(i for i in range(len(dims)) if i != axis)]
            moved = emit(graph.TransposeOp(data, perm), rewriter)
            width = prod((d for i, d in enumerate(dims) if i != axis), start=Dim.of(1))
            rows = emit(graph.ReshapeOp(moved, [total, width]), rewriter)
            order = self._row_order(rows, rewriter)
        ordered = numbers.take(rows, order, 0)
        index = numbers.count_up(total)
        before = numbers.take(ordered, numbers.maximum(numbers.subtract(index, 1), 0), 0)
        differs = emit(graph.NotEqualOp(ordered, before), rewriter)
        if is_float(element_of(data)):  # all NaNs are equal
            are_nan = [emit(graph.IsNanOp(value), rewriter) for value in (ordered, before)]
            both = emit(graph.AndOp(are_nan[0], are_nan[1]), rewriter)
            differs = emit(graph.AndOp(differs, emit(graph.NotOp(both), rewriter)), rewriter)
        if len(dims) > 1:
            differs = emit(graph.ReduceOp(differs, "or", [1], keep_dims=False), rewriter)
        return order, emit(graph.OrOp(differs, numbers.less(index, 1)), rewriter)

    def _row_order(self, rows: SSAValue, rewriter: PatternRewriter) -> SSAValue:
        """
        The order that sorts the rows of a matrix: the position of a row is the number of rows before it.

        The first column that differs decides the order of two rows: the sum over columns of the comparison's
        sign, times whether all previous columns are equal, has that column's sign.
        """
        numbers = Numbers(self, rewriter)
        total = dims_of(rows.type)[0]
        this = emit(graph.ExpandDimsOp(rows, [1]), rewriter)
        other = emit(graph.ExpandDimsOp(rows, [0]), rewriter)
        above = numbers.of(emit(graph.LessOp(this, other), rewriter))
        below = numbers.of(emit(graph.LessOp(other, this), rewriter))
        sign = numbers.subtract(below, above)
        equal = numbers.subtract(numbers.of(1), numbers.add(below, above))
        so_far = emit(graph.ScanOp(equal, "prod", 2, exclusive=True), rewriter)
        decided = numbers.multiply(sign, so_far)
        compared = emit(graph.ReduceOp(decided, "sum", [2], keep_dims=False), rewriter)
        index = numbers.count_up(total)
        earlier = numbers.less(index, emit(graph.ExpandDimsOp(index, [1]), rewriter))
        same = emit(graph.EqualOp(compared, numbers.of(0)), rewriter)
        ties = emit(graph.AndOp(same, earlier), rewriter)
        precedes = emit(graph.OrOp(numbers.less(numbers.of(0), compared), ties), rewriter)
        position = emit(graph.ReduceOp(numbers.of(precedes), "sum", [1], keep_dims=False), rewriter)
        return self._inverted(position, index, total, rewriter)
