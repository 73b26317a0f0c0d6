"""Derivatives of elementwise functions of one tensor."""

from __future__ import annotations

from math import pi, sqrt

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.types import tensor_of
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, derivative, zero

derivative(graph.FloorOp, graph.CeilOp, graph.RoundOp, graph.TruncOp, graph.SignOp)(zero)
derivative(graph.EqualOp, graph.NotEqualOp, graph.LessOp, graph.LessEqualOp, graph.IsInfOp, graph.IsNanOp)(
    zero
)
derivative(graph.AndOp, graph.OrOp, graph.XorOp, graph.NotOp, graph.ShiftLeftOp, graph.ShiftRightOp)(zero)
derivative(graph.ArgmaxOp, graph.ArgminOp, graph.OneHotOp, graph.ShapeOfOp, graph.CheckIndicesOp)(zero)
derivative(graph.NonMaxSuppressionOp)(zero)


@derivative(graph.NegOp)
def neg(op: graph.NegOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = -dy."""
    return [b.negate(dy)]


@derivative(graph.AbsOp)
def abs_(op: graph.AbsOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy sign(x): 0 at 0."""
    return [b.multiply(dy, b.insert(graph.SignOp(op.input)))]


@derivative(graph.CastOp)
def cast(op: graph.CastOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy in the type of x; only casts between floats come here."""
    return [b.cast(dy, tensor_of(op.input).element_type)]


@derivative(graph.ObserveOp)
def observe(op: graph.ObserveOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy: an observer is the identity."""
    return [dy]


@derivative(graph.ExpOp)
def exp(op: graph.ExpOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy y."""
    return [b.multiply(dy, op.result)]


@derivative(graph.Expm1Op)
def expm1(op: graph.Expm1Op, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy (y + 1)."""
    return [b.multiply(dy, b.plus(op.result, 1.0))]


@derivative(graph.LogOp)
def log(op: graph.LogOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy / x."""
    return [b.divide(dy, op.input)]


@derivative(graph.Log1pOp)
def log1p(op: graph.Log1pOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy / (1 + x)."""
    return [b.divide(dy, b.plus(op.input, 1.0))]


@derivative(graph.SqrtOp)
def sqrt_(op: graph.SqrtOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy / (2 y): infinite at 0."""
    return [b.divide(dy, b.scaled(op.result, 2.0))]


@derivative(graph.RsqrtOp)
def rsqrt(op: graph.RsqrtOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = -dy y³ / 2."""
    return [b.multiply(dy, b.scaled(b.multiply(op.result, b.square(op.result)), -0.5))]


@derivative(graph.SinOp)
def sin(op: graph.SinOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy cos(x)."""
    return [b.multiply(dy, b.insert(graph.CosOp(op.input)))]


@derivative(graph.CosOp)
def cos(op: graph.CosOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = -dy sin(x)."""
    return [b.negate(b.multiply(dy, b.insert(graph.SinOp(op.input))))]


@derivative(graph.TanOp)
def tan(op: graph.TanOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy (1 + y²)."""
    return [b.multiply(dy, b.plus(b.square(op.result), 1.0))]


@derivative(graph.AsinOp)
def asin(op: graph.AsinOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy / √(1 - x²)."""
    return [b.multiply(dy, b.rsqrt(_one_less_square(op.input, b)))]


@derivative(graph.AcosOp)
def acos(op: graph.AcosOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = -dy / √(1 - x²)."""
    return [b.negate(b.multiply(dy, b.rsqrt(_one_less_square(op.input, b))))]


@derivative(graph.AtanOp)
def atan(op: graph.AtanOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy / (1 + x²)."""
    return [b.divide(dy, b.plus(b.square(op.input), 1.0))]


@derivative(graph.SinhOp)
def sinh(op: graph.SinhOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy cosh(x)."""
    return [b.multiply(dy, b.insert(graph.CoshOp(op.input)))]


@derivative(graph.CoshOp)
def cosh(op: graph.CoshOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy sinh(x)."""
    return [b.multiply(dy, b.insert(graph.SinhOp(op.input)))]


@derivative(graph.TanhOp)
def tanh(op: graph.TanhOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy (1 - y²)."""
    return [b.multiply(dy, _one_less_square(op.result, b))]


@derivative(graph.AsinhOp)
def asinh(op: graph.AsinhOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy / √(x² + 1)."""
    return [b.multiply(dy, b.rsqrt(b.plus(b.square(op.input), 1.0)))]


@derivative(graph.AcoshOp)
def acosh(op: graph.AcoshOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy / √(x² - 1)."""
    return [b.multiply(dy, b.rsqrt(b.plus(b.square(op.input), -1.0)))]


@derivative(graph.AtanhOp)
def atanh(op: graph.AtanhOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy / (1 - x²)."""
    return [b.divide(dy, _one_less_square(op.input, b))]


@derivative(graph.ErfOp)
def erf(op: graph.ErfOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy 2/√π exp(-x²)."""
    bell = b.exp(b.negate(b.square(op.input)))
    return [b.multiply(dy, b.scaled(bell, 2.0 / sqrt(pi)))]


@derivative(graph.ReluOp)
def relu(op: graph.ReluOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy where x > 0, else 0."""
    return [b.only_where(_is_positive(op.result, b), dy)]


@derivative(graph.LeakyReluOp)
def leaky_relu(op: graph.LeakyReluOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy where x > 0, else alpha dy."""
    return [b.where(_is_positive(op.input, b), dy, b.scaled(dy, op.alpha.value.data))]


@derivative(graph.EluOp)
def elu(op: graph.EluOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy where x > 0, else dy (y + alpha)."""
    below = b.multiply(dy, b.plus(op.result, op.alpha.value.data))
    return [b.where(_is_positive(op.input, b), dy, below)]


@derivative(graph.SigmoidOp)
def sigmoid(op: graph.SigmoidOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy (y - y²)."""
    return [b.multiply(dy, b.subtract(op.result, b.square(op.result)))]


@derivative(graph.SoftplusOp)
def softplus(op: graph.SoftplusOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy sigmoid(x)."""
    return [b.multiply(dy, b.insert(graph.SigmoidOp(op.input)))]


@derivative(graph.SiluOp)
def silu(op: graph.SiluOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy s (1 + x - y), where s = sigmoid(x) and y = x s."""
    slope = b.plus(b.subtract(op.input, op.result), 1.0)
    return [b.multiply(dy, b.multiply(b.insert(graph.SigmoidOp(op.input)), slope))]


@derivative(graph.GeluOp)
def gelu(op: graph.GeluOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx = dy (Φ(x) + x Φ'(x)); for `tanh` of the approximation of Φ."""
    x = op.input
    if op.approximate.data == "tanh":
        # Φ = (1 + t) / 2, t = tanh(u), u = √(2/π) (x + 0.044715 x³)
        factor, cubic = sqrt(2.0 / pi), 0.044715
        square = b.square(x)
        inner = b.scaled(b.multiply(x, b.plus(b.scaled(square, cubic), 1.0)), factor)
        t = b.insert(graph.TanhOp(inner))
        slope = b.scaled(b.plus(b.scaled(square, 3.0 * cubic), 1.0), factor)
        rise = b.multiply(b.multiply(x, _one_less_square(t, b)), slope)
        return [b.multiply(dy, b.scaled(b.add(b.plus(t, 1.0), rise), 0.5))]
    phi = b.scaled(b.plus(b.insert(graph.ErfOp(b.scaled(x, sqrt(0.5)))), 1.0), 0.5)
    bell = b.scaled(b.exp(b.scaled(b.square(x), -0.5)), 1.0 / sqrt(2.0 * pi))
    return [b.multiply(dy, b.add(phi, b.multiply(x, bell)))]


@derivative(graph.ClipOp)
def clip(op: graph.ClipOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """
    dx = dy where lo <= x <= hi, else 0; a bound gets the sum of dy where x is beyond it.

    Where lo > hi the result is hi, which gets dy.
    """
    found, rest = dy, dy
    bounds: list[SSAValue] = []
    if op.hi is not None:
        found = b.only_where(b.insert(graph.LessEqualOp(op.input, op.hi)), found)
        above = b.less(op.hi, op.input)
        if op.lo is not None:
            above = b.insert(graph.OrOp(above, b.less(op.hi, op.lo)))
        bounds.append(b.sum_to(b.only_where(above, dy), op.hi))
        rest = b.where(above, b.scalar(0.0, dy), dy)
    if op.lo is not None:
        found = b.only_where(b.insert(graph.LessEqualOp(op.lo, op.input)), found)
        bounds.insert(0, b.sum_to(b.only_where(b.less(op.input, op.lo), rest), op.lo))
    return [found, *bounds]


def _is_positive(x: SSAValue, b: GradientBuilder) -> SSAValue:
    return b.less(b.scalar(0.0, x), x)


def _one_less_square(x: SSAValue, b: GradientBuilder) -> SSAValue:
    """1 - x²."""
    return b.subtract(b.scalar(1.0, x), b.square(x))
