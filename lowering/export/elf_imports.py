"""Functions outside of a shared library in ELF: a table of addresses that the loader of the system writes."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.lowering.export.ffi import IMPORTS
from stepwell.runtime.link.elf import ELF64, elf_class
from stepwell.runtime.link.elf_writer import (
    ALLOCATE,
    PROGRAM,
    RELOCATIONS,
    RELOCATIONS_IN_PLACE,
    WEAK,
    WRITE,
    Section,
    Strings,
    symbol,
)

# R_X86_64_GLOB_DAT, R_AARCH64_GLOB_DAT, R_RISCV_64, R_ARM_GLOB_DAT: the address of a symbol, 0 for a weak one
# that nothing defines.
_KINDS = {"x86_64": 6, "aarch64": 1025, "riscv64": 2, "armv7": 21}
_TAGS = {RELOCATIONS: (7, 8, 9), RELOCATIONS_IN_PLACE: (17, 18, 19)}
"""DT_RELA, DT_RELASZ and DT_RELAENT, or DT_REL and so on."""


def import_sections(arch: str) -> list[Section]:
    """The relocations and the table, without their addresses."""
    elf, count = elf_class(arch), len(IMPORTS)
    kind = RELOCATIONS if elf is ELF64 else RELOCATIONS_IN_PLACE
    rows, size = [bytes(elf.relocation.size * count)], elf.relocation.size
    relocations = Section(
        ".rela.dyn" if elf is ELF64 else ".rel.dyn", kind, ALLOCATE, rows, 8, 1, entry_bytes=size
    )
    return [relocations, Section(".got", PROGRAM, ALLOCATE | WRITE, [bytes(elf.bits // 8 * count)], 8)]


def import_symbols(arch: str, strings: Strings) -> list[bytes]:
    """The rows of the functions in the table of symbols: weak, as programs without them load the file too."""
    elf = elf_class(arch)
    return [symbol(elf, strings.offset(name), WEAK, 0, 0, (0, 0), False) for name in IMPORTS]


def import_relocations(arch: str, table: Section, first: int) -> list[bytes]:
    """The relocations that fill a table; `first` is the number of the first function among the symbols."""
    elf, kind = elf_class(arch), _KINDS[arch]
    places = [(table.address + elf.bits // 8 * i, first + i) for i in range(len(IMPORTS))]
    if elf is ELF64:
        return [elf.relocation.pack(place, number << 32 | kind, 0) for place, number in places]
    return [elf.relocation.pack(place, number << 8 | kind) for place, number in places]


def import_entries(relocations: Section) -> Sequence[tuple[int, int]]:
    """The entries of the dynamic section about the relocations."""
    values = relocations.address, relocations.size, relocations.entry_bytes
    return list(zip(_TAGS[relocations.type], values, strict=True))
