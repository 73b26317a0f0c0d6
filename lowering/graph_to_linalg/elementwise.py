"""Elementwise ops → one `linalg.generic` each, with `arith` and `math` in its body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.linalg_builder import activation
from stepwell.dialects.linalg_builder.scalars import Scalars, signless
from stepwell.dialects.linalg_builder.small_floats import SMALL_FLOATS, PowerOfTwo, SmallFloat
from stepwell.dialects.linalg_builder.support import elementwise
from stepwell.dialects.types import tensor_of

UnaryBody: TypeAlias = Callable[[Scalars, SSAValue], SSAValue]


def _math(op_type: Callable[[SSAValue], Operation]) -> UnaryBody:
    """The body of one op of the `math` dialect, with the scalar as its only operand."""
    return lambda scalars, x: op_type(x).results[0]


def sign(scalars: Scalars, x: SSAValue) -> SSAValue:
    """The sign of a number: -1 or 1, and 0 and NaN themselves."""
    zero = scalars.constant(0)
    negative, positive = scalars.compare("lt", x, zero), scalars.compare("gt", x, zero)
    return scalars.select(positive, scalars.constant(1), scalars.select(negative, scalars.constant(-1), x))


def complement(scalars: Scalars, x: SSAValue) -> SSAValue:
    """All bits inverted."""
    return arith.XOrIOp(x, scalars.constant(1 if scalars.is_bool else -1)).result


UNARY: Mapping[type[UnaryOp], UnaryBody] = {
    graph.NegOp: Scalars.negate,
    graph.AbsOp: Scalars.absolute,
    graph.SignOp: sign,
    graph.NotOp: complement,
    graph.IsNanOp: Scalars.is_nan,
    graph.FloorOp: _math(math.FloorOp),
    graph.CeilOp: _math(math.CeilOp),
    graph.TruncOp: _math(math.TruncOp),
    graph.RoundOp: _math(math.RoundEvenOp),
    graph.ExpOp: _math(math.ExpOp),
    graph.Expm1Op: _math(math.ExpM1Op),
    graph.LogOp: _math(math.LogOp),
    graph.Log1pOp: _math(math.Log1pOp),
    graph.SqrtOp: _math(math.SqrtOp),
    graph.RsqrtOp: _math(math.RsqrtOp),
    graph.SinOp: _math(math.SinOp),
    graph.CosOp: _math(math.CosOp),
    graph.TanOp: _math(math.TanOp),
    graph.AsinOp: _math(math.AsinOp),
    graph.AcosOp: _math(math.AcosOp),
    graph.AtanOp: _math(math.AtanOp),
    graph.SinhOp: _math(math.SinhOp),
    graph.CoshOp: _math(math.CoshOp),
    graph.TanhOp: _math(math.TanhOp),
    graph.AsinhOp: _math(math.AsinhOp),
    graph.AcoshOp: _math(math.AcoshOp),
    graph.AtanhOp: _math(math.AtanhOp),
    graph.ErfOp: _math(math.ErfOp),
    graph.ReluOp: activation.relu,
    graph.SigmoidOp: activation.sigmoid,
    graph.SoftplusOp: activation.softplus,
}


WITH_ALPHA: Mapping[type[UnaryOp], Callable[[Scalars, SSAValue, float], SSAValue]] = {
    graph.LeakyReluOp: activation.leaky_relu,
    graph.EluOp: activation.elu,
    graph.SiluOp: activation.silu,
}


def replace_unary(op: UnaryOp, body: UnaryBody, rewriter: PatternRewriter) -> None:
    """Replace an op by a `linalg.generic` with a body on the scalars of its input."""
    scalars = Scalars(element_of_value(op.input))
    result = elementwise(tensor_of(op.result), [op.input], lambda s: body(scalars, s[0]), op, rewriter)
    rewriter.replace(op, [], [result])


class UnaryLowering(RewritePattern):
    """A unary op without attributes → a `linalg.generic` whose body is the op's row in `UNARY`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: UnaryOp, rewriter: PatternRewriter) -> None:
        """
        Emit the body that `UNARY` lists for the op's class; leave other unary ops to their own patterns.
        """
        if (body := UNARY.get(type(op))) is not None:
            replace_unary(op, body, rewriter)


