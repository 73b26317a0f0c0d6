"""
The functions outside of linked code that it may call: of the C library, and their addresses in this process.
"""

from __future__ import annotations

import ctypes
from functools import cache

# f64 and CPUs without rounding instructions use the C library's; suffixed by f for f32.
_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil cos cosh erf exp exp10 exp2 expm1 floor fma fmax fmin "
    "fmod ldexp log log10 log1p log2 nearbyint pow rint round roundeven sin sinh sqrt tan tanh trunc"
).split()
_MEMORY = ("memcmp", "memcpy", "memmove", "memset")
# Code for Windows calls the last one for frames above a page; an exported file has it.
_SYSTEM = ("sched_yield", "syscall", "usleep", "__chkstk")
# Conversions of f16 and bf16, and divisions of wide integers, that compilers call where there is no
# instruction.
_ARITHMETIC = (
    "__extendhfsf2 __truncsfhf2 __truncdfhf2 __extendhfdf2 __gnu_h2f_ieee __gnu_f2h_ieee __truncsfbf2 "
    "__truncdfbf2 __divti3 __udivti3 __modti3 __umodti3 __multi3"
).split()
_KNOWN = frozenset([*_MATH, *(f"{name}f" for name in _MATH), *_MEMORY, *_SYSTEM, *_ARITHMETIC])
_LIBRARIES = ("libm.so.6", "libgcc_s.so.1")


def is_known(name: str) -> bool:
    """Whether linked code may call a function outside."""
    return name in _KNOWN


@cache
def address_outside(name: str) -> int:
    """
    The address of a function outside.

    Raises: ValueError for one that code may not call; OSError where this system lacks it.
    """
    if not is_known(name):
        raise ValueError(f"code may not call {name!r}")
    for library in _libraries():
        try:
            return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
        except AttributeError:
            continue
    raise OSError(f"this system has no function {name!r}, which the code calls")


@cache
def _libraries() -> tuple[ctypes.CDLL, ...]:
    """
    The libraries for mathematics and arithmetic, where they are found, then all that this process has loaded.
    """
    found: list[ctypes.CDLL] = []
    for name in (*_LIBRARIES, None):
        try:
            found.append(ctypes.CDLL(name))
        except OSError:  # the C library is one file elsewhere
            continue
    return tuple(found)
