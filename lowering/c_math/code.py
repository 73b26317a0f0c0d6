"""The functions of `math.h` by name, as LLVM IR; those of f32 compute in f64, and round once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from stepwell.lowering.c_math.builder import Function, Value
from stepwell.lowering.c_math.c_builder import CFunction
from stepwell.lowering.c_math.exponential import (
    exponential,
    logarithm,
    logarithm_of_base,
    logarithm_of_next,
    minus_one,
    power,
    power_of_two,
)
from stepwell.lowering.c_math.hyperbolic import (
    acosh,
    asinh,
    atanh,
    cosh,
    cube_root,
    error_function,
    sinh,
    tanh,
)
from stepwell.lowering.c_math.trigonometric import (
    TABLE,
    arccosine,
    arcsine,
    arctangent,
    arctangent_of_two,
    cosine,
    sine,
    table_words,
    tangent,
)

_OF_ONE: Mapping[str, Callable[[Function, Value], Value]] = {
    "acos": arccosine,
    "acosh": acosh,
    "asin": arcsine,
    "asinh": asinh,
    "atan": arctangent,
    "atanh": atanh,
    "cbrt": cube_root,
    "cos": cosine,
    "cosh": cosh,
    "erf": error_function,
    "exp": exponential,
    "exp2": power_of_two,
    "expm1": minus_one,
    "log": logarithm,
    "log10": lambda f, x: logarithm_of_base(
        f, x, 4.34294481903251816668e-01, 3.01029995663611771306e-01, 3.69423907715893078616e-13
    ),
    "log1p": logarithm_of_next,
    "log2": lambda f, x: logarithm_of_base(f, x, 1.4426950408889634, 1.0, 0.0),
    "sin": sine,
    "sinh": sinh,
    "tan": tangent,
    "tanh": tanh,
}
_OF_TWO: Mapping[str, Callable[[Function, Value, Value], Value]] = {"atan2": arctangent_of_two, "pow": power}
_NAMES = (*_OF_ONE, *_OF_TWO)
WIDE_FUNCTIONS = frozenset(_NAMES)
"""The functions of f64."""
MATH_FUNCTIONS = frozenset([*_NAMES, *(f"{name}f" for name in _NAMES)])
"""The functions that an exported file may have."""
_DECLARED = """
declare double @llvm.fabs.f64(double)
declare double @llvm.copysign.f64(double, double)
declare double @llvm.sqrt.f64(double)
declare i32 @llvm.smax.i32(i32, i32)
declare i32 @llvm.smin.i32(i32, i32)
; Without it, LLVM would make calls of these functions out of their own code.
attributes #0 = { nounwind "no-builtins" }
"""


def math_code(names: Iterable[str]) -> str:
    """The IR of mathematical functions, and of the f64 functions that f32 functions call."""
    wanted = sorted(names)
    wide = sorted({name if name in _NAMES else name.removesuffix("f") for name in wanted})
    texts = [_table_code(), *map(_wide, wide), *(_narrow(name) for name in wanted if name not in _NAMES)]
    return "".join(texts) + _DECLARED


def _table_code() -> str:
    numbers = ", ".join(f"i32 {word}" for word in table_words())
    return f"@{TABLE} = private constant [{len(table_words())} x i32] [{numbers}]\n"


def c_function(name: str) -> CFunction:
    """A function of f64 as C, such as that of `sin`: `f64_sin`. Raises: KeyError for a name that is none."""
    f = CFunction(name, _arguments(name))
    f.text = _written(f, name)
    return f


def c_table() -> str:
    """The table of `f64_sin` and its relatives in C."""
    numbers = ", ".join(f"{word}u" for word in table_words())
    return f"static const uint32_t {TABLE}[{len(table_words())}] = {{{numbers}}};\n"


def _arguments(name: str) -> int:
    return 1 + (name in _OF_TWO)


def _wide(name: str) -> str:
    return _written(Function(name, _arguments(name)), name)


def _written(f: Function, name: str) -> str:
    if name in _OF_TWO:
        return f.finish(_OF_TWO[name](f, f.argument(0), f.argument(1)))
    return f.finish(_OF_ONE[name](f, f.argument()))


def _narrow(name: str) -> str:
    wide = name.removesuffix("f")
    f = Function(name, 1 + (wide in _OF_TWO), "float")
    operands = [f.convert("fpext", f.argument(number), "double") for number in range(f.arguments)]
    return f.finish(f.convert("fptrunc", f.call(wide, operands), "float"))
