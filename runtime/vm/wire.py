"""Numbers, texts and lists of them as bytes: LEB128, with bounds checked before anything is allocated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

VERSION = 2
"""The version of bytecode."""
_MAX_BITS = 64


class Writer:
    """Bytes that grow."""

    def __init__(self) -> None:
        self.data = bytearray()

    def number(self, value: int) -> None:
        """A number that is not negative."""
        while value > 0x7F:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def integer(self, value: int) -> None:
        """A signed number."""
        while not -64 <= value < 64:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value & 0x7F)

    def option(self, value: int | None) -> None:
        """A number that is not negative, or none."""
        self.number(0 if value is None else value + 1)

    def numbers(self, values: Iterable[int]) -> None:
        """A list of numbers after its length."""
        values = list(values)
        self.number(len(values))
        for value in values:
            self.number(value)

    def block(self, data: bytes) -> None:
        """Bytes after their number."""
        self.number(len(data))
        self.data += data


class Reader:
    """
    A position in bytes from an unknown source.

    Raises of all methods: ValueError where the bytes end too early, or say what cannot be.
    """

    def __init__(self, data: bytes):
        self._data = data
        self.position = 0

    @property
    def left(self) -> int:
        """The number of bytes that are left."""
        return len(self._data) - self.position

    def skip(self, count: int) -> None:
        """Leave bytes out."""
        for _ in range(count):
            self.byte()

    def byte(self) -> int:
        """The next byte."""
        if self.position >= len(self._data):
            raise ValueError("it ends too early")
        self.position += 1
        return self._data[self.position - 1]

    def number(self, below: int = 1 << 63) -> int:
        """A number from 0 on, less than `below`."""
        value = self._leb()[0]
        if value >= below:
            raise ValueError(f"the number {value} must be less than {below}")
        return value

    def integer(self) -> int:
        """A signed number of 64 bits."""
        value, bits = self._leb()
        value -= (value >> (bits - 1)) << bits
        if not -(1 << 63) <= value < 1 << 63:
            raise ValueError("a number has more than 64 bits")
        return value

    def _leb(self) -> tuple[int, int]:
        value = bits = 0
        while bits <= _MAX_BITS:
            byte = self.byte()
            value |= (byte & 0x7F) << bits
            bits += 7
            if byte < 0x80:
                return value, bits
        raise ValueError("a number has more than 64 bits")

    def many(self, read: Callable[[], T]) -> tuple[T, ...]:
        """A list after its length; an item has at least one byte."""
        count = self.number(self.left + 1)
        return tuple(read() for _ in range(count))

    def option(self) -> int | None:
        """A number from 0 on, or none."""
        value = self.number()
        return value - 1 if value else None

    def numbers(self, below: int = 1 << 63) -> tuple[int, ...]:
        """A list of numbers."""
        return self.many(lambda: self.number(below))

    def block(self) -> bytes:
        """Bytes after their number."""
        count = self.number(self.left + 1)
        self.position += count
        return self._data[self.position - count : self.position]
