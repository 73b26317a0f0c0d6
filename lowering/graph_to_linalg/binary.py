"""Elementwise ops with two broadcast operands, and `graph.where` → one `linalg.generic` each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f64, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.linalg_builder.scalars import Scalars, exact_quotient
from stepwell.dialects.linalg_builder.support import constant_number, elementwise
from stepwell.dialects.types import tensor_of

BinaryBody: TypeAlias = Callable[[Scalars, SSAValue, SSAValue], SSAValue]


def _compare(predicate: str) -> BinaryBody:
    """The body that compares two scalars by a predicate such as `lt`."""
    return lambda scalars, a, b: scalars.compare(predicate, a, b)


def _shift_left(scalars: Scalars, a: SSAValue, b: SSAValue) -> SSAValue:
    """`a << b`, and 0 for amounts that reach the type's width."""
    legal, amount = _shift_amount(scalars, b)
    return scalars.select(legal, arith.ShLIOp(a, amount).result, scalars.constant(0))


def _shift_right(scalars: Scalars, a: SSAValue, b: SSAValue) -> SSAValue:
    """`a >> b`; amounts that reach the type's width give 0, or the sign bit in all bits for signed types."""
    legal, amount = _shift_amount(scalars, b)
    if scalars.unsigned:
        return scalars.select(legal, arith.ShRUIOp(a, amount).result, scalars.constant(0))
    signs = arith.ShRSIOp(a, scalars.constant(scalars.bits - 1)).result
    return scalars.select(legal, arith.ShRSIOp(a, amount).result, signs)


def _shift_amount(scalars: Scalars, b: SSAValue) -> tuple[SSAValue, SSAValue]:
    """
    An i1, whether the shift amount `b` is less than the type's width, and `b` itself or 0 accordingly.

    The machine's shifts are defined for amounts below the width only.
    """
    # As an unsigned number, an amount below 0 is too large as well.
    legal = arith.CmpiOp(b, scalars.constant(scalars.bits), "ult").result
    return legal, scalars.select(legal, b, scalars.constant(0))


def _divide(scalars: Scalars, a: SSAValue, b: SSAValue) -> SSAValue:
    """`a / b`: a model may round the quotient to a position, such as `Floor` of `Div` in detectors."""
    return exact_quotient(a, b) if scalars.is_float else scalars.divide(a, b)


BINARY: Mapping[type[BinaryOp], BinaryBody] = {
    graph.AddOp: Scalars.add,
    graph.SubtractOp: Scalars.subtract,
    graph.MultiplyOp: Scalars.multiply,
    graph.DivideOp: _divide,
    graph.MaximumOp: Scalars.maximum,
    graph.MinimumOp: Scalars.minimum,
    graph.EqualOp: _compare("eq"),
    graph.NotEqualOp: _compare("ne"),
    graph.LessOp: _compare("lt"),
    graph.LessEqualOp: _compare("le"),
    graph.AndOp: lambda scalars, a, b: arith.AndIOp(a, b).result,
    graph.OrOp: lambda scalars, a, b: arith.OrIOp(a, b).result,
    graph.XorOp: lambda scalars, a, b: arith.XOrIOp(a, b).result,
    graph.ShiftLeftOp: _shift_left,
    graph.ShiftRightOp: _shift_right,
}


def replace_binary(op: BinaryOp, body: BinaryBody, rewriter: PatternRewriter) -> None:
    """Replace an op by a `linalg.generic` with a body on the scalars of its left operand."""
    scalars = Scalars(element_of_value(op.lhs))
    operands = [op.lhs, op.rhs]
    result = elementwise(tensor_of(op.result), operands, lambda s: body(scalars, *s), op, rewriter)
    rewriter.replace(op, [], [result])


class BinaryLowering(RewritePattern):
    """An op without attributes → a `linalg.generic` whose body is the op's row in `BINARY`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: BinaryOp, rewriter: PatternRewriter) -> None:
        """
        Emit the body that `BINARY` lists for the op's class; leave other binary ops to their own patterns.
        """
        if (body := BINARY.get(type(op))) is not None:
            replace_binary(op, body, rewriter)


class RemainderLowering(RewritePattern):
    """`graph.remainder` → a `linalg.generic`, with machine division for integers and `float_remainder`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.RemainderOp, rewriter: PatternRewriter) -> None:
        """Emit a body for the op's rounding: towards minus infinity (`floor`) or towards zero."""
        floor = op.rounding.data == "floor"

        def body(scalars: Scalars, a: SSAValue, b: SSAValue) -> SSAValue:
            if scalars.is_float:
                return float_remainder(scalars, a, b, floor=floor)
            return scalars.remainder(a, b, floor=floor)

        replace_binary(op, body, rewriter)


