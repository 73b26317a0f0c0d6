"""Functions of one tensor, element by element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from stepwell.dialects import graph
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.lowering.coreml_to_graph.support import CONVERSIONS, Call, converts
from stepwell.lowering.to_graph import Value

UNARY: Mapping[str, type[UnaryOp]] = {
    "abs": graph.AbsOp,
    "acos": graph.AcosOp,
    "asin": graph.AsinOp,
    "atan": graph.AtanOp,
    "atanh": graph.AtanhOp,
    "ceil": graph.CeilOp,
    "cos": graph.CosOp,
    "cosh": graph.CoshOp,
    "erf": graph.ErfOp,
    "exp": graph.ExpOp,
    "floor": graph.FloorOp,
    "logical_not": graph.NotOp,
    "relu": graph.ReluOp,
    "round": graph.RoundOp,
    "sigmoid": graph.SigmoidOp,
    "sign": graph.SignOp,
    "sin": graph.SinOp,
    "sinh": graph.SinhOp,
    "softplus": graph.SoftplusOp,
    "sqrt": graph.SqrtOp,
    "tan": graph.TanOp,
    "tanh": graph.TanhOp,
}
"""Functions that are one op."""
FORMULAS: Mapping[str, Callable[[Call, Value], Value]] = {
    "clamped_relu": lambda call, x: call.at.where(x < 0, x * call.number("alpha"), x).minimum(
        call.number("beta")
    ),
    "exp2": lambda call, x: (x * 0.6931471805599453).apply(graph.ExpOp),
    "identity": lambda call, x: x,
    "inverse": lambda call, x: 1.0 / (x + call.number("epsilon")),
    "linear_activation": lambda call, x: x * call.number("alpha") + call.number("beta"),
    "log": lambda call, x: (x + call.number("epsilon")).apply(graph.LogOp),
    "relu6": lambda call, x: x.clip(0, 6),
    "rsqrt": lambda call, x: (x + call.number("epsilon")).apply(graph.RsqrtOp),
    "scaled_tanh": lambda call, x: (x * call.number("beta")).apply(graph.TanhOp) * call.number("alpha"),
    "sigmoid_hard": lambda call, x: (x * call.number("alpha") + call.number("beta")).clip(0, 1),
    "silu": lambda call, x: x * x.apply(graph.SigmoidOp),
    "softsign": lambda call, x: x / (abs(x) + 1.0),
    "square": lambda call, x: x * x,
    "threshold": lambda call, x: x.maximum(call.number("alpha")),
    "thresholded_relu": lambda call, x: call.at.where(x < call.number("alpha"), x * 0, x),
}
"""Functions that are a formula."""


def _one_op(op_type: type[UnaryOp], call: Call) -> Value:
    return call.tensor().apply(op_type)


def _formula(formula: Callable[[Call, Value], Value], call: Call) -> Value:
    return formula(call, call.tensor())


for _name, _type in UNARY.items():
    CONVERSIONS.add(_name, partial(_one_op, _type))
for _name, _function in FORMULAS.items():
    CONVERSIONS.add(_name, partial(_formula, _function))


@converts("clip")
def clip(call: Call) -> Value:
    """The value between two bounds."""
    return call.tensor().clip(call.number("alpha"), call.number("beta"))


@converts("cast")
def cast(call: Call) -> Value:
    """The value in another element type; anything but 0 is true."""
    return call.tensor().cast(call.element)


@converts("elu")
def elu(call: Call) -> Value:
    """The exponential linear unit."""
    return call.at.op(graph.EluOp(call.tensor().ssa, call.number("alpha")))


@converts("leaky_relu")
def leaky_relu(call: Call) -> Value:
    """Negative numbers times a slope."""
    return call.at.op(graph.LeakyReluOp(call.tensor().ssa, call.number("alpha")))


_GELU = {"EXACT": "none", "TANH_APPROXIMATION": "tanh"}


@converts("gelu")
def gelu(call: Call) -> Value:
    """The Gaussian error linear unit: exact, by tanh, or by a sigmoid."""
    x, mode = call.tensor(), call.text("mode")
    if mode == "SIGMOID_APPROXIMATION":
        return x * (x * 1.702).apply(graph.SigmoidOp)
    if mode not in _GELU:
        raise call.unsupported(f"the mode {mode!r}")
    return call.at.op(graph.GeluOp(x.ssa, _GELU[mode]))


def _by_channel(call: Call, name: str, x: Value) -> Value:
    """Numbers of channels, which are the second axis."""
    return call.tensor(name).reshape([1, call.tensor(name).dims[0], *[1] * (x.rank - 2)])


@converts("prelu")
def prelu(call: Call) -> Value:
    """Negative numbers times a slope for each channel."""
    x = call.tensor()
    return call.at.where(x < 0, x * _by_channel(call, "alpha", x), x)


@converts("softplus_parametric")
def softplus_parametric(call: Call) -> Value:
    """alpha * log(1 + exp(beta * x)), with numbers for each channel."""
    x = call.tensor()
    alpha, beta = (_by_channel(call, name, x) for name in ("alpha", "beta"))
    return (x * beta).apply(graph.SoftplusOp) * alpha
