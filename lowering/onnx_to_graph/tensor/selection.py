"""
ONNX operators whose results have a size that depends on data → `graph`: NonZero, Compress, Unique by
counting.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.relations import is_bool, is_float
from stepwell.dialects.types import dims_of
from stepwell.lowering.onnx_to_graph.run_time_numbers import Numbers
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, element_of, emit, normalized_axis, shape_of
from stepwell.lowering.to_graph import Value
from stepwell.runtime.dims import Dim


def true_positions(mask: SSAValue, lowering: OnnxLowering, rewriter: PatternRewriter) -> tuple[SSAValue, Dim]:
    """
    The positions of true elements in a vector, in order, and their number.

    A running count is the position in the result of each true element; all others are written to an extra
    element, which is cut off.
    """
    numbers = Numbers(lowering, rewriter)
    flags = numbers.of(mask)
    count = numbers.bind(flags.reduce("sum", [0]))[0]
    running = numbers.op(graph.ScanOp(flags.ssa, "sum", 0))
    last = numbers.op(graph.SqueezeOp(numbers.extents([count]).ssa, [0]))
    position = numbers.where(numbers.value(mask), running - 1, last)
    room = numbers.full(0, [count + 1], i64)
    placed = numbers.put(room, position, numbers.count_up(dims_of(mask.type)[0]))
    return placed.slice(0, 0, count).ssa, count


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
            rewriter.replace(op, graph.FullOp(self.scalar(0, i64, rewriter), [0, count]))
            return
        rows = [
            emit(graph.ExpandDimsOp(row, [0]), rewriter) for row in self._indices(positions, dims, rewriter)
        ]
        rewriter.replace(op, graph.ConcatOp(rows, 0))

    def _indices(self, positions: SSAValue, dims: Sequence[Dim], rewriter: PatternRewriter) -> list[SSAValue]:
        """The index along each axis of elements counted in row-major order."""
        numbers = Numbers(self, rewriter)
        rest, sizes = numbers.value(positions), numbers.extents(dims)
        rows: list[SSAValue] = []
        for axis in reversed(range(len(dims))):
            size = sizes.at(0, axis)
            rows.insert(0, (rest % size).ssa)
            rest = rest / size
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
        positions, count = true_positions(starts.ssa, self, rewriter)
        numbers = Numbers(self, rewriter)
        begins = numbers.value(positions)
        first = numbers.take(order, begins, 0)
        ends = numbers.concat([begins, numbers.extents([total])], 0)
        ends = numbers.take(ends, numbers.count_up(count) + 1, 0)
        counts = ends - begins
        runs = numbers.op(graph.ScanOp(numbers.of(starts.ssa).ssa, "sum", 0)) - 1
        # Order of appearance
        if op.has("sorted") and op.integer("sorted") == 0:
            sorted_first = rewriter.insert(graph.TopKOp(first.ssa, count, 0, largest=False))
            first, ranked = map(numbers.value, sorted_first.results)
            counts = numbers.take(counts, ranked, 0)
            runs = numbers.take(_inverted(ranked, numbers.count_up(count), count, numbers), runs, 0)
        inverse = _inverted(order, runs, total, numbers)
        made = (numbers.take(numbers.value(data), first, axis), first, inverse, counts)
        wanted = (op.Y, op.indices, op.inverse_indices, op.counts)
        pairs = zip(made, wanted, strict=True)
        rewriter.replace(op, [], [value.ssa for value, result in pairs if result is not None])

    def _sorted_runs(self, data: SSAValue, axis: int, rewriter: PatternRewriter) -> tuple[Value, Value]:
        """The order that sorts slices along an axis, and whether each differs from the previous one."""
        numbers = Numbers(self, rewriter)
        rows = numbers.value(data)
        dims, total = rows.dims, rows.dims[axis]
        if len(dims) == 1:
            order = numbers.value(rewriter.insert(graph.TopKOp(data, total, 0, largest=False)).indices)
        else:
            moved = numbers.op(graph.TransposeOp(data, [axis, *(i for i in range(len(dims)) if i != axis)]))
            width = prod((d for i, d in enumerate(dims) if i != axis), start=Dim.of(1))
            rows = numbers.op(graph.ReshapeOp(moved.ssa, [total, width]))
            order = self._row_order(rows, numbers)
        ordered = numbers.take(rows, order, 0)
        index = numbers.count_up(total)
        before = numbers.take(ordered, (index - 1).maximum(0), 0)
        differs = numbers.op(graph.NotEqualOp(ordered.ssa, before.ssa))
        if is_float(element_of(data)):  # all NaNs are equal
            are_nan = [value.apply(graph.IsNanOp) for value in (ordered, before)]
            differs = differs & (are_nan[0] & are_nan[1]).negated()
        if len(dims) > 1:
            differs = differs.reduce("or", [1])
        return order, differs | (index < 1)

    def _row_order(self, rows: Value, numbers: Numbers) -> Value:
        """
        The order that sorts the rows of a matrix: the position of a row is the number of rows before it.

        The first column that differs decides the order of two rows: the sum over columns of the comparison's
        sign, times whether all previous columns are equal, has that column's sign.
        """
        this, other = rows.unsqueeze(1), rows.unsqueeze(0)
        above, below = (this < other).cast(i64), (other < this).cast(i64)
        sign = below - above
        equal = numbers.of(1) - (below + above)
        so_far = numbers.op(graph.ScanOp(equal.ssa, "prod", 2, exclusive=True))
        compared = (sign * so_far).reduce("sum", [2])
        index = numbers.count_up(rows.dims[0])
        earlier = index < index.unsqueeze(1)
        ties = compared.equals(0) & earlier
        precedes = (numbers.of(0) < compared) | ties
        return _inverted(precedes.cast(i64).reduce("sum", [1]), index, rows.dims[0], numbers)


def _inverted(positions: Value, values: Value, count: Dim, numbers: Numbers) -> Value:
    """Values written at positions that are a permutation."""
    return numbers.put(numbers.full(0, [count], i64), positions, values)
