"""
Numbers, vectors and sections of WebAssembly's binary format.

Source: WebAssembly Core Specification, chapter 5.
"""

from __future__ import annotations

from collections.abc import Iterable

MAGIC = b"\0asm\1\0\0\0"
"""The first bytes of each module and object: the version is 1."""
CUSTOM, TYPES, IMPORTS, FUNCTIONS, TABLES, GLOBALS, EXPORTS, ELEMENTS, CODE, DATA = (
    0,
    1,
    2,
    3,
    4,
    6,
    7,
    9,
    10,
    11,
)
"""The numbers of sections."""
I32, FUNCTION_REFERENCE, FUNCTION_TYPE = 0x7F, 0x70, 0x60
I32_CONST, END = 0x41, 0x0B


def unsigned(value: int) -> bytes:
    """A natural number, seven bits a byte."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def signed(value: int) -> bytes:
    """An integer, seven bits a byte; the highest one of the last byte is the sign."""
    out = bytearray()
    while not -0x40 <= value < 0x40:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value & 0x7F])


def text(value: str) -> bytes:
    """A name: its length and its bytes."""
    data = value.encode()
    return unsigned(len(data)) + data


def vector(items: Iterable[bytes]) -> bytes:
    """A number of items, and the items."""
    parts = list(items)
    return unsigned(len(parts)) + b"".join(parts)


def section(number: int, contents: bytes) -> bytes:
    """A section with its number and size."""
    return bytes([number]) + unsigned(len(contents)) + contents


def constant(value: int) -> bytes:
    """The expression of an i32: addresses from 2^31 on are negative ones."""
    return bytes([I32_CONST]) + signed(value - (1 << 32) if value >= 1 << 31 else value) + bytes([END])


class Bytes:
    """A reader of bytes. Each method raises ValueError where they end too early."""

    def __init__(self, data: bytes, position: int = 0):
        self.data, self.position = data, position

    @property
    def is_at_end(self) -> bool:
        """Whether no byte is left."""
        return self.position >= len(self.data)

    def take(self, count: int) -> bytes:
        """The next bytes."""
        end = self.position + count
        if end > len(self.data):
            raise ValueError("the object ends in the middle of a section")
        found = self.data[self.position : end]
        self.position = end
        return found

    def byte(self) -> int:
        """The next byte."""
        return self.take(1)[0]

    def unsigned(self) -> int:
        """A natural number of at most 64 bits."""
        value = shift = 0
        while (byte := self.byte()) & 0x80:
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number is too long")
        return value | byte << shift

    def signed(self) -> int:
        """An integer."""
        begin = self.position
        value = self.unsigned()
        bits = 7 * (self.position - begin)
        return value - (1 << bits) if value >> bits - 1 & 1 else value

    def text(self) -> str:
        """A name."""
        return self.take(self.unsigned()).decode()
