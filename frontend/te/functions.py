"""Functions on expressions: mathematics with numpy's meaning, conditions, choices, conversions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stepwell.frontend.te.expressions import (
    BOOL,
    Call,
    Dtype,
    Expr,
    Number,
    Operand,
    Read,
    arithmetic,
    expression,
    of_floats,
    of_integers,
    together,
)
from stepwell.frontend.te.places import FormulaError
from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

FLOAT_FUNCTIONS = (
    *("exp", "expm1", "log", "log1p", "sqrt", "rsqrt", "erf", "sigmoid", "tanh"),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh"),
    *("floor", "ceil", "round", "trunc"),
)
"""The functions of one float: each is the `math` op of its name, or a formula of `math` ops."""


def _function(name: str) -> Callable[[Operand], Expr]:
    def function(x: Operand) -> Expr:
        return of_floats(name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name}(x) of a float, as numpy's."
    return function


FUNCTIONS = {name: _function(name) for name in FLOAT_FUNCTIONS}


def power(x: Operand, y: Operand) -> Expr:
    """x ** y of floats."""
    return of_floats("power", x, y)


def minimum(a: Operand, b: Operand) -> Expr:
    """The lesser number; NaN if one is NaN."""
    return arithmetic("minimum", a, b)


def maximum(a: Operand, b: Operand) -> Expr:
    """The greater number; NaN if one is NaN."""
    return arithmetic("maximum", a, b)


def absolute(x: Operand) -> Expr:
    """|x|."""
    return abs(expression(x))


def isnan(x: Operand) -> Expr:
    """Whether a float is NaN."""
    return Call("isnan", of_floats("isnan", x).parts, BOOL)


def floordiv(a: Operand, b: Operand) -> Expr:
    """⌊a / b⌋ of integers; 0 for b = 0."""
    return of_integers("floordiv", a, b)


def floormod(a: Operand, b: Operand) -> Expr:
    """a - b * ⌊a / b⌋ of integers, with the sign of b; 0 for b = 0."""
    return of_integers("floormod", a, b)


def truncdiv(a: Operand, b: Operand) -> Expr:
    """a / b of integers, rounded towards 0; 0 for b = 0."""
    return of_integers("truncdiv", a, b)


def truncmod(a: Operand, b: Operand) -> Expr:
    """a - b * truncdiv(a, b) of integers, with the sign of a; 0 for b = 0."""
    return of_integers("truncmod", a, b)


def cast_to(x: Operand, dtype: npt.DTypeLike) -> Expr:
    """A number in another type: floats to integers truncate and saturate, narrower integers wrap."""
    value, to = expression(x), dtype_named(dtype)
    return value if value.dtype == to else Call("cast", [value], to)


def dtype_named(dtype: npt.DTypeLike) -> Dtype:
    """The name of an element type, by a numpy type or a name. Raises: StepwellError `te-type`."""
    if isinstance(dtype, str) and dtype in _USUAL:
        return dtype
    from stepwell.dialects.types import element_of
    from stepwell.runtime.interface import dtype_from_name

    try:
        found = dtype_from_name(dtype) if isinstance(dtype, str) else np_dtype(dtype)
        element_of(found)
    except (TypeError, ValueError, StepwellError):
        raise FormulaError("te-type", f"there is no element type {dtype!r}") from None
    if found.kind == "c":
        raise FormulaError(
            "te-type", "formulas have no complex numbers", help="compute the two parts by a tuple"
        )
    return found.name


_USUAL = ("float32", "float64", "float16", "bfloat16", "bool", "int8", "int32", "int64", "uint8")


def np_dtype(dtype: npt.DTypeLike) -> np.dtype[np.generic]:
    """A numpy type. Raises: TypeError."""
    import numpy as np

    return np.dtype(dtype)


def conjunction(*conditions: Expr | bool) -> Expr:
    """Whether all conditions hold."""
    return _joined("all", conditions)


def disjunction(*conditions: Expr | bool) -> Expr:
    """Whether any of the conditions holds."""
    return _joined("any", conditions)


def negation(condition: Expr) -> Expr:
    """Whether a condition does not hold."""
    return Call("not_", [_condition(condition)], BOOL)


def _joined(name: str, conditions: tuple[Expr | bool, ...]) -> Expr:
    made = [_condition(condition) for condition in conditions]
    if not made:
        return Number(name == "all", BOOL)
    joined = made[0]
    for each in made[1:]:
        joined = Call(name, [joined, each], BOOL)
    return joined


def _condition(value: object) -> Expr:
    made = expression(value)
    if made.dtype != BOOL:
        raise FormulaError("te-type", f"`{made}` is a {made.dtype}, expected a condition")
    return made


def select(condition: Expr, a: Operand, b: Operand) -> Expr:
    """a where the condition holds, else b; both are computed, so that both must be readable."""
    return _choice("select", condition, a, b)


def if_then_else(condition: Expr, a: Operand, b: Operand) -> Expr:
    """a where the condition holds, else b; the other side reads nothing."""
    return _choice("if_then_else", condition, a, b)


def _choice(name: str, condition: Expr, a: Operand, b: Operand) -> Expr:
    values = together(f"te.{name}", a, b)
    return Call(name, [_condition(condition), *values], values[0].dtype)


def clamped(read: Expr) -> Expr:
    """An element of a tensor; indices that are out of bounds are replaced by the nearest legal ones."""
    found = _element("clamped", read)
    return Read(found.tensor, found.indices, is_clamped=True)


def checked(read: Expr) -> Expr:
    """An element of a tensor whose indices are checked when the code runs: outside, the call is an error."""
    found = _element("checked", read)
    return Read(found.tensor, found.indices, is_checked=True)


def _element(name: str, read: object) -> Read:
    if not isinstance(read, Read):
        message = f"te.{name} is for an element of a tensor, such as a[idx[i]], found `{read}`"
        raise FormulaError("te-bounds", message)
    return read
