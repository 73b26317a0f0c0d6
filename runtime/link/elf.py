"""
Reader of relocatable ELF files: little-endian, as LLVM writes them for x86-64, aarch64, riscv64, riscv32,
armv7 and Thumb, and for GPUs of AMD; and of the sections of any file of 64 bits.

Every claim of a file is checked against its size, since an artifact of an older version may contain any
bytes.
Source: System V ABI, chapters 4 and 5 (ELF-64 object file format).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from stepwell.runtime.link.thumb import THUMB

_MAGIC = b"\x7fELF"
_RELOCATABLE, _LOADABLE = 1, 3
AMDGCN = "amdgcn"
MACHINES: Mapping[int, str] = {62: "x86_64", 183: "aarch64", 243: "riscv64", 40: "armv7", 224: AMDGCN}
"""The architectures by their numbers in ELF files; that of RISC-V has two, by the class of the file."""
RISCV32 = "riscv32"


@dataclass(frozen=True)
class ElfClass:
    """The structs of ELF files of 64 or 32 bits."""

    bits: int
    header: struct.Struct
    section: struct.Struct
    symbol: struct.Struct
    relocation: struct.Struct
    has_addends: bool
    """Whether relocations have addends; otherwise addends are in the relocated bytes."""

    @property
    def ident(self) -> bytes:
        """The begin of a file: class, little endian, version 1."""
        return _MAGIC + bytes([self.bits // 32, 1, 1])


ELF64 = ElfClass(
    64,
    struct.Struct("<16sHHIQQQIHHHHHH"),
    struct.Struct("<IIQQQQIIQQ"),
    struct.Struct("<IBBHQQ"),
    struct.Struct("<QQq"),
    has_addends=True,
)
ELF32 = ElfClass(
    32,
    struct.Struct("<16sHHIIIIIHHHHHH"),
    struct.Struct("<IIIIIIIIII"),
    struct.Struct("<IIIBBH"),
    struct.Struct("<II"),
    has_addends=False,
)
_ELF32_WITH_ADDENDS = replace(ELF32, relocation=struct.Struct("<IIi"), has_addends=True)


def elf_class(arch: str) -> ElfClass:
    """The class of files for an architecture."""
    if arch == RISCV32:
        return _ELF32_WITH_ADDENDS
    return ELF32 if arch in ("armv7", THUMB) else ELF64


def arch_of_machine(machine: int, bits: int) -> str:
    """The architecture of a machine's number in files of 32 or 64 bits; nothing for an unknown one."""
    arch = MACHINES.get(machine, "")
    return RISCV32 if arch == "riscv64" and bits == 32 else arch


_UNUSED, _PROGRAM, _SYMBOLS, _STRINGS, _RELOCATIONS_WITH_ADDENDS, _NO_BITS, _RELOCATIONS = 0, 1, 2, 3, 4, 8, 9
_NOTE = 7  # the description of kernels in objects for GPUs of AMD
_UNWIND = 0x70000001  # x86-64's type of .eh_frame, and that of .ARM.exidx
_WRITE, _ALLOCATE, _EXECUTE = 1, 2, 4
_LOCAL, _WEAK = 0, 2
_FUNCTION, _OF_SECTION = 2, 3
_RESERVED = 0xFF00  # section numbers from here on have meanings of their own: absolute, common
_DEBUG = ".debug_"
MAX_ALIGNMENT = 1 << 12
_MAX_NAME_BYTES = 1 << 10  # many symbols may have the same name


@dataclass(frozen=True)
class Symbol:
    """A name in an object, defined there or elsewhere."""

    name: str
    section: int
    """The number of its section; 0 for a symbol that this object does not define."""
    offset: int
    size: int
    is_local: bool
    is_weak: bool
    is_function: bool = False


@dataclass(frozen=True)
class Relocation:
    """A place in a section that depends on the address of a symbol."""

    offset: int
    kind: int
    symbol: int
    addend: int


@dataclass(frozen=True)
class Section:
    """A section that occupies memory at run time."""

    number: int
    name: str
    contents: bytes
    alignment: int
    is_code: bool
    relocations: tuple[Relocation, ...]


