"""
Writer of files for Windows: objects (COFF), and libraries (PE32+, `.dll`) that need no other.

Code needs no relocation. In an object, weights follow the code in its section; a library has them in one of
their own, and an empty table of relocations, so that a loader may choose any address.
Source: Microsoft's PE format specification.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from stepwell.lowering.export.elf_shared import patched
from stepwell.lowering.export.parts import Chunk, Parts, weight_chunks
from stepwell.lowering.export.systems.one_section import one_section

_MACHINE = 0x8664
_PAGE, _FILE_ALIGNMENT, _HEADER_BYTES = 1 << 12, 1 << 9, 1 << 10
_EXECUTABLE, _LARGE_ADDRESSES, _LIBRARY = 0x2, 0x20, 0x2000
_CODE, _DATA, _DISCARDABLE, _EXECUTE, _READ = 0x20, 0x40, 0x2000000, 0x20000000, 0x40000000
_ANY_ADDRESS = 0x20 | 0x40 | 0x100  # of 64 bits, moved by the loader; data is not executed
_BASE, _WINDOWS = 0x180000000, 2
_EXTERNAL, _FUNCTION = 2, 0x20


class _Section(NamedTuple):
    name: str
    flags: int
    chunks: Sequence[Chunk]
    address: int
    offset: int = 0

    @property
    def size(self) -> int:
        return sum(map(len, self.chunks))


def coff_object(parts: Parts) -> list[Chunk]:
    """The object file of an export, with weights after the code in its one section."""
    chunks, size, alignment = one_section(parts)
    header_bytes = 20 + 40
    flags = _CODE | _EXECUTE | _READ | (alignment.bit_length() << 20)
    names, rows = bytearray(4), list[bytes]()
    for each in parts.symbols:
        name = each.name.encode()
        if len(name) > 8:
            field = struct.pack("<II", 0, len(names))
            names += name + b"\0"
        else:
            field = name.ljust(8, b"\0")
        offset, _ = parts.code.symbols[each.name]
        rows.append(field + struct.pack("<IhHBB", offset, 1, _FUNCTION, _EXTERNAL, 0))
    names[:4] = struct.pack("<I", len(names))
    table = header_bytes + size
    first = struct.pack("<HHIIIHH", _MACHINE, 1, 0, table, len(rows), 0, 0)
    section = struct.pack("<8sIIIIIIHHI", b".text", 0, 0, size, header_bytes, 0, 0, 0, 0, flags)
    return [first, section, *chunks, *rows, bytes(names)]


def pe_library(parts: Parts, name: str) -> list[Chunk]:
    """The library of an export. Args: `name` is the file's, which its table of functions has."""
    code, sections = parts.code, list[_Section]()
    text = _Section(".text", _CODE | _EXECUTE | _READ, [code.contents], _PAGE)
    exports = _next(text, ".edata", _DATA | _READ, [])
    functions = {each.name: _PAGE + code.symbols[each.name][0] for each in parts.symbols}
    exports = exports._replace(chunks=[_exports(functions, name, exports.address)])
    sections = [text, exports]
    if parts.weights:
        sections.append(_next(exports, ".rdata", _DATA | _READ, weight_chunks(parts.weights)))
        sections[0] = text._replace(chunks=[patched(parts, _PAGE, sections[-1].address)])
    # A block of relocations for the first page that has none: the loader may move the library.
    empty = struct.pack("<IIHH", _PAGE, 12, 0, 0)
    sections.append(_next(sections[-1], ".reloc", _DATA | _READ | _DISCARDABLE, [empty]))
    placed, chunks, end = list[_Section](), list[Chunk](), _HEADER_BYTES
    for each in sections:
        placed.append(each._replace(offset=end))
        gap = -each.size % _FILE_ALIGNMENT
        chunks += [*each.chunks, bytes(gap)]
        end += each.size + gap
    return [_headers(placed), *chunks]


def _next(before: _Section, name: str, flags: int, chunks: Sequence[Chunk]) -> _Section:
    """A section on the page after another one."""
    end = before.address + before.size
    return _Section(name, flags, chunks, end + -end % _PAGE)


def _exports(functions: Mapping[str, int], library: str, address: int) -> bytes:
    """The table of functions by name, sorted, at an address."""
    names = sorted(functions)
    count = len(names)
    places = 40 + 4 * count
    ordinals = places + 4 * count
    texts = bytearray(library.encode() + b"\0")
    first = ordinals + 2 * count
    offsets: list[int] = []
    for name in names:
        offsets.append(address + first + len(texts))
        texts += name.encode() + b"\0"
    tables = (address + 40, address + places, address + ordinals)
    directory = struct.pack("<IIHHIIIIIII", 0, 0, 0, 0, address + first, 1, count, count, *tables)
    directory += struct.pack(f"<{count}I", *(functions[name] for name in names))
    directory += struct.pack(f"<{count}I", *offsets) + struct.pack(f"<{count}H", *range(count))
    return directory + bytes(texts)


def _headers(sections: Sequence[_Section]) -> bytes:
    """All headers, padded to the first section."""
    last = sections[-1]
    end = last.address + last.size
    image_bytes = end + -end % _PAGE
    code_bytes = sections[0].size + -sections[0].size % _FILE_ALIGNMENT
    data_bytes = sum(each.size + -each.size % _FILE_ALIGNMENT for each in sections[1:])
    sizes = code_bytes, data_bytes, 0, 0, _PAGE
    optional = struct.pack("<HBBIIIIIQII", 0x20B, 1, 0, *sizes, _BASE, _PAGE, _FILE_ALIGNMENT)
    optional += struct.pack("<HHHHHHI", 6, 0, 0, 0, 6, 0, 0)
    optional += struct.pack("<IIIHH", image_bytes, _HEADER_BYTES, 0, _WINDOWS, _ANY_ADDRESS)
    optional += struct.pack("<QQQQII", 1 << 20, 1 << 12, 1 << 20, 1 << 12, 0, 16)
    directories = [(0, 0)] * 16
    directories[0] = sections[1].address, sections[1].size
    directories[5] = last.address, last.size
    optional += b"".join(struct.pack("<II", *row) for row in directories)
    flags = _EXECUTABLE | _LARGE_ADDRESSES | _LIBRARY
    coff = struct.pack("<HHIIIHH", _MACHINE, len(sections), 0, 0, 0, len(optional), flags)
    dos = b"MZ".ljust(60, b"\0") + struct.pack("<I", 64)
    rows = [
        struct.pack("<8sIIIIIIHHI", s.name.encode(), s.size, s.address, size, s.offset, 0, 0, 0, 0, s.flags)
        for s in sections
        for size in [s.size + -s.size % _FILE_ALIGNMENT]
    ]
    return (dos + b"PE\0\0" + coff + optional + b"".join(rows)).ljust(_HEADER_BYTES, b"\0")
