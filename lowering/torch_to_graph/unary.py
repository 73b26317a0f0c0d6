"""Elementwise functions of one tensor, and activations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import log, pi

import numpy as np
from xdsl.ir import Attribute

from stepwell.dialects import graph
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.dialects.graph.relations import is_bool, is_float
from stepwell.dialects.types import dtype_of
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.promotion import computed, number, operand, rounded_once
from stepwell.lowering.torch_to_graph.support import Call, add_conversion, converts

UNARY: Mapping[str, type[UnaryOp]] = {
    "abs": graph.AbsOp,
    "absolute": graph.AbsOp,
    "acos": graph.AcosOp,
    "acosh": graph.AcoshOp,
    "arccos": graph.AcosOp,
    "arccosh": graph.AcoshOp,
    "arcsin": graph.AsinOp,
    "arcsinh": graph.AsinhOp,
    "arctan": graph.AtanOp,
    "arctanh": graph.AtanhOp,
    "asin": graph.AsinOp,
    "asinh": graph.AsinhOp,
    "atan": graph.AtanOp,
    "atanh": graph.AtanhOp,
    "bitwise_not": graph.NotOp,
    "cos": graph.CosOp,
    "cosh": graph.CoshOp,
    "erf": graph.ErfOp,
    "exp": graph.ExpOp,
    "expm1": graph.Expm1Op,
    "log": graph.LogOp,
    "log1p": graph.Log1pOp,
    "neg": graph.NegOp,
    "negative": graph.NegOp,
    "relu": graph.ReluOp,
    "rsqrt": graph.RsqrtOp,
    "sigmoid": graph.SigmoidOp,
    "sgn": graph.SignOp,
    "sign": graph.SignOp,
    "sin": graph.SinOp,
    "sinh": graph.SinhOp,
    "sqrt": graph.SqrtOp,
    "tan": graph.TanOp,
    "tanh": graph.TanhOp,
}
"""Functions that are one op, on the operand in the result's element type."""
ROUNDING: Mapping[str, type[UnaryOp]] = {
    "ceil": graph.CeilOp,
    "fix": graph.TruncOp,
    "floor": graph.FloorOp,
    "round": graph.RoundOp,
    "trunc": graph.TruncOp,
}
"""Functions that leave integers as they are."""
FORMULAS: Mapping[str, Callable[[Value], Value]] = {
    "deg2rad": lambda x: x * (pi / 180),
    "erfc": lambda x: 1.0 - x.apply(graph.ErfOp),
    "exp2": lambda x: (x * log(2)).apply(graph.ExpOp),
    "hardswish": lambda x: x * hard_sigmoid(x),
    "log10": lambda x: x.apply(graph.LogOp) * (1 / log(10)),
    "log2": lambda x: x.apply(graph.LogOp) * (1 / log(2)),
    "log_sigmoid": lambda x: -(-x).apply(graph.SoftplusOp),
    "mish": lambda x: x * x.apply(graph.SoftplusOp).apply(graph.TanhOp),
    "rad2deg": lambda x: x * (180 / pi),
    "reciprocal": lambda x: 1.0 / x,
    "square": lambda x: x * x,
}
"""Functions that are a formula, on the operand in the result's element type; of narrow floats in f32."""


def hard_sigmoid(x: Value) -> Value:
    """min(max(x + 3, 0), 6) / 6."""
    return (x + 3.0).clip(0.0, 6.0) * (1 / 6)


def _one_op(op_type: type[UnaryOp], call: Call) -> Value:
    x = call.tensor().cast(call.element)
    if op_type in (graph.AbsOp, graph.SignOp) and is_bool(x.element):
        return x
    return x.apply(op_type)


def _rounded(op_type: type[UnaryOp], call: Call) -> Value:
    x = call.tensor()
    return x.apply(op_type) if is_float(x.element) else x


def _formula(formula: Callable[[Value], Value], call: Call) -> Value:
    return formula(call.tensor().cast(computed(call.element))).cast(call.element)