class TanhSoftplusLowering(RewritePattern):
    """
    `graph.softplus` with only `graph.tanh` as users → one `linalg.generic` for both, without a logarithm.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SoftplusOp, rewriter: PatternRewriter) -> None:
        """Replace each `graph.tanh` user by the fused body and erase the softplus."""
        users = [use.operation for use in op.result.uses]
        if not users or not all(isinstance(user, graph.TanhOp) for user in users):
            return
        scalars, type = Scalars(element_of_value(op.input)), tensor_of(op.result)
        for user in users:
            result = elementwise(
                type, [op.input], lambda s: activation.tanh_softplus(scalars, s[0]), op, rewriter
            )
            rewriter.replace(user, [], [result])
        rewriter.erase(op)


class AlphaLowering(RewritePattern):
    """A unary op with an attribute `alpha` → a `linalg.generic` whose body is its row in `WITH_ALPHA`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.LeakyReluOp | graph.EluOp | graph.SiluOp, rewriter: PatternRewriter
    ) -> None:
        """Emit the body with the op's `alpha`."""
        body, alpha = WITH_ALPHA[type(op)], op.alpha.value.data
        replace_unary(op, lambda scalars, x: body(scalars, x, alpha), rewriter)


class GeluLowering(RewritePattern):
    """`graph.gelu` → a `linalg.generic`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.GeluOp, rewriter: PatternRewriter) -> None:
        """Emit the erf or, with `approximate = "tanh"`, the sigmoid formula."""
        approximate = op.approximate.data
        replace_unary(op, lambda scalars, x: activation.gelu(scalars, x, approximate), rewriter)


class IsInfLowering(RewritePattern):
    """`graph.is_inf` → a `linalg.generic` that compares with the infinities that the attributes select."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.IsInfOp, rewriter: PatternRewriter) -> None:
        """Emit one comparison for each sign selected by `positive` and `negative`, joined by `or`."""
        signs = ((bool(op.positive), "inf"), (bool(op.negative), "-inf"))
        asked = [float(text) for wanted, text in signs if wanted]

        def body(scalars: Scalars, x: SSAValue) -> SSAValue:
            found = Scalars(element_of_value(op.result)).constant(0)
            for infinity in asked:
                found = arith.OrIOp(found, scalars.compare("eq", x, scalars.constant(infinity))).result
            return found

        replace_unary(op, body, rewriter)


class CastLowering(RewritePattern):
    """`graph.cast` → a `linalg.generic` that converts each element; small floats as the attributes say."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter) -> None:
        """
        Emit a conversion through the scalar type; 8-bit and smaller floats round by `saturate` or `round`.
        """
        target, small = Scalars(op.to), SMALL_FLOATS.get(op.to)

        def body(scalars: Scalars, x: SSAValue) -> SSAValue:
            number = scalars.convert(x, target)
            match small:
                case SmallFloat():
                    return small.encode(number, saturate=bool(op.saturate))
                case PowerOfTwo():
                    return small.encode(number, round=op.round.data)
                case None:
                    return number

        replace_unary(op, body, rewriter)


class BitcastLowering(RewritePattern):
    """`graph.bitcast` → a `linalg.generic` with `arith.bitcast`; a bool is a byte of 0 or 1."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BitcastOp, rewriter: PatternRewriter) -> None:
        """Reinterpret elements as they are stored; equal storage types need no op at all."""
        source, target = Scalars(element_of_value(op.input)), Scalars(op.to)

        def body(elements: Sequence[SSAValue]) -> SSAValue:
            (x,) = elements
            if source.is_bool or target.is_bool:
                return source.convert(x, target)
            return x if x.type == signless(op.to) else arith.BitcastOp(x, signless(op.to)).result

        result = elementwise(tensor_of(op.result), [op.input], body, op, rewriter, stored=True)
        rewriter.replace(op, [], [result])


class ClipLowering(RewritePattern):
    """`graph.clip` → a `linalg.generic`; the bounds are read as scalars."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ClipOp, rewriter: PatternRewriter) -> None:
        """Emit a maximum with `lo` and a minimum with `hi`, each only if the op has it."""
        scalars = Scalars(element_of_value(op.input))
        has_lo, has_hi = op.lo is not None, op.hi is not None
        operands = [value for value in (op.input, op.lo, op.hi) if value is not None]

        def body(elements: Sequence[SSAValue]) -> SSAValue:
            bounded, *bounds = elements
            if has_lo:
                bounded = scalars.maximum(bounded, bounds[0])
            return scalars.minimum(bounded, bounds[-1]) if has_hi else bounded

        result = elementwise(tensor_of(op.result), operands, body, op, rewriter)
        rewriter.replace(op, [], [result])
