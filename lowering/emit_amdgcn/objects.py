"""
Code objects of AMD: the loadable files of kernels, made of LLVM's object without a linker of a toolkit.

Segments: headers, notes, dynamic symbols and descriptors of kernels; code; the dynamic section. Beside the
driver's own description of kernels, a section has the parameters of each as our launches know them.
Source: User Guide for AMDGPU Backend (LLVM), "ELF Code Object"; System V ABI, chapters 4 and 5.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp

from stepwell.lowering.device_code import Refuse
from stepwell.lowering.emit_amdgcn.machine import machine_module
from stepwell.runtime.devices.rocm.code_object import PARAMETERS
from stepwell.runtime.devices.signatures import signature_line
from stepwell.runtime.errors import InternalError
from stepwell.runtime.link.elf import AMDGCN, ELF64, ObjectFile, Symbol, read_object
from stepwell.runtime.link.elf import Section as ObjectSection
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
    NOTE,
    NOTE_SEGMENT,
    OBJECT,
    PROGRAM,
    READ,
    RUN,
    SHARED,
    STACK,
    STRINGS,
    SYMBOLS,
    WRITE,
    Section,
    Strings,
    hash_table,
    program_bytes,
    program_row,
    section_rows,
    symbol,
)
from stepwell.runtime.machine.named_target import Target

_PAGE = 1 << 12
_NOTES, _TEXT, _DATA = ".note", ".text", ".rodata"
_PROGRAMS = 6
_REL64, _REL32_HI, _REL32_KINDS = 5, 11, (4, 10)
"""Relocations: distances of 64 bits, and the upper and lower halves of them."""
_WORD = (1 << 32) - 1


def code_object(module: ModuleOp, target: Target, refuse: Refuse | None = None) -> bytes:
    """
    The kernels of a module as a file for the drivers of AMD; empty after errors, all of which `refuse` got.

    Raises: StepwellError `unsupported-target`; `exceeds-target`; without `refuse` also `unsupported`,
    `unsupported-op` for what has no code.
    """
    found = machine_module(module, target, refuse)
    if found is None or not found.code.kernels:
        return b""
    lines = [f"{each.name} {signature_line(each.parameters)}" for each in found.code.kernels.values()]
    return linked(found.machine.emit_object(found.module), lines)


def linked(data: bytes, parameters: Sequence[str]) -> bytes:
    """The loadable file of an object. Raises: InternalError for an object that is not as LLVM writes them."""
    try:
        found = read_object(data)
    except ValueError as error:
        raise InternalError(None, f"an object for a GPU of AMD cannot be read: {error}") from None
    if found.arch != AMDGCN:
        raise InternalError(None, f"an object for a GPU of AMD is for {found.arch}")
    strings, exported = Strings(), [s for s in found.symbols if s.section and not s.is_local]
    for each in exported:
        strings.offset(each.name)
    sections = _sections(found, exported, strings, "\n".join(parameters).encode())
    end = _place(sections)
    numbers = {part.number: 1 + position for position, part in _positions(found, sections).items()}
    starts = {number: sections[position - 1].address for number, position in numbers.items()}
    rows = _symbol_rows(exported, strings, numbers, starts)
    by_name = {each.name: each for each in sections}
    by_name[".dynsym"].chunks = by_name[".symtab"].chunks = [rows]
    by_name[".dynamic"].chunks = [_dynamic(by_name)]
    for part in found.sections:
        by_name[part.name].chunks = [_relocated(found, part, starts)]
    return _file(data, sections, by_name, end)


def _sections(
    found: ObjectFile, exported: Sequence[Symbol], strings: Strings, parameters: bytes
) -> list[Section]:
    """The sections of the file in order, those of symbols still empty."""
    parts = {part.name: part for part in found.sections}
    if set(parts) - {_NOTES, _TEXT, _DATA}:
        raise InternalError(None, f"an object for a GPU of AMD has the sections {', '.join(parts)}")
    table, names = bytes(ELF64.symbol.size * (1 + len(exported))), bytes(strings.data)

    def kept(name: str, type: int, flags: int) -> Section:
        part = parts[name]
        return Section(name, type, flags, [part.contents], part.alignment)

    return [
        kept(_NOTES, NOTE, ALLOCATE),
        Section(".dynsym", DYNAMIC_SYMBOLS, ALLOCATE, [table], 8, 4, 1, ELF64.symbol.size),
        Section(".hash", HASH, ALLOCATE, [hash_table([each.name for each in exported])], 8, 2, 0, 4),
        Section(".dynstr", STRINGS, ALLOCATE, [names]),
        kept(_DATA, PROGRAM, ALLOCATE),
        kept(_TEXT, PROGRAM, ALLOCATE | EXECUTE),
        Section(".dynamic", DYNAMIC, ALLOCATE | WRITE, [bytes(16 * 6)], 8, 4, 0, 16),
        Section(PARAMETERS, PROGRAM, 0, [parameters]),
        Section(".symtab", SYMBOLS, 0, [table], 8, 10, 1, ELF64.symbol.size),
        Section(".strtab", STRINGS, 0, [names]),
    ]


def _positions(found: ObjectFile, sections: Sequence[Section]) -> Mapping[int, ObjectSection]:
    """The sections of the object by their positions in the file."""
    parts = {part.name: part for part in found.sections}
    return {position: parts[each.name] for position, each in enumerate(sections) if each.name in parts}


def _place(sections: Sequence[Section]) -> int:
    """Give sections their offsets and addresses, segments on pages of their own; returns the end."""
    end, shift = ELF64.header.size + _PROGRAMS * program_bytes(ELF64), 0
    for each in sections:
        shift += _PAGE if each.name in (_TEXT, ".dynamic") else 0
        end += -end % each.alignment
        each.offset, each.address = end, end + shift if each.flags & ALLOCATE else 0
        end += each.size
    return end


def _symbol_rows(
    exported: Sequence[Symbol], strings: Strings, numbers: Mapping[int, int], starts: Mapping[int, int]
) -> bytes:
    """The table of symbols: kernels, and their descriptors; the first row is empty."""
    rows = [bytes(ELF64.symbol.size)]
    for each in exported:
        kind = FUNCTION if each.is_function else OBJECT
        place = starts[each.section] + each.offset, each.size
        rows.append(
            symbol(ELF64, strings.offset(each.name), GLOBAL, kind, numbers[each.section], place, False)
        )
    return b"".join(rows)


def _dynamic(sections: Mapping[str, Section]) -> bytes:
    """The dynamic section: where the loader finds symbols."""
    symbols, hashes, strings = (sections[name] for name in (".dynsym", ".hash", ".dynstr"))
    entries = [
        (4, hashes.address), (5, strings.address), (6, symbols.address), (10, strings.size),
        (11, ELF64.symbol.size), (0, 0),
    ]  # fmt: skip
    return b"".join(struct.pack("<QQ", *entry) for entry in entries)


def _relocated(found: ObjectFile, part: ObjectSection, starts: Mapping[int, int]) -> bytes:
    """The contents of a section with the distances to what it refers to. Raises: InternalError."""
    data = bytearray(part.contents)
    for each in part.relocations:
        target = found.symbols[each.symbol]
        if target.section not in starts:
            raise InternalError(None, f"code for a GPU of AMD refers to {target.name!r} outside of it")
        place = starts[part.number] + each.offset
        distance = starts[target.section] + target.offset + each.addend - place
        if each.kind == _REL64:
            struct.pack_into("<q", data, each.offset, distance)
        elif each.kind in _REL32_KINDS:
            struct.pack_into("<I", data, each.offset, distance & _WORD)
        elif each.kind == _REL32_HI:
            struct.pack_into("<I", data, each.offset, distance >> 32 & _WORD)
        else:
            raise InternalError(None, f"code for a GPU of AMD has a relocation of kind {each.kind}")
    return bytes(data)


def _programs(sections: Mapping[str, Section]) -> bytes:
    """The table of segments."""
    notes, data, text, dynamic = (sections[name] for name in (_NOTES, _DATA, _TEXT, ".dynamic"))
    rows = [
        (LOAD, READ, 0, 0, data.offset + data.size, _PAGE),
        (LOAD, READ | RUN, text.offset, text.address, text.size, _PAGE),
        (LOAD, READ | CHANGE, dynamic.offset, dynamic.address, dynamic.size, _PAGE),
        (DYNAMIC_SEGMENT, READ | CHANGE, dynamic.offset, dynamic.address, dynamic.size, 8),
        (NOTE_SEGMENT, READ, notes.offset, notes.address, notes.size, 4),
        (STACK, READ | CHANGE, 0, 0, 0, 0),
    ]
    return b"".join(program_row(ELF64, *row) for row in rows)


def _file(data: bytes, sections: Sequence[Section], by_name: Mapping[str, Section], end: int) -> bytes:
    """The whole file; its header has the object's machine and flags."""
    names = Strings()
    last = Section(".shstrtab", STRINGS, 0, [], offset=end)
    for each in (*sections, last):
        names.offset(each.name)
    last.chunks = [bytes(names.data)]
    gap = -(end + last.size) % 8
    table = end + last.size + gap
    ident, _, machine, version, _, _, _, flags, *_ = ELF64.header.unpack_from(data)
    count, start = len(sections) + 2, ELF64.header.size
    sizes = start, program_bytes(ELF64), _PROGRAMS, ELF64.section.size, count, count - 1
    header = ELF64.header.pack(ident, SHARED, machine, version, 0, start, table, flags, *sizes)
    file = bytearray(header + _programs(by_name))
    for each in (*sections, last):
        file += bytes(each.offset - len(file)) + b"".join(each.chunks)
    return bytes(file) + bytes(gap) + section_rows(ELF64, [*sections, last], names)