for _name, _type in UNARY.items():
    add_conversion(f"{_name}.default", partial(_one_op, _type))
for _name, _type in ROUNDING.items():
    add_conversion(f"{_name}.default", partial(_rounded, _type))
for _name, _function in FORMULAS.items():
    add_conversion(f"{_name}.default", partial(_formula, _function))


@converts("log_sigmoid_forward.default")
def log_sigmoid_with_buffer(call: Call) -> list[Value | None]:
    """The logarithm of the sigmoid; the buffer of the backward pass is not computed."""
    return [FORMULAS["log_sigmoid"](call.tensor()), None]


@converts("silu.default")
def silu(call: Call) -> Value:
    """x times its sigmoid."""
    return call.at.op(graph.SiluOp(call.tensor().cast(call.element).ssa))


@converts("hardsigmoid.default")
@rounded_once
def hardsigmoid(call: Call) -> Value:
    """The piecewise linear sigmoid."""
    return hard_sigmoid(call.tensor())


@converts("round.decimals")
def round_decimals(call: Call) -> Value:
    """Rounding to a number of decimals."""
    factor = 10.0 ** call.integer("decimals")
    return (call.tensor() * factor).apply(graph.RoundOp) / factor


@converts("frac.default")
def frac(call: Call) -> Value:
    """The part after the point, with the number's sign."""
    x = call.tensor()
    return x - x.apply(graph.TruncOp)


@converts("logical_not.default")
def logical_not(call: Call) -> Value:
    """Whether a number is 0."""
    x = call.tensor()
    return x.negated() if is_bool(x.element) else x.equals(0)


@converts("isnan.default")
def isnan(call: Call) -> Value:
    """Whether a number is NaN."""
    x = call.tensor()
    return x.apply(graph.IsNanOp) if is_float(x.element) else call.at.full(0, x.dims, call.element)


@converts("isinf.default")
def isinf(call: Call) -> Value:
    """Whether a number is infinite."""
    x = call.tensor()
    return call.at.op(graph.IsInfOp(x.ssa)) if is_float(x.element) else call.at.full(0, x.dims, call.element)


@converts("isfinite.default")
def isfinite(call: Call) -> Value:
    """Whether a number is neither infinite nor NaN."""
    x = call.tensor()
    if not is_float(x.element):
        return call.at.full(1, x.dims, call.element)
    return (call.at.op(graph.IsInfOp(x.ssa)) | x.apply(graph.IsNanOp)).negated()


@converts("gelu.default")
def gelu(call: Call) -> Value:
    """The Gaussian error linear unit, exact or by tanh."""
    return call.at.op(graph.GeluOp(call.tensor().ssa, str(call.value("approximate"))))


@converts("relu6.default")
def relu6(call: Call) -> Value:
    """Clamped to 0 and 6."""
    return call.tensor().clip(0, 6)


@converts("hardtanh.default")
def hardtanh(call: Call) -> Value:
    """Clamped to two bounds."""
    return call.tensor().clip(call.number("min_val"), call.number("max_val"))


@converts("leaky_relu.default")
def leaky_relu(call: Call) -> Value:
    """Negative numbers times a slope."""
    return call.at.op(graph.LeakyReluOp(call.tensor().ssa, float(call.number("negative_slope"))))


@converts("prelu.default", "_prelu_kernel.default")
@rounded_once
def prelu(call: Call) -> Value:
    """Negative numbers times a slope for each channel."""
    x, slope = call.tensor(), call.tensor("weight")
    if slope.rank == 1 and x.rank > 1:
        slope = slope.reshape([slope.dims[0], *[1] * (x.rank - 2)])
    return call.at.where(x < 0, x * slope, x)


@converts("elu.default")
@rounded_once
def elu(call: Call) -> Value:
    """scale * x, and alpha * scale * (exp(input_scale * x) - 1) for negative numbers."""
    x, scale = call.tensor(), call.number("scale")
    low = (x * call.number("input_scale")).apply(graph.Expm1Op) * (call.number("alpha") * scale)
    return call.at.where(x <= 0, low, x * scale)


