"""Objects that can be linked again: linked code of an artifact, and RISC-V objects with resolved pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from stepwell.runtime.link.code import LinkedCode
from stepwell.runtime.link.elf import ObjectFile, Relocation, Section, Symbol, read_object
from stepwell.runtime.link.relocations import (
    CODE_ALIGNMENT,
    LOW12_BY_ADDITION,
    LOW12_OF_LOAD,
    LOW12_OF_STORE,
    STUB_BYTES,
    without_gap,
    write_jump,
)

Open: TypeAlias = tuple[int, int, str, int]
"""A relocation of linked code for a symbol elsewhere: offset, kind, symbol, addend."""
_HIGH, _HIGH_OF_SLOT = 23, 20  # PCREL_HI20, GOT_HI20
_LOW = {24: LOW12_OF_LOAD, 25: LOW12_OF_STORE}  # PCREL_LO12_I, PCREL_LO12_S


def as_object(arch: str, code: LinkedCode) -> ObjectFile:
    """
    Linked code as an object that can be linked again: one section, whose jumps to functions outside refer to
    symbols.
    """
    text, frames, frame_bytes = code.text_bytes, *code.frames
    constants = code.contents[text:]
    if frame_bytes:  # they come after constants, and before the table, which the jumps replace
        constants = constants[: frames - code.data_offset]
    contents = bytearray(code.contents[:text])
    if constants:
        contents += bytes(code.data_offset - text) + constants
        without_gap(contents, arch, text, code.data_offset)
    relocations: list[Relocation] = []
    symbols = [Symbol(name, 1, *place, False, False, True) for name, place in code.functions.items()]
    first = code.text_bytes - STUB_BYTES[arch] * len(code.outside)
    for number, name in enumerate(code.outside):
        place = first + number * STUB_BYTES[arch]
        offset, kind, addend = write_jump(contents, arch, place)
        relocations.append(Relocation(offset, kind, len(symbols), addend))
        symbols.append(Symbol(name, 0, 0, 0, False, False))
    alignment = CODE_ALIGNMENT[arch]
    section = Section(1, ".text", bytes(contents), alignment, True, tuple(relocations))
    return ObjectFile(arch, (section,), tuple(symbols))


def read_paired(data: bytes) -> ObjectFile:
    """
    An object file whose relocations each name the symbol that they are about. Raises: ValueError.

    RISC-V computes a distance by two instructions, and the relocation of the second one names the first.
    """
    file = read_object(data)
    return replace(file, sections=tuple(_paired(file, s) for s in file.sections)) if _is_riscv(file) else file


def with_labels(relocations: Sequence[Open]) -> tuple[list[Open], dict[str, int]]:
    """
    Relocations of linked code as other linkers take them, and the labels that they name, with their offsets.

    It undoes what `read_paired` did: the second instruction of RISC-V's pairs names a label at the first one.
    """
    firsts = {r[0]: r for r in relocations if r[1] in (_HIGH, _HIGH_OF_SLOT)}
    own = {**{kind: plain for plain, kind in _LOW.items()}, LOW12_BY_ADDITION: min(_LOW)}
    rows, labels = list[Open](), dict[str, int]()
    for offset, kind, symbol, addend in relocations:
        if kind not in own:
            rows.append((offset, kind, symbol, addend))
            continue
        place = next(
            place for place, (_, _, name, high) in firsts.items()
            if name == symbol and place - high == offset - addend
        )  # fmt: skip
        labels[label := f".Lpair{place:x}"] = place
        rows.append((offset, own[kind], label, 0))
    return rows, labels


def _is_riscv(file: ObjectFile) -> bool:
    return file.arch in ("riscv64", "riscv32")


def _paired(file: ObjectFile, section: Section) -> Section:
    firsts = {r.offset: r for r in section.relocations if r.kind in (_HIGH, _HIGH_OF_SLOT)}

    def resolved(relocation: Relocation) -> Relocation:
        if relocation.kind not in _LOW:
            return relocation
        label = file.symbols[relocation.symbol]
        first = firsts.get(label.offset) if label.section == section.number else None
        if first is None:
            raise ValueError("the second instruction of a pair has no first one")
        kind = LOW12_BY_ADDITION if first.kind == _HIGH_OF_SLOT else _LOW[relocation.kind]
        addend = first.addend + relocation.offset - first.offset
        return Relocation(relocation.offset, kind, first.symbol, addend)

    return replace(section, relocations=tuple(map(resolved, section.relocations)))
