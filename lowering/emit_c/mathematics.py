"""The functions of `math.h` in a C file: `f64_sin`, and `f32_sin`, which computes in f64 and rounds once."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from stepwell.lowering.c_math import TABLE, WIDE_FUNCTIONS, c_function, c_table

MATHEMATICS = frozenset(f"{type}_{name}" for type in ("f32", "f64") for name in WIDE_FUNCTIONS)
"""The names of the functions."""
_CALL = re.compile(r"\b(f64_\w+)\(")
_FRAME_BYTES = 64


def mathematics_text(called: Iterable[str]) -> str:
    """The functions of some names with their callees, which come first."""
    texts: dict[str, str] = {}
    for name in called:
        _add(name, texts)
    text = "\n".join(texts.values())
    return f"{c_table()}\n{text}" if f"{TABLE}[" in text else text


def _add(name: str, texts: dict[str, str]) -> None:
    if name in texts or name not in MATHEMATICS:
        return
    text = _text(name)
    for callee in _CALL.findall(text.partition("{")[2]):
        _add(callee, texts)
    texts[name] = text


@cache
def _text(name: str) -> str:
    wide = name.partition("_")[2]
    function = c_function(wide)
    if name.startswith("f64"):
        return function.text
    arguments = ", ".join(f"float a{number}" for number in range(function.arguments))
    values = ", ".join(f"(double)a{number}" for number in range(function.arguments))
    return f"static float {name}({arguments}) {{\n  return (float)f64_{wide}({values});\n}}\n"


@cache
def mathematics_stack_bytes(name: str) -> int:
    """The stack of a call; 0 for a function that is none of these."""
    if name not in MATHEMATICS:
        return 0
    own = c_function(name.partition("_")[2]).stack_bytes + _FRAME_BYTES
    callees = {f"f64_{callee[4:]}" for callee in _CALL.findall(_text(name).partition("{")[2])} - {name}
    return own + max(map(mathematics_stack_bytes, callees), default=0)