@dataclass(frozen=True)
class ObjectFile:
    """A relocatable object: its architecture, sections in memory, and symbols."""

    arch: str
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]
    debug: tuple[Section, ...] = ()
    """The DWARF sections, which occupy no memory."""


@dataclass(frozen=True)
class _Header:
    """A row of the section table."""

    number: int
    name: int
    type: int
    flags: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int

    @property
    def occupies_memory(self) -> bool:
        return bool(self.flags & _ALLOCATE) and self.size > 0


def is_elf(data: bytes) -> bool:
    """Whether a file starts as ELF files do."""
    return data.startswith(_MAGIC)


def machine_of(data: bytes) -> str:
    """The architecture of an ELF file; nothing for an unknown one."""
    return arch_of_machine(int.from_bytes(data[18:20], "little"), 32 if data[4:5] == b"\1" else 64)


def read_object(data: bytes) -> ObjectFile:
    """The contents of a relocatable ELF file. Raises: ValueError with the claim that is wrong."""
    kind = elf_class(machine_of(data))
    headers, names = _section_table(data, kind)
    _expect_no_overlap(headers, kind)
    occupying = [header for header in headers if header.occupies_memory]
    for header in occupying:  # before their contents are read: those without bytes may claim the whole file
        _expect_supported(header, _text_at(data, names, header.name), machine_of(data))
    symbols = _symbols(data, headers, kind)
    relocations = _relocations(data, headers, len(symbols), kind)

    def section(header: _Header) -> Section:
        return Section(
            header.number,
            _text_at(data, names, header.name),
            data[header.offset : header.offset + header.size],
            max(1, header.alignment),
            bool(header.flags & _EXECUTE),
            relocations.get(header.number, ()),
        )

    others = (h for h in headers if h.type == _PROGRAM and not h.occupies_memory)
    debug = tuple(section(h) for h in others if _text_at(data, names, h.name).startswith(_DEBUG))
    arch, symbols = _of_thumb(machine_of(data), symbols)
    return ObjectFile(arch, tuple(map(section, occupying)), symbols, debug)


def _of_thumb(arch: str, symbols: tuple[Symbol, ...]) -> tuple[str, tuple[Symbol, ...]]:
    """The architecture and symbols of an object: addresses of Thumb functions are odd."""
    if arch != "armv7" or not any(symbol.is_function and symbol.offset & 1 for symbol in symbols):
        return arch, symbols
    return THUMB, tuple(replace(s, offset=s.offset & ~1) if s.is_function else s for s in symbols)


def section_contents(data: bytes, machine: str) -> Mapping[str, bytes]:
    """
    The sections in a loadable file of 64 bits, by name.

    Raises: ValueError with the claim that is wrong, also for a file for another machine.
    """
    headers, names = _section_table(data, ELF64, _LOADABLE)
    if (found := machine_of(data)) != machine:
        raise ValueError(f"it is for {found}")
    return {
        _text_at(data, names, header.name): data[header.offset : header.offset + header.size]
        for header in headers
        if header.type not in (_UNUSED, _NO_BITS)
    }


def _section_table(data: bytes, elf: ElfClass, type: int = _RELOCATABLE) -> tuple[list[_Header], _Header]:
    """The rows of the section table, and the row of their names."""
    if len(data) < elf.header.size or not data.startswith(elf.ident):
        raise ValueError(f"it is no ELF file of {elf.bits} bits")
    fields = elf.header.unpack_from(data)
    kind, machine, start, row_bytes, count, names = (int(fields[i]) for i in (1, 2, 6, 11, 12, 13))
    if kind != type or machine not in MACHINES:
        wanted = "object" if type == _RELOCATABLE else "loadable"
        raise ValueError(f"it is no {wanted} file for a known machine (type {kind}, machine {machine})")
    if row_bytes != elf.section.size or start + count * row_bytes > len(data) or names >= count:
        raise ValueError("its section table is outside of the file")
    headers: list[_Header] = []
    for number in range(count):
        name, kind, flags, _, offset, size, link, info, alignment, _ = elf.section.unpack_from(
            data, start + number * row_bytes
        )
        if kind != _NO_BITS and size and offset + size > len(data):
            raise ValueError(f"section {number} ends after the file")
        headers.append(_Header(number, name, kind, flags, offset, size, link, info, alignment))
    return headers, headers[names]


