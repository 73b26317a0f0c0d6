"""Types and numbers of `emitc` as C has them, and names as identifiers."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import cast

import numpy as np
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    Signedness,
)
from xdsl.dialects.emitc import EmitC_OpaqueType, EmitC_PointerType
from xdsl.ir import Attribute

from stepwell.runtime.errors import StepwellError

_INT_BITS = 31
"""Numbers of fewer bits are of type `int`, or narrower, on all machines that have `int32_t`."""


def c_type(type: Attribute, *, const: bool = False) -> str:
    """The C spelling of a type; that of a pointer ends in `*`."""
    match type:
        case IntegerType(width=width):
            if width.data == 1:
                return "_Bool"
            if width.data in (8, 16, 32, 64):
                return f"{'u' if type.signedness.data is Signedness.UNSIGNED else ''}int{width.data}_t"
        case IndexType():
            return "ptrdiff_t"
        case Float32Type():
            return "float"
        case Float64Type():
            return "double"
        case Float16Type() | BFloat16Type():
            return "uint16_t"
        case EmitC_OpaqueType(value=value):
            return value.data
        case EmitC_PointerType(pointee_type=pointee):
            inner = c_type(pointee)
            return f"{'const ' if const else ''}{inner}{'' if inner.endswith('*') else ' '}*"
        case _:
            pass
    raise StepwellError("unsupported", None, f"C has no type for {type}")


def declared(type: Attribute, name: str, *, const: bool = False) -> str:
    """The declaration of a variable; `const` makes the pointee of a pointer constant."""
    text = c_type(type, const=const)
    return f"{text}{'' if text.endswith('*') else ' '}{name}"


def float_text(number: float, bits: int) -> str:
    """A finite number with the fewest digits that read back exactly."""
    if bits == 32:
        return f"{_with_point(str(np.float32(number)))}f"
    return _with_point(repr(float(number)))


def _with_point(text: str) -> str:
    return text if any(c in text for c in ".e") else f"{text}.0"


def integer_text(number: int, bits: int) -> str:
    """A C literal of a signed integer."""
    if number == -(1 << bits - 1) and bits >= 32:
        return f"INT{bits}_MIN"
    if -(1 << _INT_BITS) < number < 1 << _INT_BITS:
        return str(number)
    return f"INT64_C({number})"


def constant_text(value: IntegerAttr | FloatAttr) -> str:
    """
    A C literal of a constant; infinities and NaN are calls of `f32_of_bits` or `f64_of_bits`, and indices of
    more than 32 bits calls of `index_of_i64`, which gives the nearest that the machine has.
    """
    type = value.type if isinstance(value, FloatAttr) else value.get_type()
    if isinstance(value, FloatAttr):
        return _float_constant(value.value.data, type)
    number = value.value.data
    if isinstance(type, IndexType):
        text = integer_text(number, 64)
        return text if text.lstrip("-").isdigit() else f"index_of_i64({text})"
    integer = cast(IntegerType, type)
    width = integer.width.data
    if width == 1:
        return str(number & 1)
    if integer.signedness.data is Signedness.UNSIGNED:
        return f"{number % (1 << width)}u" if width <= 32 else f"UINT64_C({number % (1 << width)})"
    return integer_text((number + (1 << width - 1)) % (1 << width) - (1 << width - 1), width)


def _float_constant(number: float, type: Attribute) -> str:
    match type:
        case Float16Type():
            return str(int(np.float16(number).view(np.uint16)))
        case BFloat16Type():
            (bits,) = struct.unpack("<I", struct.pack("<f", number))
            return str(bits >> 16)
        case Float64Type():
            if math.isfinite(number):
                return float_text(number, 64)
            (bits,) = struct.unpack("<q", struct.pack("<d", number))
            return f"f64_of_bits({integer_text(bits, 64)})"
        case _:
            if np.isfinite(np.float32(number)):
                return float_text(number, 32)
            (bits,) = struct.unpack("<i", struct.pack("<f", number))
            return f"f32_of_bits({integer_text(bits, 32)})"


_WORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while _Bool _Complex _Imaginary main index
    """.split()
)


class Names:
    """Allocator of the identifiers of a scope, which are unique in it."""

    def __init__(self, taken: Iterable[str] = ()):
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def new(self, hint: str | None) -> str:
        """A new identifier: the hint, with a number where that is taken."""
        text = "".join(c if c.isascii() and c.isalnum() else "_" for c in hint or "v").strip("_") or "v"
        if text[0].isdigit() or text in _WORDS or text.startswith("stepwell"):
            text = f"v_{text}"
        name = text
        while name in self._taken:
            self._next[text] = self._next.get(text, 1) + 1
            name = f"{text}_{self._next[text]}"
        self._taken.add(name)
        return name
