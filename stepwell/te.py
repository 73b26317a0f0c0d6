"""Operators as formulas: `from stepwell import te`."""

from importlib import import_module
from typing import TYPE_CHECKING

from stepwell.frontend.te.expressions import Axis, Expr, Size
from stepwell.frontend.te.functions import FUNCTIONS as _FUNCTIONS
from stepwell.frontend.te.functions import (
    absolute,
    checked,
    clamped,
    floordiv,
    floormod,
    if_then_else,
    isnan,
    maximum,
    minimum,
    power,
    select,
    truncdiv,
    truncmod,
)
from stepwell.frontend.te.functions import absolute as abs
from stepwell.frontend.te.functions import cast_to as cast
from stepwell.frontend.te.functions import conjunction as all
from stepwell.frontend.te.functions import disjunction as any
from stepwell.frontend.te.functions import negation as not_
from stepwell.frontend.te.operator import operator
from stepwell.frontend.te.reducers import Reducer, argmax, argmin, reducer
from stepwell.frontend.te.reducers import greatest as max
from stepwell.frontend.te.reducers import least as min
from stepwell.frontend.te.reducers import product_of as prod
from stepwell.frontend.te.reducers import sum_of as sum
from stepwell.frontend.te.strategy import strategy
from stepwell.frontend.te.tensors import Tensor, compute, placeholder, reduce_axis, var

if TYPE_CHECKING:
    from stepwell.frontend.te import library
    from stepwell.frontend.te.scan import scan
    from stepwell.tools.api.externs import extern
    from stepwell.tools.api.formulas import build, create_schedule, interpret, lower
    from stepwell.tools.api.intrinsics import intrinsic
    from stepwell.tools.api.schedule_stages import Intrinsic
    from stepwell.tools.api.schedules import Schedule

exp = _FUNCTIONS["exp"]
expm1 = _FUNCTIONS["expm1"]
log = _FUNCTIONS["log"]
log1p = _FUNCTIONS["log1p"]
sqrt = _FUNCTIONS["sqrt"]
rsqrt = _FUNCTIONS["rsqrt"]
erf = _FUNCTIONS["erf"]
sigmoid = _FUNCTIONS["sigmoid"]
tanh = _FUNCTIONS["tanh"]
sin = _FUNCTIONS["sin"]
cos = _FUNCTIONS["cos"]
tan = _FUNCTIONS["tan"]
asin = _FUNCTIONS["asin"]
acos = _FUNCTIONS["acos"]
atan = _FUNCTIONS["atan"]
sinh = _FUNCTIONS["sinh"]
cosh = _FUNCTIONS["cosh"]
asinh = _FUNCTIONS["asinh"]
acosh = _FUNCTIONS["acosh"]
atanh = _FUNCTIONS["atanh"]
floor = _FUNCTIONS["floor"]
ceil = _FUNCTIONS["ceil"]
round = _FUNCTIONS["round"]
trunc = _FUNCTIONS["trunc"]

__all__ = [
    "Axis",
    "Expr",
    "Intrinsic",
    "Reducer",
    "Schedule",
    "Size",
    "Tensor",
    "abs",
    "absolute",
    "acos",
    "acosh",
    "all",
    "any",
    "argmax",
    "argmin",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "build",
    "cast",
    "ceil",
    "checked",
    "clamped",
    "compute",
    "cos",
    "cosh",
    "create_schedule",
    "erf",
    "exp",
    "expm1",
    "extern",
    "floor",
    "floordiv",
    "floormod",
    "if_then_else",
    "interpret",
    "intrinsic",
    "isnan",
    "library",
    "log",
    "log1p",
    "lower",
    "max",
    "maximum",
    "min",
    "minimum",
    "not_",
    "operator",
    "placeholder",
    "power",
    "prod",
    "reduce_axis",
    "reducer",
    "round",
    "rsqrt",
    "scan",
    "select",
    "sigmoid",
    "sin",
    "sinh",
    "sqrt",
    "strategy",
    "sum",
    "tan",
    "tanh",
    "trunc",
    "truncdiv",
    "truncmod",
    "var",
]


_LATE = {
    "Intrinsic": "tools.api.schedule_stages",
    "Schedule": "tools.api.schedules",
    "extern": "tools.api.externs",
    "intrinsic": "tools.api.intrinsics",
    "scan": "frontend.te.scan",
    **dict.fromkeys(("build", "create_schedule", "interpret", "lower"), "tools.api.formulas"),
}
"""The modules of names that need the compiler: imported when first used."""


def __getattr__(name: str) -> object:
    """A name that needs the compiler, such as `build`; or `library`."""
    if name == "library":
        return import_module("stepwell.frontend.te.library")
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"stepwell.{_LATE[name]}"), name)