def _expect_no_overlap(headers: list[_Header], elf: ElfClass) -> None:
    end = elf.header.size
    in_file = [header for header in headers if header.size and header.type not in (_UNUSED, _NO_BITS)]
    for header in sorted(in_file, key=lambda header: header.offset):
        if header.offset < end:
            raise ValueError(f"section {header.number} overlaps what is before it")
        end = header.offset + header.size


def _expect_supported(header: _Header, name: str, arch: str) -> None:
    legal = (_PROGRAM, _UNWIND, *([_NOTE] if arch == AMDGCN else []))
    if header.type not in legal or header.flags & _WRITE:
        raise ValueError(f"section {name} is not code and no constants")
    if header.alignment & (header.alignment - 1) or header.alignment > MAX_ALIGNMENT:
        raise ValueError(f"section {name} wants to be aligned to {header.alignment}")


def _text_at(data: bytes, table: _Header, offset: int) -> str:
    """A name of a table of strings."""
    end = data.find(b"\0", table.offset + offset, table.offset + table.size) if offset < table.size else -1
    if end < 0:
        raise ValueError("a name is outside of the table of names")
    if end - table.offset - offset > _MAX_NAME_BYTES:
        raise ValueError(f"a name has more than {_MAX_NAME_BYTES} bytes")
    return data[table.offset + offset : end].decode("utf-8", "replace")


def _rows(data: bytes, header: _Header, row: struct.Struct) -> Iterator[tuple[int, ...]]:
    if header.size % row.size:
        raise ValueError(f"section {header.number} ends in the middle of a row")
    return row.iter_unpack(data[header.offset : header.offset + header.size])


def _symbols(data: bytes, headers: list[_Header], elf: ElfClass) -> tuple[Symbol, ...]:
    tables = [header for header in headers if header.type == _SYMBOLS]
    if len(tables) != 1 or tables[0].link >= len(headers) or headers[tables[0].link].type != _STRINGS:
        raise ValueError("it has no table of symbols")
    names, symbols = headers[tables[0].link], list[Symbol]()
    for row in _rows(data, tables[0], elf.symbol):
        name, info, _, section, value, size = row if elf.bits == 64 else (row[0], *row[3:], row[1], row[2])
        if section >= len(headers):
            # That of the file's name is absolute; nothing refers to it.
            section, value, size = (0, 0, 0) if section >= _RESERVED else (-1, 0, 0)
        binding, kind = info >> 4, info & 15
        is_function = kind == _FUNCTION
        begin = value - (value & 1 if is_function and elf.bits == 32 else 0)  # odd ones are Thumb
        if section < 0 or (section and begin + size > headers[section].size):
            raise ValueError("a symbol is outside of its section")
        text = "" if kind == _OF_SECTION else _text_at(data, names, name)
        symbols.append(Symbol(text, section, value, size, binding == _LOCAL, binding == _WEAK, is_function))
    return tuple(symbols)


def _relocations(
    data: bytes, headers: list[_Header], symbols: int, elf: ElfClass
) -> dict[int, tuple[Relocation, ...]]:
    """The relocations by the number of the section that they change."""
    found: dict[int, tuple[Relocation, ...]] = {}
    wanted, other = _RELOCATIONS_WITH_ADDENDS, _RELOCATIONS
    if not elf.has_addends:
        wanted, other = other, wanted
    for header in headers:
        if header.type == other:
            raise ValueError(f"it has relocations with{'out' if elf.has_addends else ''} addends")
        if header.type != wanted:
            continue
        if header.info >= len(headers) or header.info in found:
            raise ValueError(f"section {header.number} does not say which section it changes")
        rows = [_relocation(row, elf) for row in _rows(data, header, elf.relocation)]
        if any(row.symbol >= symbols for row in rows):
            raise ValueError("a relocation names a symbol that does not exist")
        found[header.info] = tuple(rows)
    return found


def _relocation(row: tuple[int, ...], elf: ElfClass) -> Relocation:
    offset, info, addend = row if elf.has_addends else (*row, 0)
    kind_bits = 32 if elf.bits == 64 else 8
    return Relocation(offset, info & ((1 << kind_bits) - 1), info >> kind_bits, addend)
