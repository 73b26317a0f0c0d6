"""Reductions → a `linalg.generic` with reduction loops, and what goes before and after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType, Signedness, UnitAttr, f64, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.reduction import ArgReduceOp, RowOp
from stepwell.dialects.graph.relations import element_of_value, with_element
from stepwell.dialects.sched import NOT_POSITIVE
from stepwell.dialects.types import Tensor, tensor_of
from stepwell.lowering.graph_to_linalg.contraction import accumulator
from stepwell.lowering.graph_to_linalg.rows import Rows
from stepwell.lowering.graph_to_linalg.scalars import Scalars
from stepwell.lowering.graph_to_linalg.support import loop_index


def _itself(scalars: Scalars, x: SSAValue) -> SSAValue:
    return x


def _square(scalars: Scalars, x: SSAValue) -> SSAValue:
    return scalars.multiply(x, x)


def _root(scalars: Scalars, x: SSAValue) -> SSAValue:
    if scalars.is_float:
        return math.SqrtOp(x).result
    wide = Scalars(f64)
    return wide.convert(math.SqrtOp(scalars.convert(x, wide)).result, scalars)


def _and(scalars: Scalars, a: SSAValue, b: SSAValue) -> SSAValue:
    return arith.AndIOp(a, b).result


def _or(scalars: Scalars, a: SSAValue, b: SSAValue) -> SSAValue:
    return arith.OrIOp(a, b).result


@dataclass(frozen=True)
class _Kind:
    """A kind of reduction: what is done to each element, how two are combined, and the identity of that."""

    combine: Callable[[Scalars, SSAValue, SSAValue], SSAValue]
    start: Callable[[Scalars], float]
    prepare: Callable[[Scalars, SSAValue], SSAValue] = _itself
    finish: Callable[[Scalars, SSAValue], SSAValue] | None = None


def _zero(scalars: Scalars) -> float:
    return 0


def _one(scalars: Scalars) -> float:
    return 1


KINDS: Mapping[str, _Kind] = {
    "sum": _Kind(Scalars.add, _zero),
    "prod": _Kind(Scalars.multiply, _one),
    "max": _Kind(Scalars.maximum, Scalars.lowest),
    "min": _Kind(Scalars.minimum, Scalars.highest),
    "sum_square": _Kind(Scalars.add, _zero, _square),
    "l1": _Kind(Scalars.add, _zero, Scalars.absolute),
    "l2": _Kind(Scalars.add, _zero, _square, _root),
    "and": _Kind(_and, _one),
    "or": _Kind(_or, _zero),
}


class ReduceLowering(RewritePattern):
    """
    `graph.reduce` → a `linalg.generic` over all elements, and one over the results where they need more.

    Narrow floats are kept in f32 until the end; `mean` and `log_sum_exp` have functions of their own.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReduceOp, rewriter: PatternRewriter) -> None:
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
            before, after, finish = Scalars(kept), Scalars(element), finish or _itself
            reduced = rows.placed([reduced], lambda s: before.convert(finish(before, s[0]), after), type)
        rewriter.replace(op, [], [reduced])


def _mean_type(element: Attribute) -> Attribute:
    """Sums for a mean: f32 for narrow floats, 64 bits for integers."""
    scalars = Scalars(element)
    if scalars.is_float:
        return accumulator(element)
    return IntegerType(64, Signedness.UNSIGNED) if scalars.unsigned else i64


def _log_sum_exp(rows: Rows, x: SSAValue, element: Attribute) -> SSAValue:
    """log(sum(exp(x - max))) + max, where an infinite maximum counts as 0."""
    scalars = Scalars(element)
    top = row_maximum(rows, x, element)

    def finite(s: Sequence[SSAValue]) -> SSAValue:
        inside = scalars.compare("lt", scalars.absolute(s[0]), scalars.constant(float("inf")))
        return scalars.select(inside, s[0], scalars.constant(0))

    shift = rows.per_row([top], finite, element)
    total = row_sum_of_exp(rows, x, shift, element)
    return rows.per_row([total, shift], lambda s: scalars.add(math.LogOp(s[0]).result, s[1]), element)


