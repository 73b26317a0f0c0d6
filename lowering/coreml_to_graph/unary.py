"""Functions of one tensor, element by element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from stepwell.dialects import graph
from stepwell.lowering.coreml_to_graph.support import CONVERSIONS, Call, converts
from stepwell.lowering.to_graph import Value, enter_unary

enter_unary(
    CONVERSIONS,
    __name__,
    (
        "abs acos asin atan atanh ceil cos cosh erf exp exp2 floor identity logical_not relu relu6 round "
        "sigmoid sign silu sin sinh softplus softsign sqrt square tan tanh"
    ).split(),
)
FORMULAS: Mapping[str, Callable[[Call, Value], Value]] = {
    "clamped_relu": lambda call, x: call.at.where(x < 0, x * call.number("alpha"), x).minimum(
        call.number("beta")
    ),
    "inverse": lambda call, x: 1.0 / (x + call.number("epsilon")),
    "linear_activation": lambda call, x: x * call.number("alpha") + call.number("beta"),
    "log": lambda call, x: (x + call.number("epsilon")).apply(graph.LogOp),
    "rsqrt": lambda call, x: (x + call.number("epsilon")).apply(graph.RsqrtOp),
    "scaled_tanh": lambda call, x: (x * call.number("beta")).apply(graph.TanhOp) * call.number("alpha"),
    "sigmoid_hard": lambda call, x: (x * call.number("alpha") + call.number("beta")).clip(0, 1),
    "threshold": lambda call, x: x.maximum(call.number("alpha")),
    "thresholded_relu": lambda call, x: call.at.where(x < call.number("alpha"), 0.0, x),
}
"""Functions with numbers of their own."""


def _formula(formula: Callable[[Call, Value], Value], call: Call) -> Value:
    return formula(call, call.tensor())


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