@converts("selu.default")
@rounded_once
def selu(call: Call) -> Value:
    """The self-normalizing exponential linear unit."""
    x, alpha, scale = call.tensor(), 1.6732632423543772, 1.0507009873554805
    return call.at.where(x <= 0, x.apply(graph.Expm1Op) * (alpha * scale), x * scale)


@converts("celu.default")
@rounded_once
def celu(call: Call) -> Value:
    """x, and alpha * (exp(x / alpha) - 1) for negative numbers."""
    x, alpha = call.tensor(), call.number("alpha")
    return call.at.where(x <= 0, (x / alpha).apply(graph.Expm1Op) * alpha, x)


@converts("softplus.default")
@rounded_once
def softplus(call: Call) -> Value:
    """log(1 + exp(beta * x)) / beta, and x above a threshold."""
    x, beta = call.tensor(), call.number("beta")
    smooth = (x * beta).apply(graph.SoftplusOp) / beta
    return call.at.where(x * beta > call.number("threshold"), x, smooth)


@converts("hardshrink.default")
def hardshrink(call: Call) -> Value:
    """Zero between -lambd and lambd."""
    x, bound = call.tensor(), call.number("lambd")
    return call.at.where((x <= bound) & (x >= -bound), 0, x)


@converts("softshrink.default")
@rounded_once
def softshrink(call: Call) -> Value:
    """Moved towards zero by lambd."""
    x, bound = call.tensor(), call.number("lambd")
    return call.at.where(x > bound, x - bound, call.at.where(x < -bound, x + bound, x * 0))


@converts("threshold.default")
def threshold(call: Call) -> Value:
    """Another value for numbers up to a threshold."""
    x = call.tensor()
    return call.at.where(x > call.number("threshold"), x, number(call, "value", x.element))


@converts("logit.default")
def logit(call: Call) -> Value:
    """log(x / (1 - x)), of x clamped by eps."""
    x = call.tensor().cast(call.element)
    if (eps := call.value("eps")) is not None:
        x = x.clip(float(eps), 1 - float(eps)) if isinstance(eps, float) else x
    return (x / (1.0 - x)).apply(graph.LogOp)


@converts("clamp.default", "clip.default", "clamp_min.default", "clamp_max.default")
@converts("clamp.Tensor", "clip.Tensor", "clamp_min.Tensor", "clamp_max.Tensor")
def clamp(call: Call) -> Value:
    """Clamped to bounds, of which one may be absent."""
    x = call.tensor().cast(call.element)
    for name, bound in (("min", Value.maximum), ("max", Value.minimum)):
        if call.has(name) and (call.op.SIGNATURE.by_name[name].is_tensor or call.value(name) is not None):
            is_absent = call.op.SIGNATURE.by_name[name].is_tensor and call.op.tensor(name) is None
            x = x if is_absent else bound(x, operand(call, name, call.element))
    return x


@converts("nan_to_num.default")
def nan_to_num(call: Call) -> Value:
    """Numbers for NaN and the infinities."""
    x = call.tensor()
    if not is_float(x.element):
        return x
    largest = _largest(x.element)
    replaced = {name: call.value(name) for name in ("nan", "posinf", "neginf")}
    given = [float(value) if isinstance(value, float) else None for value in replaced.values()]
    nan, high, low = (
        default if value is None else value
        for value, default in zip(given, (0.0, largest, -largest), strict=True)
    )
    result = call.at.where(x.apply(graph.IsNanOp), nan, x)
    result = call.at.where(call.at.op(graph.IsInfOp(x.ssa, negative=False)), high, result)
    return call.at.where(call.at.op(graph.IsInfOp(x.ssa, positive=False)), low, result)


def _largest(element: Attribute) -> float:
    """The largest finite number of an element type."""
    dtype = dtype_of(element)
    if dtype.name == "bfloat16":
        return 3.3895313892515355e38
    return float(np.finfo(dtype.name).max)
