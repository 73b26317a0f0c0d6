"""Reductions, softmax and argmax → `linalg.generic` with reduction loops, and elementwise ops around them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType, Signedness, UnitAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.reduction import ArgReduceOp, RowOp
from stepwell.dialects.graph.relations import element_of_value, with_element
from stepwell.dialects.linalg_builder.reduction_kinds import KINDS, itself
from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.linalg_builder.sums import accumulator
from stepwell.dialects.linalg_builder.support import loop_index
from stepwell.dialects.sched import NOT_POSITIVE
from stepwell.dialects.types import Tensor, tensor_of
from stepwell.lowering.graph_to_linalg.rows import Rows


class ReduceLowering(RewritePattern):
    """
    `graph.reduce` → a `linalg.generic` over all elements, and one over the results for a final step or cast.

    Narrow floats are reduced in f32; `mean` and `log_sum_exp` have functions of their own.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReduceOp, rewriter: PatternRewriter) -> None:
        """Reduce rows by the op's kind in the accumulator type, then finish and convert each result."""
        element = element_of_value(op.input)
        rows = Rows.of(op, op.input, op.axes.get_values(), rewriter)
        match op.kind.data:
            case "mean":
                kept, finish = _mean_type(element), None
                scalars = Scalars(element)
                reduced = rows.mean(
                    [rows.each(op.input)], lambda s: scalars.convert(s[0], Scalars(kept)), kept
                )
            case "log_sum_exp":
                kept, finish = accumulator(element), None
                reduced = _log_sum_exp(rows, op.input, kept)
            case name:
                kept, kind = accumulator(element), KINDS[name]
                scalars, finish = Scalars(kept), kind.finish

                def body(s: Sequence[SSAValue]) -> SSAValue:
                    return kind.combine(scalars, s[1], kind.prepare(scalars, s[0]))

                reduced = rows.reduce([rows.each(op.input)], body, kept, kind.start(scalars))
        type = tensor_of(op.result)
        if kept != element or finish is not None or bool(op.keep_dims):
            before, after, finish = Scalars(kept), Scalars(element), finish or itself
            reduced = rows.placed([reduced], lambda s: before.convert(finish(before, s[0]), after), type)
        rewriter.replace(op, [], [reduced])


def _mean_type(element: Attribute) -> Attribute:
    """The type of the sums of a mean: f32 for narrow floats, 64 bits for integers."""
    scalars = Scalars(element)
    if scalars.is_float:
        return accumulator(element)
    return IntegerType(64, Signedness.UNSIGNED) if scalars.unsigned else i64


def _log_sum_exp(rows: Rows, x: SSAValue, element: Attribute) -> SSAValue:
    """The tensor log(sum(exp(x - max))) + max of each row, where an infinite maximum counts as 0."""
    scalars = Scalars(element)
    top = row_maximum(rows, x, element)

    def finite(s: Sequence[SSAValue]) -> SSAValue:
        inside = scalars.compare("lt", scalars.absolute(s[0]), scalars.constant(float("inf")))
        return scalars.select(inside, s[0], scalars.constant(0))

    shift = rows.per_row([top], finite, element)
    total = row_sum_of_exp(rows, x, shift, element)
    return rows.per_row([total, shift], lambda s: scalars.add(math.LogOp(s[0]).result, s[1]), element)


def row_maximum(rows: Rows, x: SSAValue, element: Attribute) -> SSAValue:
    """The greatest number of each row, NaN ignored: the exponentials that are summed next propagate it."""
    start = Scalars(element).lowest()
    return rows.reduce([rows.each(x)], lambda s: arith.MaxnumfOp(s[1], s[0]).result, element, start)


def row_sum_of_exp(rows: Rows, x: SSAValue, shift: SSAValue, element: Attribute) -> SSAValue:
    """The sum of exp(x - shift) of each row."""
    scalars = Scalars(element)

    def body(s: Sequence[SSAValue]) -> SSAValue:
        return scalars.add(s[2], math.ExpOp(scalars.subtract(s[0], s[1])).result)

    return rows.reduce([rows.each(x), rows.row(shift)], body, element, 0)


class SoftmaxLowering(RewritePattern):
    """`graph.softmax` → maximum, exp(x - maximum), sum, division: four `linalg.generic`s; f32 in between."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SoftmaxOp, rewriter: PatternRewriter) -> None:
        """Emit the four steps; the powers are scaled in place where they have the result's type."""
        type, rows, kept = _row_parts(op, rewriter)
        scalars = Scalars(kept)
        top = row_maximum(rows, op.input, kept)
        powers = rows.map(
            with_element(type, kept),
            [rows.each(op.input), rows.row(top)],
            lambda s: _power(scalars.subtract(s[0], s[1])),
        )
        total = rows.reduce([rows.each(powers)], lambda s: scalars.add(s[1], s[0]), kept, 0)
        rewriter.replace(op, [], [_finished(rows, powers, total, type, scalars.divide)])


