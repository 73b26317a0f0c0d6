"""Kernels as loops in a small part of Python: `from stepwell.script import script, grid, Buffer, Out`."""

from stepwell.frontend.script.language import (
    FUNCTIONS,
    Buffer,
    Out,
    alloc,
    block,
    copy,
    grid,
    op,
    parallel,
    reduce,
    rsqrt,
    select,
    sigmoid,
    spatial,
    truncdiv,
    truncmod,
    unrolled,
    vectorized,
)
from stepwell.frontend.script.language import cast_to as cast
from stepwell.tools.api.loop_scripts import Script, script

absolute = FUNCTIONS["absolute"]
acos = FUNCTIONS["acos"]
acosh = FUNCTIONS["acosh"]
asin = FUNCTIONS["asin"]
asinh = FUNCTIONS["asinh"]
atan = FUNCTIONS["atan"]
atanh = FUNCTIONS["atanh"]
ceil = FUNCTIONS["ceil"]
cos = FUNCTIONS["cos"]
cosh = FUNCTIONS["cosh"]
erf = FUNCTIONS["erf"]
exp = FUNCTIONS["exp"]
expm1 = FUNCTIONS["expm1"]
floor = FUNCTIONS["floor"]
isnan = FUNCTIONS["isnan"]
log = FUNCTIONS["log"]
log1p = FUNCTIONS["log1p"]
maximum = FUNCTIONS["maximum"]
minimum = FUNCTIONS["minimum"]
power = FUNCTIONS["power"]
round = FUNCTIONS["round"]
sin = FUNCTIONS["sin"]
sinh = FUNCTIONS["sinh"]
sqrt = FUNCTIONS["sqrt"]
tan = FUNCTIONS["tan"]
tanh = FUNCTIONS["tanh"]
trunc = FUNCTIONS["trunc"]

__all__ = [
    "Buffer",
    "Out",
    "Script",
    "absolute",
    "acos",
    "acosh",
    "alloc",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "block",
    "cast",
    "ceil",
    "copy",
    "cos",
    "cosh",
    "erf",
    "exp",
    "expm1",
    "floor",
    "grid",
    "isnan",
    "log",
    "log1p",
    "maximum",
    "minimum",
    "op",
    "parallel",
    "power",
    "reduce",
    "round",
    "rsqrt",
    "script",
    "select",
    "sigmoid",
    "sin",
    "sinh",
    "spatial",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    "truncdiv",
    "truncmod",
    "unrolled",
    "vectorized",
]
