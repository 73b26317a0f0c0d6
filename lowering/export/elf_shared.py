"""
Writer of shared libraries in ELF: code that needs no relocation, so that no linker is needed either.

Segments: headers, dynamic symbols and code; the dynamic section and the addresses of functions outside, which
the loader writes; weights.
Source: System V ABI, chapter 5 (program loading and dynamic linking).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from stepwell.lowering.export.elf_imports import (
    import_entries,
    import_relocations,
    import_sections,
    import_symbols,
)
from stepwell.lowering.export.elf_object import header
from stepwell.lowering.export.ffi import IMPORTS
from stepwell.lowering.export.parts import Chunk, Parts, weight_chunks
from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.files.exported import JSON_SECTION, WEIGHTS_SECTION
from stepwell.runtime.link.elf import ElfClass, elf_class
from stepwell.runtime.link.elf_writer import (
    ALLOCATE,
    CHANGE,
    DYNAMIC,
    DYNAMIC_SEGMENT,
    DYNAMIC_SYMBOLS,
    EXECUTE,
    FUNCTION,
    GLOBAL,
    HASH,
    LOAD,
    PROGRAM,
    READ,
    RUN,
    SHARED,
    STACK,
    STRINGS,
    WEAK,
    WRITE,
    Section,
    Strings,
    hash_table,
    program_bytes,
    program_row,
    section_rows,
    symbol,
)
from stepwell.runtime.link.relocations import PATCHES

EXECUTABLE = 2
# Linux on aarch64 may have pages of 64 KiB.
_PAGE_BYTES = {"aarch64": 1 << 16}
_TEXT_NUMBER = 4


def elf_shared(parts: Parts) -> list[Chunk]:
    """The shared library of an export."""
    code, page = parts.code, _PAGE_BYTES.get(parts.code.arch, 1 << 12)
    strings, elf = Strings(), elf_class(code.arch)
    rows = _rows(strings, parts, 0)
    names = [*(each.name for each in parts.symbols), *(IMPORTS if parts.imports else ())]
    sections = [
        Section(".dynsym", DYNAMIC_SYMBOLS, ALLOCATE, [rows], 8, 3, 1, elf.symbol.size),
        Section(".hash", HASH, ALLOCATE, [hash_table(names)], 8, 1, 0, 4),
        Section(".dynstr", STRINGS, ALLOCATE, [bytes(strings.data)]),
        Section(".text", PROGRAM, ALLOCATE | EXECUTE, [code.contents], code.alignment),
        _empty_dynamic(elf, parts),
    ]
    if parts.imports:
        sections += import_sections(code.arch)
    if parts.weights:
        contents = weight_chunks(parts.weights)
        sections.append(Section(WEIGHTS_SECTION, PROGRAM, ALLOCATE, contents, ARENA_ALIGNMENT))
    programs = 4 + bool(parts.weights)
    end = _place(sections, elf.header.size + programs * program_bytes(elf), page)
    _fill(parts, strings, sections)
    table = _programs(elf, sections, page)
    return _file(parts, sections, table, programs, end)


def _empty_dynamic(elf: ElfClass, parts: Parts) -> Section:
    """The dynamic section before the addresses in it are known."""
    row_bytes, rows = 2 * elf.bits // 8, 9 if parts.imports else 6
    return Section(".dynamic", DYNAMIC, ALLOCATE | WRITE, [bytes(row_bytes * rows)], 8, 3, 0, row_bytes)


def _fill(parts: Parts, strings: Strings, sections: Sequence[Section]) -> None:
    """Write what depends on addresses: symbols, the dynamic section, references of code to other sections."""
    symbols, _, _, text, dynamic, *rest = sections
    symbols.chunks = [_rows(strings, parts, text.address)]
    imports = 0
    if parts.imports:
        relocations, table = rest[:2]
        relocations.chunks = import_relocations(parts.code.arch, table, 1 + len(parts.symbols))
        imports = table.address
    dynamic.chunks = [_dynamic(elf_class(parts.code.arch), sections, has_imports=bool(parts.imports))]
    text.chunks = [patched(parts, text.address, sections[-1].address, imports)]


def _rows(strings: Strings, parts: Parts, start: int) -> bytes:
    """The table of dynamic symbols, for code at an address; the first row is empty."""
    elf = elf_class(parts.code.arch)
    rows = [bytes(elf.symbol.size)]
    for each in parts.symbols:
        offset, size = parts.code.symbols[each.name]
        binding, name = WEAK if each.is_weak else GLOBAL, strings.offset(each.name)
        rows.append(symbol(elf, name, binding, FUNCTION, _TEXT_NUMBER, (start + offset, size), False))
    return b"".join([*rows, *(import_symbols(parts.code.arch, strings) if parts.imports else [])])


def _place(sections: Sequence[Section], start: int, page: int) -> int:
    """Give sections their offsets and addresses, segments on pages of their own; returns the end."""
    end, shift = start, 0
    for number, each in enumerate(sections):
        if number == _TEXT_NUMBER or each.name == WEIGHTS_SECTION:  # they begin segments
            shift += page
        end += -end % each.alignment
        each.offset, each.address = end, end + shift
        end += each.size
    return end


def _dynamic(elf: ElfClass, sections: Sequence[Section], *, has_imports: bool) -> bytes:
    """The dynamic section: where the loader finds symbols."""
    symbols, hashes, strings = (section.address for section in sections[:3])
    entries = [(4, hashes), (5, strings), (6, symbols), (10, sections[2].size), (11, elf.symbol.size)]
    entries += import_entries(sections[5]) if has_imports else []
    return b"".join(struct.pack("<QQ" if elf.bits == 64 else "<II", *entry) for entry in (*entries, (0, 0)))


def patched(parts: Parts, start: int, weights: int, imports: int = 0) -> bytes:
    """Code at an address, whose relocations, which refer to weights and imports, are carried out."""
    patches = PATCHES[parts.code.arch]
    # A patch depends on the distance alone, or on addresses in pages: memory begins where the code does.
    memory = bytearray(start) + parts.code.contents
    for offset, kind, name, addend in parts.code.relocations:
        patches[kind](memory, start + offset, imports if name == parts.imports else weights, addend)
    return bytes(memory[start:])


def _programs(elf: ElfClass, sections: Sequence[Section], page: int) -> bytes:
    """The table of segments."""
    text, dynamic, *rest = sections[3:]
    end = text.offset + text.size
    written = sum(each.size for each in (dynamic, *rest) if each.name != WEIGHTS_SECTION)
    rows = [
        (LOAD, READ | RUN, 0, 0, end, page),
        (LOAD, READ | CHANGE, dynamic.offset, dynamic.address, written, page),
        (DYNAMIC_SEGMENT, READ | CHANGE, dynamic.offset, dynamic.address, dynamic.size, 8),
        (STACK, READ | CHANGE, 0, 0, 0, 16),
    ]
    for weights in (each for each in rest if each.name == WEIGHTS_SECTION):
        rows.append((LOAD, READ, weights.offset, weights.address, weights.size, page))
    return b"".join(program_row(elf, *row) for row in rows)


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
    first = header(parts.code.arch, SHARED, sections=len(rows) + 2, section_table=place, programs=programs)
    elf = elf_class(parts.code.arch)
    chunks, position = [first, table], elf.header.size + len(table)
    for each in sections:
        chunks += [bytes(each.offset - position), *each.chunks]
        position = each.offset + each.size
    return [*chunks, *last.chunks, bytes(gap), section_rows(elf, [*rows, last], names)]
