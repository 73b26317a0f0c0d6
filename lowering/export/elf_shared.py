"""
Writer of shared libraries in ELF: code that needs no relocation, so that no linker is needed either.

Segments: headers, dynamic symbols and code; the dynamic section, which the loader writes into; weights.
Source: System V ABI, chapter 5 (program loading and dynamic linking).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from stepwell.lowering.export.elf_object import (
    ALLOCATE,
    EXECUTE,
    FUNCTION,
    GLOBAL,
    HEADER_BYTES,
    PROGRAM,
    STRINGS,
    WEAK,
    Section,
    Strings,
    header,
    section_rows,
    symbol,
)
from stepwell.lowering.export.parts import Chunk, Parts, weight_chunks
from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.files.exported import JSON_SECTION, WEIGHTS_SECTION
from stepwell.runtime.link.code import PAGE_BYTES
from stepwell.runtime.link.relocations import PATCHES

_SHARED = 3
_DYNAMIC_SYMBOLS, _HASH, _DYNAMIC = 11, 5, 6
_WRITE = 1
_LOAD, _DYNAMIC_SEGMENT, _STACK = 1, 2, 0x6474E551
_X, _W, _R = 1, 2, 4
_PROGRAM_BYTES = 56
_TEXT_NUMBER = 4


def elf_shared(parts: Parts) -> list[Chunk]:
    """The shared library of an export."""
    code, page = parts.code, PAGE_BYTES[parts.code.arch]
    strings = Strings()
    rows = [bytes(24), *(_row(strings, parts, each.name, each.is_weak, 0) for each in parts.symbols)]
    hashes = _hash_table([each.name for each in parts.symbols])
    text = bytearray(code.contents)
    symbols = Section(".dynsym", _DYNAMIC_SYMBOLS, ALLOCATE, [b"".join(rows)], 8, 3, 1, 24)
    sections = [
        symbols,
        Section(".hash", _HASH, ALLOCATE, [hashes], 8, 1, 0, 4),
        Section(".dynstr", STRINGS, ALLOCATE, [bytes(strings.data)]),
        Section(".text", PROGRAM, ALLOCATE | EXECUTE, [text], code.alignment),
        Section(".dynamic", _DYNAMIC, ALLOCATE | _WRITE, [bytes(16 * 6)], 8, 3, 0, 16),
    ]
    if parts.weights:
        contents = weight_chunks(parts.weights)
        sections.append(Section(WEIGHTS_SECTION, PROGRAM, ALLOCATE, contents, ARENA_ALIGNMENT))
    programs = 4 + bool(parts.weights)
    end = _place(sections, HEADER_BYTES + programs * _PROGRAM_BYTES, page)
    # Addresses are known: symbols, the dynamic section, and the references from code to weights.
    start = sections[3].address
    symbols.chunks = [
        b"".join([bytes(24), *(_row(strings, parts, s.name, s.is_weak, start) for s in parts.symbols)])
    ]
    sections[4].chunks = [_dynamic(sections)]
    _patch(text, parts, start, sections[-1].address)
    sections[3].chunks = [bytes(text)]
    table = _programs(sections, page)
    return _file(parts, sections, table, programs, end)


def _row(strings: Strings, parts: Parts, name: str, is_weak: bool, start: int) -> bytes:
    """The row of a symbol in the table of dynamic symbols."""
    offset, size = parts.code.symbols[name]
    binding = WEAK if is_weak else GLOBAL
    return symbol(strings.offset(name), binding, FUNCTION, _TEXT_NUMBER, start + offset, size, False)


def _place(sections: Sequence[Section], start: int, page: int) -> int:
    """Give sections their offsets and addresses, segments on pages of their own; returns the end."""
    end, shift = start, 0
    for number, each in enumerate(sections):
        if number >= _TEXT_NUMBER:  # the dynamic section and weights begin segments
            shift += page
        end += -end % each.alignment
        each.offset, each.address = end, end + shift
        end += each.size
    return end


def _hash_table(names: Sequence[str]) -> bytes:
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


def _dynamic(sections: Sequence[Section]) -> bytes:
    """The dynamic section: where the loader finds symbols."""
    symbols, hashes, strings = (section.address for section in sections[:3])
    entries = [(4, hashes), (5, strings), (6, symbols), (10, sections[2].size), (11, 24), (0, 0)]
    return b"".join(struct.pack("<QQ", *entry) for entry in entries)


def _patch(text: bytearray, parts: Parts, start: int, weights: int) -> None:
    """Carry out the relocations that refer to the weights, whose distance is known now."""
    patches: Mapping[int, object] = PATCHES[parts.code.arch]
    # A patch depends on the distance alone, or on addresses in pages: memory begins where the code does.
    memory = bytearray(start) + text
    for offset, kind, _, addend in parts.code.relocations:
        patch = patches[kind]
        assert callable(patch)
        patch(memory, start + offset, weights, addend)
    text[:] = memory[start:]


def _programs(sections: Sequence[Section], page: int) -> bytes:
    """The table of segments."""
    text, dynamic = sections[3], sections[4]
    end = text.offset + text.size
    rows = [
        (_LOAD, _R | _X, 0, 0, end, page),
        (_LOAD, _R | _W, dynamic.offset, dynamic.address, dynamic.size, page),
        (_DYNAMIC_SEGMENT, _R | _W, dynamic.offset, dynamic.address, dynamic.size, 8),
        (_STACK, _R | _W, 0, 0, 0, 16),
    ]
    for weights in sections[5:]:
        rows.append((_LOAD, _R, weights.offset, weights.address, weights.size, page))
    return b"".join(
        struct.pack("<IIQQQQQQ", type, flags, offset, address, address, size, size, alignment)
        for type, flags, offset, address, size, alignment in rows
    )


def _file(parts: Parts, sections: Sequence[Section], table: bytes, programs: int, end: int) -> list[Chunk]:
    """The whole file: headers, contents, and a section table for tools."""
    names = Strings()
    rows = [*sections]
    if parts.json and (offset := bytes(sections[3].chunks[0]).find(parts.json.encode())) >= 0:
        section = Section(JSON_SECTION, PROGRAM, ALLOCATE, [parts.json.encode()])
        section.address, section.offset = sections[3].address + offset, sections[3].offset + offset
        rows.append(section)
    last = Section(".shstrtab", STRINGS, 0, [], offset=end)
    for each in (*rows, last):
        names.offset(each.name)
    last.chunks = [bytes(names.data)]
    gap = -(end + last.size) % 8
    place = end + last.size + gap
    first = header(parts.code.arch, _SHARED, sections=len(rows) + 2, section_table=place, programs=programs)
    chunks, position = [first, table], HEADER_BYTES + len(table)
    for each in sections:
        chunks += [bytes(each.offset - position), *each.chunks]
        position = each.offset + each.size
    return [*chunks, *last.chunks, bytes(gap), section_rows([*rows, last], names)]
