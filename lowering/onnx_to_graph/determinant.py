"""`Det` → elimination with pivots, one step a column."""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.expressions import Formula, Value
from stepwell.lowering.onnx_to_graph.shape_values import assume_equal
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, shape_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

MAX_SIZE = 32
"""Of a matrix: its steps are written out."""


class DetLowering(OnnxLowering):
    """
    `Det` → the product of the pivots, its sign turned at each exchange of rows.

    A step takes the row with the largest first element, subtracts its multiple from the others, and leaves a
    matrix with one row and one column less.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.DetOp, rewriter: PatternRewriter) -> None:
        *batch, rows, columns = shape_of(op.X, op)
        size = rows if rows.is_static else columns
        if not size.is_static or size.value > MAX_SIZE:
            raise StepwellError(
                "unsupported", op, f"Det of matrices of size {size}: it must be a number, at most {MAX_SIZE}"
            )
        assume_equal(op, rows, columns, "a matrix must be square", rewriter)
        x = Formula(self, rewriter).value(op.X)
        count = Dim.of(1)
        for dim in batch:
            count = count * dim
        matrix = x.cast(f64 if x.element == f64 else f32).reshape([count, size, size])
        result = x.formula.full(1, [count], matrix.element)
        for left in range(size.value, 0, -1):
            pivot, matrix = _eliminated(matrix, left)
            result = result * pivot
        rewriter.replace(op, [], [result.reshape(batch).cast(x.element).ssa])


def _eliminated(matrix: Value, size: int) -> tuple[Value, Value]:
    """The pivot of the first column, with the sign of the exchange, and what is left of the matrix."""
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


PATTERNS: list[type[OnnxLowering]] = [DetLowering]
