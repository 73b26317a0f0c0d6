"""Linked machine code: what a loader maps into memory, and calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from stepwell.runtime.json_values import as_mapping, as_size, as_sizes, as_texts

POINTER_BYTES = 8
# A page is the unit of memory protection; Linux on aarch64 may have pages of 64 KiB.
PAGE_BYTES: Mapping[str, int] = {"x86_64": 1 << 12, "aarch64": 1 << 16}
MAX_IMAGE_BYTES = 1 << 30
"""The limit of an image: distances inside of it fit 32 bits, with room."""


class LinkedCode(NamedTuple):
    """
    Position-independent machine code in one piece: functions, then constants, then a table of addresses.

    In memory there is a gap after the functions, up to the next page: functions are executable, the others
    constant. The table has a slot for each function outside of the image, and is zero until a loader writes
    the addresses of this process into it.
    """

    contents: bytes
    """Functions, then, without the gap, constants and table."""
    text_bytes: int
    """The size of the functions."""
    data_offset: int
    """The offset in memory of what is not executable: a multiple of the page size."""
    outside: tuple[str, ...]
    """The names of the functions outside, in the order of the table."""
    functions: Mapping[str, tuple[int, int]]
    """Offset and size of each function by its name, bodies of parallel loops (`k.body0`) too."""
    frames: tuple[int, int] = (0, 0)
    """Offset in memory and size of the frames for unwinding (`.eh_frame`)."""
    debug: bytes = b""
    """The debug file, where the code was made with lines: an ELF file that is not loaded."""

    @property
    def pieces(self) -> tuple[bytes, ...]:
        """The bytes of the code in a file, as `from_json` gets them."""
        return (self.contents, self.debug) if self.debug else (self.contents,)

    def checked(self) -> LinkedCode:
        """The code itself. Raises: ValueError for offsets and sizes that contradict each other."""
        page, gap = min(PAGE_BYTES.values()), self.data_offset - self.text_bytes
        if self.memory_bytes > MAX_IMAGE_BYTES:
            raise ValueError(f"code has {self.memory_bytes} bytes, more than {MAX_IMAGE_BYTES}")
        if not 0 <= self.text_bytes <= len(self.contents) or not 0 <= gap < max(PAGE_BYTES.values()):
            raise ValueError(f"{self.text_bytes} of {len(self.contents)} bytes cannot be functions")
        if (
            self.data_offset % page
            or self.table_offset < self.data_offset
            or self.table_offset % POINTER_BYTES
        ):
            raise ValueError("the table of addresses is not where one can be")
        for name, (offset, length) in self.functions.items():
            if not 0 <= offset <= offset + length <= self.text_bytes:
                raise ValueError(f"function {name!r} is outside of the code")
        start, length = self.frames
        if length and not self.data_offset <= start <= start + length <= self.memory_bytes:
            raise ValueError("the frames are outside of the code")
        return self

    @property
    def memory_bytes(self) -> int:
        """The size in memory, with the gap between functions and constants."""
        return self.data_offset + len(self.contents) - self.text_bytes

    @property
    def table_offset(self) -> int:
        """The offset in memory of the table of addresses, which ends it."""
        return self.memory_bytes - POINTER_BYTES * len(self.outside)

    def to_json(self) -> dict[str, object]:
        """All but the contents as plain JSON values."""
        return {
            "text": self.text_bytes,
            "data": self.data_offset,
            "outside": list(self.outside),
            "functions": {name: list(place) for name, place in self.functions.items()},
            "frames": list(self.frames),
            **({"debug": len(self.debug)} if self.debug else {}),
        }

    @staticmethod
    def from_json(data: Mapping[str, object], contents: bytes) -> LinkedCode:
        """The code that `to_json` described. Raises: ValueError, KeyError or TypeError when it is none."""
        end = len(contents) - as_size(data.get("debug", 0))
        if end < 0:
            raise ValueError("the debug file is larger than the code with it")
        return LinkedCode(
            contents[:end],
            as_size(data["text"]),
            as_size(data["data"]),
            as_texts(data["outside"]),
            {name: _span(place) for name, place in as_mapping(data["functions"]).items()},
            _span(data["frames"]),
            contents[end:],
        ).checked()


def _span(value: object) -> tuple[int, int]:
    """Offset and size."""
    offset, size = as_sizes(value, 2)
    return offset, size


class ObjectFiles(NamedTuple):
    """Machine code as object files of a format that only LLVM links: Mach-O and COFF."""

    objects: tuple[bytes, ...]


Code: TypeAlias = LinkedCode | ObjectFiles
"""Machine code as a model image contains it."""
