"""The file of machine code for a system, by suffix, and the functions that its code calls by itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stepwell.lowering.export.archive import Member, archive, bsd_archive
from stepwell.lowering.export.elf_object import elf_object
from stepwell.lowering.export.elf_shared import elf_shared
from stepwell.lowering.export.parts import Chunk, Parts
from stepwell.lowering.export.systems import coff_object, macho_library, macho_object, pe_library
from stepwell.runtime.link.elf import ObjectFile, Section, Symbol
from stepwell.runtime.targets.triples import arch_of, system_of

_OBJECTS = {"linux": elf_object, "windows": coff_object, "apple": macho_object, "none": elf_object}
# Touches each page of a frame of rax bytes, in order: Windows adds pages to a stack one by one.
_STACK_CHECK = bytes.fromhex(
    "5150483d00100000488d4c241872184881e900100000488509482d00100000483d0010000077e84829c14885095859c3"
)


def code_file(parts: Parts, triple: str, path: Path) -> Sequence[Chunk]:
    """An object, static or shared library of code, as the suffix of the path says."""
    system = system_of(triple)
    if path.suffix == ".o":
        return _OBJECTS[system](parts)
    if path.suffix == ".a":
        prefix, write = ("_", bsd_archive) if system == "apple" else ("", archive)
        symbols = [prefix + symbol.name for symbol in parts.symbols]
        return write([Member(f"{parts.name}.o", _OBJECTS[system](parts), symbols)])
    if system == "windows":
        return pe_library(parts, path.name)
    return macho_library(parts, path.name) if system == "apple" else elf_shared(parts)


def support_of_system(triple: str) -> list[ObjectFile]:
    """The functions that code for a system calls by itself."""
    if system_of(triple) != "windows":
        return []
    check = Symbol("__chkstk", 1, 0, len(_STACK_CHECK), False, False, True)
    section = Section(1, ".text", _STACK_CHECK, 16, True, ())
    return [ObjectFile(arch_of(triple), (section,), (Symbol("", 0, 0, 0, True, False), check))]
