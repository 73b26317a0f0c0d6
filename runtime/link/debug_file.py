"""
Debug files of linked code: ELF files that hold DWARF sections and names for its functions, and not the code.

Debuggers and profilers read such files beside the code: `addr2line -e F OFFSET`, `add-symbol-file F ADDRESS`.
Sources: System V ABI, chapters 4 and 5; DWARF version 4, section 7.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stepwell.runtime.link.elf import MACHINES, ObjectFile

_HEADER, _SECTION = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_IDENT = b"\x7fELF\x02\x01\x01" + bytes(9)
_SHARED, _PROGRAM, _SYMBOLS, _STRINGS, _NO_BITS = 3, 1, 2, 3, 8
_IN_MEMORY, _GLOBAL_FUNCTION = 2 | 4, 1 << 4 | 2
# The bytes that a relocation by an absolute value writes, by its kind.
_ABSOLUTE: Mapping[str, Mapping[int, int]] = {"x86_64": {1: 8, 10: 4}, "aarch64": {257: 8, 258: 4}}


class _Row(NamedTuple):
    """A section of the file."""

    name: str
    type: int
    contents: bytes = b""
    flags: int = 0
    size: int = 0
    link: int = 0
    entry_bytes: int = 0


def debug_file(
    arch: str,
    files: Sequence[ObjectFile],
    places: Mapping[tuple[int, int], int],
    text_bytes: int,
    functions: Mapping[str, tuple[int, int]],
) -> bytes:
    """
    The debug file of an image that begins at address 0; empty where no object has debug sections.

    Args: `places` are the offsets of sections in the image by the numbers of object and section; `functions`
    are offsets and sizes by name.
    Raises: ValueError for a relocation of unknown kind, or of something that has no place.
    """
    joined: dict[str, bytearray] = {}
    starts = dict(places)
    for number, file in enumerate(files):
        for section in file.debug:
            own = joined.setdefault(section.name, bytearray())
            starts[number, section.number] = len(own)
            own += section.contents
    for number, file in enumerate(files):
        for section in file.debug:
            for relocation in section.relocations:
                symbol = file.symbols[relocation.symbol]
                size = _ABSOLUTE[arch].get(relocation.kind)
                start = starts.get((number, symbol.section))
                if size is None or start is None or relocation.offset + size > len(section.contents):
                    raise ValueError(f"section {section.name} has a relocation that cannot be carried out")
                at = starts[number, section.number] + relocation.offset
                value = (start + symbol.offset + relocation.addend) & ((1 << 8 * size) - 1)
                joined[section.name][at : at + size] = value.to_bytes(size, "little")
    if not joined:
        return b""
    names, symbols = _symbols(functions)
    rows = [_Row("", 0), _Row(".text", _NO_BITS, b"", _IN_MEMORY, text_bytes)]
    rows += [_Row(name, _PROGRAM, bytes(contents)) for name, contents in joined.items()]
    rows.append(_Row(".symtab", _SYMBOLS, symbols, link=len(rows) + 1, entry_bytes=_SYMBOL.size))
    rows.append(_Row(".strtab", _STRINGS, names))
    return _file(arch, rows)


def _symbols(functions: Mapping[str, tuple[int, int]]) -> tuple[bytes, bytes]:
    """The table of names, and the table of symbols."""
    names, symbols = bytearray(1), bytearray(_SYMBOL.size)
    for name, (offset, size) in functions.items():
        symbols += _SYMBOL.pack(len(names), _GLOBAL_FUNCTION, 0, 1, offset, size)
        names += name.encode() + b"\0"
    return bytes(names), bytes(symbols)


def _file(arch: str, rows: list[_Row]) -> bytes:
    """An ELF file of sections, whose names follow them."""
    rows = [*rows, _Row(".shstrtab", _STRINGS)]
    names = b"".join(row.name.encode() + b"\0" for row in rows)
    rows[-1] = rows[-1]._replace(contents=names)
    body, table, name = bytearray(), bytearray(), 0
    for row in rows:
        body += bytes(-len(body) % 8)
        size, first = row.size or len(row.contents), int(row.type == _SYMBOLS)
        at = _HEADER.size + len(body) if row.type else 0
        table += _SECTION.pack(
            name, row.type, row.flags, 0, at, size, row.link, first, min(row.type, 1), row.entry_bytes
        )
        body += row.contents
        name += len(row.name) + 1
    body += bytes(-len(body) % 8)
    machine = next(number for number, known in MACHINES.items() if known == arch)
    header = (_IDENT, _SHARED, machine, 1, 0, 0, _HEADER.size + len(body), 0, _HEADER.size, 0, 0)
    return _HEADER.pack(*header, _SECTION.size, len(rows), len(rows) - 1) + bytes(body) + bytes(table)
