"""
Reader of MessagePack, the format in which code objects of AMD describe their kernels.

Source: the MessagePack specification, msgpack.org.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

_DEEPEST = 32
_FLOATS: Mapping[int, str] = {0xCA: ">f", 0xCB: ">d"}
_NUMBERS: Mapping[int, str] = {
    0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q", 0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q", **_FLOATS
}  # fmt: skip
_SIZES: Mapping[int, str] = {
    0xD9: ">B", 0xDA: ">H", 0xDB: ">I",  # strings
    0xDC: ">H", 0xDD: ">I",  # lists
    0xDE: ">H", 0xDF: ">I",  # maps
}  # fmt: skip


def unpacked(data: bytes) -> object:
    """The value of a text in MessagePack. Raises: ValueError for what is none, or is cut off."""
    reader = _Reader(data)
    found = reader.value(0)
    if reader.at != len(data):
        raise ValueError("there are bytes after the value")
    return found


class _Reader:
    """A place in the bytes."""

    def __init__(self, data: bytes):
        self._data, self.at = data, 0

    def value(self, depth: int) -> object:
        """The next value."""
        if depth > _DEEPEST:
            raise ValueError("values are inside one another without end")
        first = self._number(">B")
        if first < 0x80 or first >= 0xE0:
            return first if first < 0x80 else first - 0x100
        if first in (0xC0, 0xC2, 0xC3):
            return {0xC0: None, 0xC2: False, 0xC3: True}[first]
        if first in _NUMBERS:
            return self._number(_NUMBERS[first])
        kind, size = self._sized(first)
        return kind(size, depth + 1)

    def _sized(self, first: int) -> tuple[Callable[[int, int], object], int]:
        """The reader of a string, a list or a map, and its size."""
        if first < 0xC0:
            kind = self._map if first < 0x90 else self._list if first < 0xA0 else self._string
            return kind, first & (0x1F if first >= 0xA0 else 0xF)
        if first not in _SIZES:
            raise ValueError(f"a value of kind {first:#x} is not expected")
        kind = self._string if first < 0xDC else self._list if first < 0xDE else self._map
        return kind, int(self._number(_SIZES[first]))

    def _number(self, format: str) -> int:
        return struct.unpack(format, self._bytes(struct.calcsize(format)))[0]

    def _bytes(self, size: int) -> bytes:
        if self.at + size > len(self._data):
            raise ValueError("the text is cut off")
        self.at += size
        return self._data[self.at - size : self.at]

    def _string(self, size: int, depth: int) -> str:
        return self._bytes(size).decode("utf-8", "replace")

    def _list(self, size: int, depth: int) -> list[object]:
        return [self.value(depth) for _ in range(size)]

    def _map(self, size: int, depth: int) -> dict[str, object]:
        return {str(self.value(depth)): self.value(depth) for _ in range(size)}
