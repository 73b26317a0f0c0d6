"""
The functions of the C library and of compilers' libraries that code calls by itself, as LLVM IR.

An exported file defines them: those that its code calls, and no others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

from stepwell.lowering.export.c_library.integers import DIVISIONS, PRODUCT
from stepwell.lowering.export.c_library.memory import arm_memory_code, memory_code
from stepwell.lowering.export.c_library.riscv_names import riscv_names_code
from stepwell.lowering.export.c_library.roundings import roundings_code
from stepwell.lowering.export.c_library.soft_arithmetic import ARITHMETIC, PARTS
from stepwell.lowering.export.c_library.soft_conversions import CONVERSIONS, comparisons_code

_NAME = re.compile(r"@(\w+)\(")
_REFERENCE = re.compile(r"@([\w.]+)")
# Without `no-builtins`, LLVM would make calls of memcpy out of its loop.
_ATTRIBUTES = 'attributes #0 = { nounwind "no-builtins" }\n'
_INTRINSICS = """
declare float @llvm.fabs.f32(float)
declare float @llvm.copysign.f32(float, float)
declare double @llvm.fabs.f64(double)
declare double @llvm.copysign.f64(double, double)
declare i64 @llvm.ctlz.i64(i64, i1)
"""


@cache
def library_functions(arch: str, pointer_bytes: int) -> Mapping[str, str]:
    """The definition of each function for an architecture, by name; some are internal to the others."""
    parts = [memory_code(pointer_bytes), roundings_code()]
    if arch == "wasm32":
        parts.append(PRODUCT)
    elif arch in ("armv7", "thumb", "riscv32"):
        parts += [DIVISIONS, PARTS, ARITHMETIC, CONVERSIONS, comparisons_code()]
        parts.append(riscv_names_code() if arch == "riscv32" else arm_memory_code(pointer_bytes))
    found: dict[str, str] = {}
    for part in parts:
        for text in part.split("\ndefine ")[1:]:
            found[_NAME.findall(text)[0]] = f"define {text.rstrip()}\n"
    return found


def library_code(names: Iterable[str], arch: str, pointer_bytes: int) -> str:
    """The IR of some functions and of their callees."""
    known = library_functions(arch, pointer_bytes)
    wanted, waiting = dict[str, str](), [name for name in names if name in known]
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted[name] = known[name]
            waiting += [other for other in _REFERENCE.findall(known[name]) if other in known]
    return "".join(text for name, text in known.items() if name in wanted) + _INTRINSICS + _ATTRIBUTES
