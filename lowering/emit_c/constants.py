"""Constant arrays as C: the elements of weights, with the fewest digits that read back exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.emitc import EmitC_ArrayType
from xdsl.ir import Attribute

from stepwell.lowering.emit_c.types import c_type, float_text, integer_text
from stepwell.runtime.interface import Array

_COLUMNS = 100


class ConstantArray:
    """
    An array of constants in C.

    Floats that C cannot write, infinity and NaN, are in a union with integers of the same bits.
    """

    def __init__(self, name: str, type: EmitC_ArrayType[Attribute], array: Array):
        self._values = np.ascontiguousarray(array).reshape(-1)
        self._bits = 8 * self._values.dtype.itemsize
        self._is_float = self._values.dtype.kind == "f" and self._bits >= 32
        self._in_union = self._is_float and not np.isfinite(self._values).all()
        kind, count = c_type(type.element_type), type.get_shape()[0]
        if self._in_union:
            self._head = (
                f"const union {name}_values {{ uint{self._bits}_t bits[{count}]; {kind} numbers[{count}]; }} "
            )
            self._head += name
            self.place = f"{name}.numbers"
        else:
            self._head = f"const {kind} {name}[{count}]"
            self.place = name

    def declaration(self) -> str:
        """The declaration for files that do not define it."""
        return f"extern {self._head};"

    def definition(self, *, static: bool = True) -> str:
        """The definition; `static` for one that other files do not see."""
        head = f"static {self._head}" if static else self._head
        values = self._values
        if self._in_union:
            integers = values.view(f"u{self._bits // 8}")
            numbers = [f"UINT{self._bits}_C({number})" for number in integers.tolist()]
            return _definition(head, numbers, nested=True)
        if self._is_float:
            texts = [float_text(n, 64) for n in values.tolist()] if self._bits == 64 else _f32(values)
            return _definition(head, texts)
        if self._bits == 16 and values.dtype.kind not in "iu":
            values = values.view(np.uint16)
        return _definition(head, [_integer(number, self._bits) for number in values.tolist()] or ["0"])


def address_text(type: EmitC_ArrayType[Attribute], base: str, offset: int) -> str:
    """The address of an array that is some bytes after another one."""
    return f"((const {c_type(type.element_type)} *)(const void *)((const unsigned char *){base} + {offset}))"


def _f32(values: Array) -> list[str]:
    """The texts of finite f32."""
    texts = values.astype("U").tolist()
    return [f"{text}f" if "." in text or "e" in text else f"{text}.0f" for text in texts]


def _integer(number: int | bool, bits: int) -> str:
    if isinstance(number, bool):
        return str(int(number))
    if number >= 1 << bits - 1 and bits == 64:
        return f"UINT64_C({number})"
    return f"{number}u" if number >= 1 << 31 else integer_text(number, bits)


def _definition(head: str, texts: Sequence[str], *, nested: bool = False) -> str:
    """A definition with as many elements in a line as fit."""
    lines: list[str] = []
    line = " "
    for text in texts:
        if len(line) + len(text) + 2 > _COLUMNS:
            lines.append(line)
            line = " "
        line += f" {text},"
    lines.append(line)
    opening, closing = ("{{", "}}") if nested else ("{", "}")
    return "\n".join([f"{head} = {opening}", *lines, f"{closing};"]) + "\n"
