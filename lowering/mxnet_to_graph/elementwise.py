"""Elementwise functions, comparisons, selection by a condition, constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from math import sqrt

from xdsl.dialects.builtin import i1

from stepwell.dialects import graph
from stepwell.lowering.mxnet_to_graph.support import CONVERSIONS, Call, converts
from stepwell.lowering.to_graph import BINARY, UNARY, Value, enter_unary
from stepwell.runtime.dims import Dim

enter_unary(
    CONVERSIONS,
    __name__,
    (
        "abs ceil cos erf exp expm1 floor identity log log10 log1p log2 negative reciprocal relu rsqrt "
        "sigmoid sign sin softsign sqrt square tanh trunc BlockGrad:identity Dropout:identity _copy:identity"
    ).split(),
    "data",
)
_PAIRS = {
    "broadcast_add": "add",
    "broadcast_div": "divide",
    "broadcast_equal": "equal",
    "broadcast_greater": "greater",
    "broadcast_greater_equal": "greater_equal",
    "broadcast_lesser": "less",
    "broadcast_lesser_equal": "less_equal",
    "broadcast_maximum": "maximum",
    "broadcast_minimum": "minimum",
    "broadcast_mul": "multiply",
    "broadcast_not_equal": "not_equal",
    "broadcast_power": "power",
    "broadcast_sub": "subtract",
    "elemwise_add": "add",
    "elemwise_div": "divide",
    "elemwise_mul": "multiply",
    "elemwise_sub": "subtract",
}
"""Functions of two operands: their names here. A comparison gives numbers of the operands' type."""
_NUMBERS: Mapping[str, Callable[[Value, float], Value]] = {
    "_div_scalar": Value.__truediv__,
    "_equal_scalar": Value.equals,
    "_greater_equal_scalar": Value.__ge__,
    "_greater_scalar": Value.__gt__,
    "_lesser_equal_scalar": Value.__le__,
    "_lesser_scalar": Value.__lt__,
    "_maximum_scalar": Value.maximum,
    "_minimum_scalar": Value.minimum,
    "_minus_scalar": Value.__sub__,
    "_mul_scalar": Value.__mul__,
    "_plus_scalar": Value.__add__,
    "_power_scalar": lambda x, n: x * x if n == 2 else x.formula.op(graph.PowerOp(x.ssa, x.same(n).ssa)),
    "_rdiv_scalar": lambda x, n: n / x,
    "_rminus_scalar": lambda x, n: n - x,
}
"""Functions of an operand and a number."""


def _pair(function: Callable[[Value, Value], Value], call: Call) -> Value:
    x = call.tensor("lhs")
    return function(x, call.tensor("rhs")).cast(x.element)


def _with_number(function: Callable[[Value, float], Value], call: Call) -> Value:
    x = call.tensor()
    return function(x, call.number("scalar")).cast(x.element)


for _theirs, _ours in _PAIRS.items():
    CONVERSIONS.add(_theirs, partial(_pair, BINARY[_ours]))
for _name, _function in _NUMBERS.items():
    CONVERSIONS.add(_name, partial(_with_number, _function))


@converts("Activation")
def activation(call: Call) -> Value:
    """A function by its name."""
    names = {
        "softrelu": "softplus",
        **{name: name for name in ("relu", "sigmoid", "tanh", "softsign", "mish")},
    }
    if (kind := call.text("act_type")) not in names:
        raise call.unsupported(f"the activation {kind!r}")
    return UNARY[names[kind]](call.tensor())


@converts("LeakyReLU")
def leaky_relu(call: Call) -> Value:
    """Negative numbers times a slope, or another function that lets some of them through."""
    x, kind = call.tensor(), call.text("act_type")
    match kind:
        case "leaky":
            return call.at.op(graph.LeakyReluOp(x.ssa, call.number("slope")))
        case "elu":
            return call.at.op(graph.EluOp(x.ssa, call.number("slope")))
        case "selu":
            return call.at.op(graph.EluOp(x.ssa, 1.6732632423543772)) * 1.0507009873554805
        case "gelu":
            return x.apply(graph.GeluOp)
        case "prelu":
            slopes = call.tensor("gamma")
            shape = [1, *slopes.dims, *[1] * (x.rank - 2)] if x.rank > 1 and slopes.rank else slopes.dims
            return call.at.where(x < 0, x * slopes.reshape(shape), x)
        case _:
            raise call.unsupported(f"the activation {kind!r}")


@converts("clip")
def clip(call: Call) -> Value:
    """The value between two bounds."""
    return call.tensor().clip(call.number("a_min"), call.number("a_max"))


@converts("Cast")
def cast(call: Call) -> Value:
    """The value in another element type."""
    return call.tensor().cast(call.element)


@converts("add_n")
def add_n(call: Call) -> Value:
    """The sum of all operands."""
    parts = call.tensors("args")
    if not parts:
        raise call.invalid("no values")
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


@converts("where")
def where(call: Call) -> Value:
    """A selection by a condition, true for any number but 0; one of rank 1 chooses whole rows."""
    condition, x = call.tensor("condition"), call.tensor("x")
    chosen = condition if condition.element == i1 else condition.equals(0).negated()
    if chosen.rank == 1 and x.rank > 1:
        chosen = chosen.unsqueeze(*range(1, x.rank))
    return call.at.where(chosen, x, call.tensor("y"))


@converts("_contrib_div_sqrt_dim")
def div_sqrt_dim(call: Call) -> Value:
    """The value divided by the root of the last size."""
    x = call.tensor()
    if not x.dims[-1].is_static:
        raise call.unsupported(f"the root of the open size {x.dims[-1]}")
    return x * (1.0 / sqrt(x.dims[-1].value))


@converts("zeros_like", "ones_like")
def constant_like(call: Call) -> Value:
    """0 or 1 in the shape of the operand."""
    x = call.tensor()
    return call.at.full(float(call.op.SIGNATURE.name == "ones_like"), x.dims, x.element)


@converts("_zeros", "_ones")
def constant(call: Call) -> Value:
    """0 or 1 in a shape."""
    shape = call.integers("shape")
    if any(size < 0 for size in shape):
        raise call.invalid(f"the shape {list(shape)}")
    return call.at.full(float(call.op.SIGNATURE.name == "_ones"), list(map(Dim.of, shape)), call.element)


@converts("_arange")
def arange(call: Call) -> Value:
    """Numbers from a start on, in equal steps, below a limit; one number is the limit."""
    start, stop = call.number("start"), call.text("stop")
    if call.integer("repeat") != 1 or call.flag("infer_range"):
        raise call.unsupported("repeated numbers, or a limit that is not given")
    try:
        low, high = (0.0, start) if stop == "None" else (start, float(stop))
    except ValueError:
        raise call.invalid(f"the limit {stop!r}") from None
    bounds = (low, high, call.number("step"))
    parts = [call.at.number(each, call.element).ssa for each in bounds]
    return call.at.op(graph.RangeOp(*parts))