def float_remainder(scalars: Scalars, a: SSAValue, b: SSAValue, *, floor: bool) -> SSAValue:
    """
    a - trunc(a / b) * b in f64, with the sign of a, or of b (floor); exact for quotients of up to 53 bits.

    The fused product keeps all bits, so only a quotient that rounded up to a whole number is one too large.
    """
    wide = Scalars(f64)
    a, b = scalars.convert(a, wide), scalars.convert(b, wide)
    zero = wide.constant(0)
    quotient = math.TruncOp(exact_quotient(a, b)).result
    rest = math.FmaOp(wide.negate(quotient), b, a).result
    # A quotient rounded up to a whole number overshoots: the rest has the wrong sign.
    overshot = wide.compare("lt", wide.multiply(rest, a), zero)
    toward = wide.select(wide.compare("lt", a, zero), wide.negate(wide.absolute(b)), wide.absolute(b))
    rest = wide.select(overshot, wide.add(rest, toward), rest)
    # A finite number modulo an infinite one is itself.
    infinite = wide.compare("eq", wide.absolute(b), wide.constant(float("inf")))
    finite_a = wide.compare("lt", wide.absolute(a), wide.constant(float("inf")))
    rest = wide.select(arith.AndIOp(infinite, finite_a).result, a, rest)
    if floor:
        # A product may underflow to 0: signs are compared one by one.
        negative, other = wide.compare("lt", rest, zero), wide.compare("lt", b, zero)
        wrong = arith.AndIOp(arith.XOrIOp(negative, other).result, wide.compare("ne", rest, zero)).result
        rest = wide.select(wrong, wide.add(rest, b), rest)
    return wide.convert(rest, scalars)


class PowerLowering(RewritePattern):
    """`graph.power` → a `linalg.generic`: products for small constant exponents, else `math`'s powers."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PowerOp, rewriter: PatternRewriter) -> None:
        """
        Choose the body by the exponent and by both element types: small constant, float or integer power.
        """
        exponent = Scalars(element_of_value(op.rhs))
        number = constant_number(op.rhs)

        def body(scalars: Scalars, a: SSAValue, b: SSAValue) -> SSAValue:
            if number in (1, 2, 3):
                product = a
                for _ in range(int(number) - 1):
                    product = scalars.multiply(product, a)
                return product
            if scalars.is_float:
                return _float_power(scalars, a, exponent.convert(b, scalars), number)
            if exponent.is_float:
                wide = Scalars(f64)
                power = math.PowFOp(scalars.convert(a, wide), exponent.convert(b, wide)).result
                return wide.convert(power, scalars)
            return _integer_power(scalars, a, exponent, b)

        replace_binary(op, body, rewriter)


def _float_power(scalars: Scalars, a: SSAValue, b: SSAValue, number: float | None) -> SSAValue:
    """
    `a ** b` for floats, a square root for the constant exponent 0.5.

    `number` is the exponent where it is a constant. pow(-inf, 0.5) is inf, but sqrt(-inf) is NaN.
    """
    if number != 0.5:
        return math.PowFOp(a, b).result
    infinity = scalars.constant(float("inf"))
    is_lowest = scalars.compare("eq", a, scalars.constant(float("-inf")))
    return scalars.select(is_lowest, infinity, math.SqrtOp(a).result)


def _integer_power(scalars: Scalars, a: SSAValue, exponent: Scalars, b: SSAValue) -> SSAValue:
    """a ** b for integers: exact and wrapping for b >= 0, else 1 / power truncated, so 0 unless a is ±1."""
    wide = Scalars(i64)
    negative = exponent.compare("lt", b, exponent.constant(0))
    base, power = scalars.convert(a, wide), exponent.convert(b, wide)
    result = wide.convert(math.IPowIOp(base, wide.select(negative, wide.constant(0), power)).result, scalars)
    if exponent.unsigned:
        return result
    # Negative exponents: 1 for a = 1, ±1 by the exponent's parity for a = -1, else 0.
    one, minus_one = scalars.constant(1), scalars.constant(-1)
    odd = wide.compare("ne", arith.AndIOp(power, wide.constant(1)).result, wide.constant(0))
    inverse = scalars.select(scalars.compare("eq", a, one), one, scalars.constant(0))
    if not scalars.unsigned:
        sign = scalars.select(odd, minus_one, one)
        inverse = scalars.select(scalars.compare("eq", a, minus_one), sign, inverse)
    return scalars.select(negative, inverse, result)


class WhereLowering(RewritePattern):
    """`graph.where` → a `linalg.generic` with `arith.select`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.WhereOp, rewriter: PatternRewriter) -> None:
        """Select between elements as they are stored: nothing is computed with them."""
        scalars = Scalars(element_of_value(op.on_true))
        operands = [op.condition, op.on_true, op.on_false]
        type = tensor_of(op.result)
        result = elementwise(type, operands, lambda s: scalars.select(*s), op, rewriter, stored=True)
        rewriter.replace(op, [], [result])
