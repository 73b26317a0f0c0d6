"""
Writer of relocatable ELF files: code in one section, weights in another, and symbols.

Source: System V ABI, chapters 4 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepwell.lowering.export.parts import Chunk, Parts, weight_chunks
from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.link.elf import MACHINES, RISCV32, elf_class
from stepwell.runtime.link.elf_writer import (
    ALLOCATE,
    EXECUTE,
    FUNCTION,
    GLOBAL,
    LOCAL,
    OBJECT,
    PROGRAM,
    RELOCATIONS,
    RELOCATIONS_IN_PLACE,
    STRINGS,
    SYMBOLS,
    WEAK,
    Section,
    Strings,
    program_bytes,
    section_rows,
    symbol,
)
from stepwell.runtime.link.relinked import Open, with_labels
from stepwell.runtime.link.thumb import THUMB

MACHINE_NUMBERS: Mapping[str, int] = {
    **{arch: number for number, arch in MACHINES.items()},
    THUMB: next(number for number, arch in MACHINES.items() if arch == "armv7"),
    RISCV32: next(number for number, arch in MACHINES.items() if arch == "riscv64"),
}
_RELOCATABLE = 1
_INFO_LINK = 0x40
_TEXT = 1


def flags_of(arch: str) -> int:
    """The flags in the header of a file: the calling convention."""
    # EABI 5, with floats in registers; on RISC-V doubles too, where there are. Functions of Thumb in objects
    # have no such arguments: programs may pass floats as they like.
    return {"armv7": 0x5000400, THUMB: 0x5000000, "riscv64": 0x5, RISCV32: 0x3}.get(arch, 0)


def header(
    arch: str, type: int, *, sections: int, section_table: int, programs: int = 0, entry: int = 0
) -> bytes:
    """The header of a file; the names of sections are in the last one, programs after the header."""
    elf = elf_class(arch)
    start = elf.header.size if programs else 0
    fields = (type, MACHINE_NUMBERS[arch], 1, entry, start, section_table, flags_of(arch), elf.header.size)
    rows = program_bytes(elf) if programs else 0
    sizes = rows, programs, elf.section.size, sections, max(0, sections - 1)
    return elf.header.pack(elf.ident.ljust(16, b"\0"), *fields, *sizes)


def _relocation_section(
    parts: Parts, relocations: Sequence[Open], numbers: Mapping[str, int], table: int
) -> Section:
    """The relocations of the code, which has the addends where the class of file has none."""
    elf = elf_class(parts.code.arch)
    rows = [
        elf.relocation.pack(
            offset, numbers[name] << (32 if elf.bits == 64 else 8) | kind, *[addend] * elf.has_addends
        )
        for offset, kind, name, addend in relocations
    ]
    name, type = (".rela.text", RELOCATIONS) if elf.has_addends else (".rel.text", RELOCATIONS_IN_PLACE)
    return Section(name, type, _INFO_LINK, rows, 8, link=table, info=_TEXT, entry_bytes=elf.relocation.size)


def elf_object(parts: Parts) -> list[Chunk]:
    """The object file of an export."""
    code = parts.code
    sections = [Section(".text", PROGRAM, ALLOCATE | EXECUTE, [code.contents], code.alignment)]
    if parts.weights:
        contents = weight_chunks(parts.weights)
        sections.append(Section(".rodata", PROGRAM, ALLOCATE, contents, ARENA_ALIGNMENT))
    # Without this section a program's stack becomes executable; where there is no system, linkers warn of it.
    sections += [] if code.arch == THUMB else [Section(".note.GNU-stack", PROGRAM, 0, [])]
    relocations, labels = with_labels(code.relocations)
    strings, rows, locals = _symbols(parts, labels)
    table = len(sections) + 1
    numbers = {name: number for number, (name, _) in enumerate(rows)}
    if code.relocations:
        sections.append(_relocation_section(parts, relocations, numbers, table + 1))
        table += 1
    symbols = [row for _, row in rows]
    size = elf_class(code.arch).symbol.size
    sections.append(Section(".symtab", SYMBOLS, 0, symbols, 8, link=table + 1, info=locals, entry_bytes=size))
    sections.append(Section(".strtab", STRINGS, 0, [bytes(strings.data)]))
    return _file(code.arch, sections)


def _symbols(parts: Parts, labels: Mapping[str, int]) -> tuple[Strings, list[tuple[str, bytes]], int]:
    """The names, the rows of the table of symbols by name, and the number of local ones, which come first."""
    strings, code = Strings(), parts.code
    elf = elf_class(code.arch)
    exported = {each.name: each for each in parts.symbols}
    rows = [("", bytes(elf.symbol.size))]

    is_thumb = code.arch == THUMB

    def add(name: str, binding: int, kind: int, section: int, place: tuple[int, int], hidden: bool) -> None:
        place = place[0] | (kind == FUNCTION and is_thumb), place[1]
        rows.append((name, symbol(elf, strings.offset(name), binding, kind, section, place, hidden)))

    if is_thumb:  # by these, debuggers know instructions from constants
        end = max(offset + size for offset, size in code.symbols.values())
        add("$t", LOCAL, 0, _TEXT, (0, 0), False)
        add("$d", LOCAL, 0, _TEXT, (end, 0), False)
    for name, offset in labels.items():
        add(name, LOCAL, 0, _TEXT, (offset, 0), False)
    for name, place in code.symbols.items():
        if name not in exported:
            add(name, LOCAL, FUNCTION, _TEXT, place, False)
    locals = len(rows)
    for name, each in exported.items():
        add(name, WEAK if each.is_weak else GLOBAL, FUNCTION, _TEXT, code.symbols[name], False)
    if parts.weights:
        add(parts.weights_symbol, GLOBAL, OBJECT, _TEXT + 1, (0, parts.weight_bytes), True)
    elif code.relocations:
        add(parts.weights_symbol, GLOBAL, 0, 0, (0, 0), True)
    return strings, rows, locals


def _file(arch: str, sections: list[Section]) -> list[Chunk]:
    """The whole file: header, contents, section table."""
    names = Strings()
    sections.append(Section(".shstrtab", STRINGS, 0, []))
    for each in sections:
        names.offset(each.name)
    sections[-1].chunks = [bytes(names.data)]
    elf = elf_class(arch)
    chunks, end = list[Chunk](), elf.header.size
    for each in sections:
        gap = -end % each.alignment
        each.offset = end + gap
        chunks += [bytes(gap), *each.chunks]
        end = each.offset + each.size
    gap = -end % 8
    first = header(arch, _RELOCATABLE, sections=len(sections) + 1, section_table=end + gap)
    return [first, *chunks, bytes(gap), section_rows(elf, sections, names)]
