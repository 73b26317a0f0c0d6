"""Activation functions as arithmetic on scalars of a float type."""

from __future__ import annotations

from math import pi, sqrt

from xdsl.dialects import math
from xdsl.ir import SSAValue

from stepwell.dialects.linalg_builder.scalars import Scalars


def relu(scalars: Scalars, x: SSAValue) -> SSAValue:
    """max(x, 0)."""
    return scalars.maximum(x, scalars.constant(0))


def sigmoid(scalars: Scalars, x: SSAValue) -> SSAValue:
    """1 / (1 + exp(-x))."""
    one = scalars.constant(1)
    power = math.ExpOp(scalars.negate(x)).result
    return scalars.divide(one, scalars.add(one, power))


def softplus(scalars: Scalars, x: SSAValue) -> SSAValue:
    """max(x, 0) + log1p(exp(-|x|)), which does not overflow."""
    power = math.ExpOp(scalars.negate(scalars.absolute(x))).result
    return scalars.add(relu(scalars, x), math.Log1pOp(power).result)


def tanh_softplus(scalars: Scalars, x: SSAValue) -> SSAValue:
    """tanh(softplus(x)) without a logarithm: n / (n + 2) for n = e^x (e^x + 2); from 20 on it is 1."""
    two = scalars.constant(2)
    power = math.ExpOp(scalars.minimum(x, scalars.constant(20))).result
    part = scalars.multiply(power, scalars.add(power, two))
    return scalars.divide(part, scalars.add(part, two))


def leaky_relu(scalars: Scalars, x: SSAValue, alpha: float) -> SSAValue:
    """x for x >= 0, else alpha * x."""
    negative = scalars.compare("lt", x, scalars.constant(0))
    return scalars.select(negative, scalars.multiply(x, scalars.constant(alpha)), x)


def elu(scalars: Scalars, x: SSAValue, alpha: float) -> SSAValue:
    """x for x >= 0, else alpha * (exp(x) - 1)."""
    negative = scalars.compare("lt", x, scalars.constant(0))
    below = scalars.multiply(scalars.constant(alpha), math.ExpM1Op(x).result)
    return scalars.select(negative, below, x)


def silu(scalars: Scalars, x: SSAValue, alpha: float) -> SSAValue:
    """x * sigmoid(alpha * x)."""
    scaled = x if alpha == 1 else scalars.multiply(scalars.constant(alpha), x)
    return scalars.multiply(x, sigmoid(scalars, scaled))


def gelu(scalars: Scalars, x: SSAValue, approximate: str) -> SSAValue:
    """
    x / 2 * (1 + erf(x / sqrt(2))); "tanh" replaces the erf by tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)).
    """
    if approximate == "tanh":
        return _tanh_gelu(scalars, x)
    bent = math.ErfOp(scalars.multiply(x, scalars.constant(sqrt(0.5)))).result
    half = scalars.multiply(scalars.constant(0.5), x)
    return scalars.multiply(half, scalars.add(scalars.constant(1), bent))


def _tanh_gelu(scalars: Scalars, x: SSAValue) -> SSAValue:
    """x / (1 + exp(-2 t)), as (1 + tanh(t)) / 2 is the sigmoid of 2 t; small results stay exact."""
    factor = -2 * sqrt(2 / pi)
    stretch = scalars.multiply(scalars.multiply(x, x), scalars.constant(0.044715 * factor))
    power = math.ExpOp(scalars.multiply(x, scalars.add(stretch, scalars.constant(factor)))).result
    return scalars.divide(x, scalars.add(scalars.constant(1), power))


def activate(scalars: Scalars, name: str, x: SSAValue, alpha: float, beta: float) -> SSAValue:
    """An activation function of a recurrent cell, by its name in `graph.rnn`."""
    match name:
        case "sigmoid":
            return sigmoid(scalars, x)
        case "tanh":
            return math.TanhOp(x).result
        case "relu":
            return relu(scalars, x)
        case "leaky_relu":
            return leaky_relu(scalars, x, alpha)
        case "elu":
            return elu(scalars, x, alpha)
        case "softplus":
            return softplus(scalars, x)
        case "softsign":
            return scalars.divide(x, scalars.add(scalars.constant(1), scalars.absolute(x)))
        case "thresholded_relu":
            above = scalars.compare("gt", x, scalars.constant(alpha))
            return scalars.select(above, x, scalars.constant(0))
        case "scaled_tanh":
            scaled = scalars.multiply(x, scalars.constant(beta))
            return scalars.multiply(math.TanhOp(scaled).result, scalars.constant(alpha))
        case "hard_sigmoid":
            line = scalars.add(scalars.multiply(x, scalars.constant(alpha)), scalars.constant(beta))
            return scalars.minimum(scalars.maximum(line, scalars.constant(0)), scalars.constant(1))
        case _:
            return scalars.add(scalars.multiply(x, scalars.constant(alpha)), scalars.constant(beta))