class LogSoftmaxLowering(RewritePattern):
    """
    `graph.log_softmax` → maximum, x - maximum, the sum of its exponentials, the logarithm, a subtraction.

    The differences are written to the result's buffer, a memory access that overlaps with the exponentials'
    arithmetic.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LogSoftmaxOp, rewriter: PatternRewriter) -> None:
        """Emit the five steps; the logarithm of the sum is subtracted from the differences in place."""
        type, rows, kept = _row_parts(op, rewriter)
        scalars = Scalars(kept)
        top = row_maximum(rows, op.input, kept)
        below = rows.map(
            with_element(type, kept),
            [rows.each(op.input), rows.row(top)],
            lambda s: scalars.subtract(s[0], s[1]),
        )
        total = rows.reduce([rows.each(below)], lambda s: scalars.add(s[1], _power(s[0])), kept, 0)
        log = rows.per_row([total], lambda s: math.LogOp(s[0]).result, kept)
        rewriter.replace(op, [], [_finished(rows, below, log, type, scalars.subtract)])


def _power(x: SSAValue) -> SSAValue:
    """e^x for x that is not positive, because its row's maximum has been subtracted."""
    power = math.ExpOp(x)
    power.attributes[NOT_POSITIVE] = UnitAttr()
    return power.result


def _finished(
    rows: Rows, each: SSAValue, row: SSAValue, type: Tensor, combine: Callable[[SSAValue, SSAValue], SSAValue]
) -> SSAValue:
    """
    Elements combined with their row's number, in place if rows are along the last axis and the type is final.
    """
    # Elements of a row with a large stride would evict each other from the cache: they get their own tile.
    if tensor_of(each).element_type == type.element_type and rows.axes[-1] == len(rows.dims) - 1:
        return rows.update(each, [rows.row(row)], lambda s: combine(s[1], s[0]))
    return rows.map(type, [rows.each(each), rows.row(row)], lambda s: combine(s[0], s[1]))


def _row_parts(op: RowOp, rewriter: PatternRewriter) -> tuple[Tensor, Rows, Attribute]:
    """The result type of a softmax, its rows, and the accumulator type to compute in."""
    type = tensor_of(op.result)
    return type, Rows.of(op, op.input, [op.axis.value.data], rewriter), accumulator(type.element_type)


_ABOVE_ALL = 1 << 62
"""Greater than every index: positions of NaN are counted down from it when `select_last` is set."""


class ArgReduceLowering(RewritePattern):
    """
    `graph.argmax`, `graph.argmin` → the extremum of each row, then the first or last index that has it.

    A NaN is the extremum of its row but equals nothing: elements that are NaN count as found, and the first
    of them is chosen even with `select_last`.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ArgReduceOp, rewriter: PatternRewriter) -> None:
        """Reduce each row twice, to its extremum and to an index, and decode the index of a NaN."""
        element, axis, last = element_of_value(op.input), op.axis.value.data, bool(op.select_last)
        rows = Rows.of(op, op.input, [axis], rewriter)
        scalars, positions = Scalars(element), Scalars(i64)
        # First pass: the extremum of each row.
        kind = KINDS["max" if isinstance(op, graph.ArgmaxOp) else "min"]
        best = rows.reduce(
            [rows.each(op.input)], lambda s: kind.combine(scalars, s[1], s[0]), element, kind.start(scalars)
        )
        # Second pass: the index of an equal element, the greatest or the least of them.
        missing = -1 if last else positions.highest()

        def body(s: Sequence[SSAValue]) -> SSAValue:
            x, extremum, found = s
            here = positions.from_index(loop_index(axis))
            candidate = positions.select(
                scalars.compare("eq", x, extremum), here, positions.constant(missing)
            )
            if scalars.is_float:
                at_nan = positions.subtract(positions.constant(_ABOVE_ALL), here) if last else here
                candidate = positions.select(scalars.is_nan(x), at_nan, candidate)
            return (positions.maximum if last else positions.minimum)(found, candidate)

        found = rows.reduce([rows.each(op.input), rows.row(best)], body, i64, missing)
        type = tensor_of(op.result)
        if last and scalars.is_float:
            found = rows.placed([found], lambda s: _nan_position(positions, s[0]), type)
        elif bool(op.keep_dims):
            found = rows.placed([found], lambda s: s[0], type)
        rewriter.replace(op, [], [found])


def _nan_position(positions: Scalars, position: SSAValue) -> SSAValue:
    """The index of the found element: positions of NaN, counted down from `_ABOVE_ALL`, are decoded."""
    is_nan = positions.compare("gt", position, positions.constant(_ABOVE_ALL // 2))
    return positions.select(is_nan, positions.subtract(positions.constant(_ABOVE_ALL), position), position)