def row_maximum(rows: Rows, x: SSAValue, element: Attribute) -> SSAValue:
    """The greatest number of each row, past NaN: the exponentials that are summed next see it anyway."""
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

    The differences are written where the result will be, while the exponentials keep the processor busy.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LogSoftmaxOp, rewriter: PatternRewriter) -> None:
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
    """e^x of what has its row's maximum subtracted."""
    power = math.ExpOp(x)
    power.attributes[NOT_POSITIVE] = UnitAttr()
    return power.result


def _finished(
    rows: Rows, each: SSAValue, row: SSAValue, type: Tensor, combine: Callable[[SSAValue, SSAValue], SSAValue]
) -> SSAValue:
    """A result from its elements so far and a number a row: in their place where it has their type."""
    # Elements of a row that lie far apart would crowd the cache: those stay in a tile of their own.
    if tensor_of(each).element_type == type.element_type and rows.axes[-1] == len(rows.dims) - 1:
        return rows.update(each, [rows.row(row)], lambda s: combine(s[1], s[0]))
    return rows.map(type, [rows.each(each), rows.row(row)], lambda s: combine(s[0], s[1]))


def _row_parts(op: RowOp, rewriter: PatternRewriter) -> tuple[Tensor, Rows, Attribute]:
    """The type of a row op, its rows, and the element type that it computes in."""
    type = tensor_of(op.result)
    return type, Rows.of(op, op.input, [op.axis.value.data], rewriter), accumulator(type.element_type)


_BEHIND = 1 << 62
"""Above every index: positions of NaN are counted down from here where the last maximum is asked for."""


class ArgReduceLowering(RewritePattern):
    """
    `graph.argmax`, `graph.argmin` → the extremum of each row, then the first or last index that has it.

    A NaN is the extremum of its row and equals nothing: it counts as found itself, the first one always.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ArgReduceOp, rewriter: PatternRewriter) -> None:
        element, axis, last = element_of_value(op.input), op.axis.value.data, bool(op.select_last)
        rows = Rows.of(op, op.input, [axis], rewriter)
        scalars, places = Scalars(element), Scalars(i64)
        kind = KINDS["max" if isinstance(op, graph.ArgmaxOp) else "min"]
        best = rows.reduce(
            [rows.each(op.input)], lambda s: kind.combine(scalars, s[1], s[0]), element, kind.start(scalars)
        )
        missing = -1 if last else places.highest()

        def body(s: Sequence[SSAValue]) -> SSAValue:
            x, extremum, found = s
            here = places.from_index(loop_index(axis))
            candidate = places.select(scalars.compare("eq", x, extremum), here, places.constant(missing))
            if scalars.is_float:
                at_nan = places.subtract(places.constant(_BEHIND), here) if last else here
                candidate = places.select(scalars.is_nan(x), at_nan, candidate)
            return (places.maximum if last else places.minimum)(found, candidate)

        found = rows.reduce([rows.each(op.input), rows.row(best)], body, i64, missing)
        type = tensor_of(op.result)
        if last and scalars.is_float:
            found = rows.placed([found], lambda s: _without_behind(places, s[0]), type)
        elif bool(op.keep_dims):
            found = rows.placed([found], lambda s: s[0], type)
        rewriter.replace(op, [], [found])


def _without_behind(places: Scalars, place: SSAValue) -> SSAValue:
    is_nan = places.compare("gt", place, places.constant(_BEHIND // 2))
    return places.select(is_nan, places.subtract(places.constant(_BEHIND), place), place)


PATTERNS: list[RewritePattern] = [
    ReduceLowering(),
    SoftmaxLowering(),
    LogSoftmaxLowering(),
    ArgReduceLowering(),
]
