"""ONNX operators that count: ranges, and masks by the indices of a matrix → `graph`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import f64, i64
from xdsl.ir import SSAValue, TypeAttribute
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.relations import is_float
from stepwell.lowering.onnx_to_graph.shape_values import bound_elements
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, element_of, element_type, shape_of
from stepwell.passes.analysis.symbolic_values import symbolic_dims
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import evaluate

MAX_RANGE_ELEMS = 1 << 26  # of a constant `Range`; the longest ones in models are positions in a text


class RangeLowering(OnnxLowering):
    """
    `Range` → a constant, or `graph.iota` scaled and shifted, of a length that follows from the inputs' shapes
    or is bound at run time.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.RangeOp, rewriter: PatternRewriter) -> None:
        """Evaluate constant bounds, scale a `graph.iota` for bounds from shapes, or count at run time."""
        bounds = [self._scalar(value, rewriter) for value in (op.start, op.limit, op.delta)]
        arrays = [self.array(value) for value in bounds]
        known_arrays = [array for array in arrays if array is not None]
        if len(known_arrays) == len(arrays):
            _check_range(op, *(array.item() for array in known_arrays))
            rewriter.replace(op, [], [self.constant(evaluate("graph.range", known_arrays, {})[0], rewriter)])
            return
        dims = [symbolic_dims(value, self.weights) for value in bounds]
        if any(known is None or known[0].is_unknown for known in dims):
            self._count_at_run_time(op, bounds, rewriter)
            return
        start, limit, delta = (known[0] for known in dims if known is not None)
        count = (limit - start).ceildiv(delta).maximum(0)
        result = rewriter.insert(graph.IotaOp([count], 0, element_of(op.start))).result
        if delta != 1:
            result = rewriter.insert(graph.MultiplyOp(result, bounds[2])).result
        if start != 0:
            result = rewriter.insert(graph.AddOp(result, bounds[0])).result
        rewriter.replace(op, [], [result])

    def _count_at_run_time(
        self, op: onnx.RangeOp, bounds: Sequence[SSAValue], rewriter: PatternRewriter
    ) -> None:
        """The length is computed in f64 for floats, as in numpy, and in i64 for integers."""
        element = element_of(op.start)
        wide = f64 if is_float(element) else i64
        start, limit, delta = (rewriter.insert(graph.CastOp(v, wide)).result for v in bounds)
        distance = rewriter.insert(graph.SubtractOp(limit, start)).result
        if is_float(element):
            quotient = rewriter.insert(graph.DivideOp(distance, delta)).result
            count = rewriter.insert(graph.CastOp(rewriter.insert(graph.CeilOp(quotient)).result, i64)).result
        else:
            count = rewriter.insert(graph.NegOp(self._floored(distance, delta, rewriter))).result
        some = rewriter.insert(graph.MaximumOp(count, self.scalar(0, i64, rewriter))).result
        numbers = rewriter.insert(graph.IotaOp(bound_elements(some, rewriter), 0, element)).result
        scaled = rewriter.insert(graph.MultiplyOp(numbers, bounds[2])).result
        rewriter.replace(op, graph.AddOp(scaled, bounds[0]))

    def _floored(self, distance: SSAValue, delta: SSAValue, rewriter: PatternRewriter) -> SSAValue:
        """⌊-distance / delta⌋: the remainder is subtracted before the division."""
        negated = rewriter.insert(graph.NegOp(distance)).result
        rest = rewriter.insert(graph.RemainderOp(negated, delta)).result
        whole = rewriter.insert(graph.SubtractOp(negated, rest)).result
        return rewriter.insert(graph.DivideOp(whole, delta)).result

    def _scalar(self, value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
        """A bound as rank 0: models also have constants of one element."""
        array = self.array(value)
        if array is not None and array.ndim:
            return self.constant(array.reshape(()), rewriter)
        return value


def _check_range(op: onnx.RangeOp, start: float, limit: float, delta: float) -> None:
    """Raises: StepwellError for a constant range with step 0 or too many numbers."""
    if delta == 0:
        raise StepwellError("invalid-model", op, "Range: `delta` must not be 0")
    if (limit - start) / delta > MAX_RANGE_ELEMS:
        raise StepwellError(
            "too-large",
            op,
            f"Range: from {start} to {limit} by {delta} are more than {MAX_RANGE_ELEMS} numbers",
        )


class EyeLikeLowering(OnnxLowering):
    """`EyeLike` → row and column indices (`graph.iota`) compared."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.EyeLikeOp, rewriter: PatternRewriter) -> None:
        """Compare row indices, shifted by k, with column indices, and cast."""
        rows, columns = indices_of_matrix(shape_of(op.input, op), op.integer("k"), self, rewriter)
        on_diagonal = rewriter.insert(graph.EqualOp(rows, columns)).result
        element = element_type(op.integer("dtype"), op) if op.has("dtype") else element_of(op.input)
        rewriter.replace(op, graph.CastOp(on_diagonal, cast(TypeAttribute, element)))


class TriluLowering(OnnxLowering):
    """`Trilu` → a selection by compared row and column indices (`graph.iota`)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.TriluOp, rewriter: PatternRewriter) -> None:
        """Select the elements on one side of the diagonal k, which may be data."""
        shift = (0,) if op.k is None else self.integers(op.k)
        known = 0 if shift is None else shift[0]
        rows, columns = indices_of_matrix(shape_of(op.input, op)[-2:], known, self, rewriter)
        if shift is None:
            distance = self.as_scalar(op.k, op, rewriter)
            assert distance is not None
            rows = rewriter.insert(graph.AddOp(rows, distance)).result
        upper = not op.has("upper") or op.integer("upper") == 1
        kept = graph.LessEqualOp(rows, columns) if upper else graph.LessEqualOp(columns, rows)
        zero = self.scalar(0, element_of(op.input), rewriter)
        rewriter.replace(op, graph.WhereOp(rewriter.insert(kept).result, op.input, zero))


def indices_of_matrix(
    dims: Sequence[Dim], shift: int, lowering: OnnxLowering, rewriter: PatternRewriter
) -> tuple[SSAValue, SSAValue]:
    """Row index plus `shift`, and column index, of each element of a matrix."""
    rows = rewriter.insert(graph.IotaOp(dims, 0, i64)).result
    columns = rewriter.insert(graph.IotaOp(dims, 1, i64)).result
    if shift:
        rows = rewriter.insert(graph.AddOp(rows, lowering.scalar(shift, i64, rewriter))).result
    return rows, columns
