"""
Writer of the tables of ELF files: sections, symbols, segments, and the hash table of dynamic symbols.

Source: System V ABI, chapters 4 and 5.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from stepwell.runtime.link.elf import ElfClass

Buffer: TypeAlias = "bytes | bytearray | memoryview"
"""Contents of a file, which need not be copied."""
PROGRAM, SYMBOLS, STRINGS, RELOCATIONS, HASH, DYNAMIC, NOTE, DYNAMIC_SYMBOLS = 1, 2, 3, 4, 5, 6, 7, 11
RELOCATIONS_IN_PLACE = 9
"""Types of sections."""
WRITE, ALLOCATE, EXECUTE = 1, 2, 4
"""Flags of sections."""
LOCAL, GLOBAL, WEAK = 0, 1, 2
"""Bindings of symbols."""
OBJECT, FUNCTION = 1, 2
"""Types of symbols."""
LOAD, DYNAMIC_SEGMENT, NOTE_SEGMENT, STACK = 1, 2, 4, 0x6474E551
"""Types of segments."""
RUN, CHANGE, READ = 1, 2, 4
"""Flags of segments."""
SHARED = 3
"""The type of files that loaders load."""
_HIDDEN = 2


@dataclass
class Strings:
    """A table of strings that ends in zeros."""

    data: bytearray = field(default_factory=lambda: bytearray(1))
    _known: dict[str, int] = field(default_factory=dict[str, int])

    def offset(self, text: str) -> int:
        """The offset of a string, which is added at its first use."""
        if not text:
            return 0
        if text not in self._known:
            self._known[text] = len(self.data)
            self.data += text.encode() + b"\0"
        return self._known[text]


@dataclass
class Section:
    """A section under construction."""

    name: str
    type: int
    flags: int
    chunks: Sequence[Buffer]
    alignment: int = 1
    link: int = 0
    info: int = 0
    entry_bytes: int = 0
    address: int = 0
    offset: int = 0

    @property
    def size(self) -> int:
        """The size of its contents."""
        return sum(map(len, self.chunks))


def program_bytes(elf: ElfClass) -> int:
    """The size of a row of the table of segments."""
    return 56 if elf.bits == 64 else 32


def symbol(
    elf: ElfClass, name: int, binding: int, kind: int, section: int, place: tuple[int, int], hidden: bool
) -> bytes:
    """A row of a table of symbols; `place` is value and size."""
    info, other = binding << 4 | kind, _HIDDEN if hidden else 0
    if elf.bits == 64:
        return elf.symbol.pack(name, info, other, section, *place)
    return elf.symbol.pack(name, *place, info, other, section)


def section_rows(elf: ElfClass, sections: Sequence[Section], names: Strings) -> bytes:
    """The section table; the first row is empty."""
    rows = [bytes(elf.section.size)]
    for each in sections:
        rows.append(
            elf.section.pack(
                names.offset(each.name),
                each.type,
                each.flags,
                each.address,
                each.offset,
                each.size,
                each.link,
                each.info,
                each.alignment,
                each.entry_bytes,
            )  # fmt: skip
        )
    return b"".join(rows)


def hash_table(names: Sequence[str]) -> bytes:
    """The hash table by which a loader finds symbols; symbol 0 is none."""
    buckets, chains = [0] * max(1, len(names)), [0] * (len(names) + 1)
    for index, name in enumerate(names, 1):
        bucket = _hash(name) % len(buckets)
        chains[index], buckets[bucket] = buckets[bucket], index
    return struct.pack(f"<{2 + len(buckets) + len(chains)}I", len(buckets), len(chains), *buckets, *chains)


def _hash(name: str) -> int:
    """The hash of the System V ABI."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        value = (value ^ (value & 0xF0000000) >> 24) & 0x0FFFFFFF
    return value


def program_row(
    elf: ElfClass, type: int, flags: int, offset: int, address: int, size: int, alignment: int
) -> bytes:
    """A row of the table of segments."""
    places = offset, address, address, size, size
    if elf.bits == 64:
        return struct.pack("<IIQQQQQQ", type, flags, *places, alignment)
    return struct.pack("<IIIIIIII", type, *places, flags, alignment)
