"""Functions of numpy on expressions: operators with numbers, and errors for all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stepwell.frontend.te.expressions import Expr
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
_WORDS = {"arcsin": "asin", "arccos": "acos", "arctan": "atan", "rint": "round"}
"""The words of `te` for functions that numpy calls otherwise."""


def computed(name: str, operands: Sequence[Any]) -> object:
    """An operator of numpy's on an expression and a number. Raises: StepwellError `te-type` for all else."""
    numbers = [each.item() if getattr(each, "shape", None) == () else each for each in operands]
    if name in _OPERATORS and all(isinstance(each, Expr | bool | int | float) for each in numbers):
        return _OPERATORS[name](*numbers)
    found = next((each for each in operands if isinstance(each, Expr)), "of a formula")
    from stepwell.frontend.te.functions import FUNCTIONS

    word = _WORDS.get(name, name)
    help = f"te.{word} is of expressions" if word in FUNCTIONS else "give an array as a te.placeholder"
    raise FormulaError("te-type", f"numpy's {name} is of arrays, found the expression `{found}`", help=help)
