"""Functions of numpy on expressions: operators with numbers, and errors for all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stepwell.frontend.te.places import FormulaError

_OPERATORS: Mapping[str, Callable[[Any, Any], object]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "floor_divide": lambda a, b: a // b,
    "remainder": lambda a, b: a % b,
    "power": lambda a, b: a**b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
}
_NAMES = {
    **dict.fromkeys(("exp", "expm1", "log", "log1p", "sqrt", "tanh", "sin", "cos", "tan", "sinh", "cosh")),
    **dict.fromkeys(("floor", "ceil", "trunc", "absolute", "minimum", "maximum", "isnan")),
    **{"arcsin": "asin", "arccos": "acos", "arctan": "atan", "rint": "round"},
}
"""The numpy functions that `te` has, with their names in `te` where these differ."""


def computed(name: str, operands: Sequence[Any], expression: type) -> object:
    """
    An operator of numpy's on an expression and a number.

    Raises: StepwellError `te-type` for all else.
    """
    numbers = [each.item() if getattr(each, "shape", None) == () else each for each in operands]
    if name in _OPERATORS and all(isinstance(each, expression | bool | int | float) for each in numbers):
        return _OPERATORS[name](*numbers)
    found = next((each for each in operands if isinstance(each, expression)), "of a formula")
    help = "give an array as a te.placeholder"
    if name in _NAMES:
        help = f"te.{_NAMES[name] or name} is of expressions"
    raise FormulaError("te-type", f"numpy's {name} is of arrays, found the expression `{found}`", help=help)
