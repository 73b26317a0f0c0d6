"""`Det` → Gaussian elimination with pivots, one step per column."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Block, Region
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.loops import INDEX_TYPE
from stepwell.lowering.onnx_to_graph.shape_values import assume_equal
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, shape_of
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.dims import Dim

MOST_STEPS = 32
"""The most unrolled steps; larger matrices, and those of open size, use a loop."""


class DetLowering(OnnxLowering):
    """
    `Det` → the product of the pivots, its sign changed at each exchange of rows.

    A step selects the row with the largest first element, subtracts multiples of it from the others, and
    leaves a matrix with one row and one column less. In a loop, where shapes are fixed, eliminated rows and
    columns remain but are ignored.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.DetOp, rewriter: PatternRewriter) -> None:
        """Flatten the batch, then unroll the elimination for small static sizes, else build a loop."""
        *batch, rows, columns = shape_of(op.X, op)
        size = rows if rows.is_static else columns
        assume_equal(op, rows, columns, "a matrix must be square", rewriter)
        x = Formula(self, rewriter).value(op.X)
        count = Dim.of(1)
        for dim in batch:
            count = count * dim
        matrix = x.cast(f64 if x.element == f64 else f32).reshape([count, size, size])
        result = x.formula.full(1, [count], matrix.element)
        if size.is_static and size.value <= MOST_STEPS:
            for left in range(size.value, 0, -1):
                pivot, matrix = _eliminated(matrix, left)
                result = result * pivot
        else:
            result = _in_a_loop(matrix, result, size)
        rewriter.replace(op, [], [result.reshape(batch).cast(x.element).ssa])


def _eliminated(matrix: Value, size: int) -> tuple[Value, Value]:
    """The pivot of the first column, with the sign of the row exchange, and the remaining matrix."""
    at = matrix.formula
    column = matrix.at(2, 0)
    best = at.op(graph.ArgmaxOp(abs(column).ssa, 1, keep_dims=True))
    row = matrix.gather(best, 1, batch_dims=1).reshape([matrix.dims[0], 1, size])
    pivot = row.at(2, 0)
    sign = at.where(best.equals(0), at.number(1, matrix.element), -1.0)
    if size == 1:
        return pivot.reshape([matrix.dims[0]]), matrix
    first, others = matrix.slice(1, 0, 1), matrix.slice(1, 1, size)
    index = at.iota(size - 1, i64) + 1
    others = at.where(index.unsqueeze(0).equals(best).unsqueeze(2), first, others)
    safe = at.where(pivot.equals(0.0), at.number(1, matrix.element), pivot)
    factor = others.slice(2, 0, 1) / safe.unsqueeze(2)
    rest = others.slice(2, 1, size) - factor * row.slice(2, 1, size)
    return (pivot * sign).reshape([matrix.dims[0]]), rest


def _in_a_loop(matrix: Value, start: Value, size: Dim) -> Value:
    """The product of all pivots times `start`, by a `graph.for`."""
    rewriter, lowering = matrix.formula.rewriter, matrix.formula.lowering
    body = Block(arg_types=[INDEX_TYPE, matrix.ssa.type, start.ssa.type])
    inside = Formula(lowering, PatternRewriter(InsertPoint.at_end(body)))
    number, rest, product = map(inside.value, body.args)
    pivot, rest = _step(rest, number, size)
    inside.rewriter.insert(graph.YieldOp([rest.ssa, (product * pivot).ssa]))
    count = matrix.formula.extent(size, i64)
    loop = rewriter.insert(graph.ForOp(count.ssa, [matrix.ssa, start.ssa], Region(body)))
    return matrix.formula.value(loop.values[1])


def _step(matrix: Value, number: Value, size: Dim) -> tuple[Value, Value]:
    """As `_eliminated`, for the matrix from row and column `number` on, which is known at run time only."""
    at = matrix.formula
    position, index = number.reshape([1]), at.iota(size, i64)
    sizes = at.where(index < number, -1.0, abs(matrix.gather(position, 2).reshape(matrix.dims[:2])))
    best = at.op(graph.ArgmaxOp(sizes.ssa, 1, keep_dims=True))
    row, first = matrix.gather(best, 1, batch_dims=1), matrix.gather(position, 1)
    row = row.reshape([matrix.dims[0], 1, size])
    pivot = row.gather(position, 2)
    sign = at.where(best.equals(number), at.number(1, matrix.element), -1.0)
    others = at.where(index.unsqueeze(0).equals(best).unsqueeze(2), first, matrix)
    safe = at.where(pivot.equals(0.0), at.number(1, matrix.element), pivot)
    rest = others - others.gather(position, 2) / safe * row
    return (pivot.reshape([matrix.dims[0], 1]) * sign).reshape([matrix.dims[0]]), rest
