"""Elementwise operators of the library; operands broadcast."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any

from stepwell.frontend.te import functions
from stepwell.frontend.te.functions import FUNCTIONS, if_then_else, select
from stepwell.frontend.te.library.shapes import mapped
from stepwell.frontend.te.places import FormulaError
from stepwell.frontend.te.tensors import Tensor

_exp, _erf, _tanh, _log1p = (FUNCTIONS[name] for name in ("exp", "erf", "tanh", "log1p"))


def unary(x: Tensor, name: str) -> Tensor:
    """A function of each element: `exp`, `sqrt`, `sin`, … Raises: StepwellError `te-type`."""
    if name not in FUNCTIONS:
        raise FormulaError(
            "te-type", f"no function is named {name!r}; there are {', '.join(sorted(FUNCTIONS))}"
        )
    return mapped(name, FUNCTIONS[name], x)


def binary(a: Tensor, b: Tensor, function: Callable[[Any, Any], Any], name: str = "binary") -> Tensor:
    """A function of two elements."""
    return mapped(name, function, a, b)


def add(a: Tensor, b: Tensor) -> Tensor:
    """a + b."""
    return mapped("add", lambda x, y: x + y, a, b)


def subtract(a: Tensor, b: Tensor) -> Tensor:
    """a - b."""
    return mapped("subtract", lambda x, y: x - y, a, b)


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """a * b."""
    return mapped("multiply", lambda x, y: x * y, a, b)


def divide(a: Tensor, b: Tensor) -> Tensor:
    """a / b of floats."""
    return mapped("divide", lambda x, y: x / y, a, b)


def maximum(a: Tensor, b: Tensor) -> Tensor:
    """The greater element; NaN if one is."""
    return mapped("maximum", functions.maximum, a, b)


def minimum(a: Tensor, b: Tensor) -> Tensor:
    """The lesser element; NaN if one is."""
    return mapped("minimum", functions.minimum, a, b)


def power(a: Tensor, b: Tensor) -> Tensor:
    """a ** b of floats."""
    return mapped("power", functions.power, a, b)


def where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Elements of a where a condition holds, else of b."""
    return mapped("where", select, condition, a, b)


def clip(x: Tensor, low: float, high: float) -> Tensor:
    """Elements bounded by two numbers."""
    return mapped("clip", lambda v: functions.minimum(functions.maximum(v, low), high), x)


def relu(x: Tensor) -> Tensor:
    """max(x, 0)."""
    return mapped("relu", lambda v: functions.maximum(v, 0), x)


def leaky_relu(x: Tensor, alpha: float = 0.01) -> Tensor:
    """x where it is not negative, else alpha * x."""
    return mapped("leaky_relu", lambda v: select(v < 0, v * alpha, v), x)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """x where it is not negative, else alpha * (exp(x) - 1)."""
    return mapped("elu", lambda v: if_then_else(v < 0, FUNCTIONS["expm1"](v) * alpha, v), x)


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return mapped("sigmoid", FUNCTIONS["sigmoid"], x)


def silu(x: Tensor) -> Tensor:
    """x * sigmoid(x)."""
    return mapped("silu", lambda v: v * FUNCTIONS["sigmoid"](v), x)


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """x / 2 * (1 + erf(x / sqrt(2))), or its form with tanh."""
    if approximate == "tanh":
        scale = sqrt(2 / pi)
        return mapped("gelu", lambda v: v / 2 * (1 + _tanh(scale * (v + 0.044715 * (v * v * v)))), x)
    return mapped("gelu", lambda v: v / 2 * (1 + _erf(v * sqrt(0.5))), x)


def softplus(x: Tensor) -> Tensor:
    """log(1 + exp(x)), without an overflow."""
    return mapped("softplus", lambda v: functions.maximum(v, 0) + _log1p(_exp(-abs(v))), x)
