"""
The linker: relocatable objects to one image, in which only the addresses of outside functions are open.

The compiler links, so loading a model takes one copy and a few addresses; a loader links only the objects in
artifacts of version 1. Functions come first, then a jump for each function outside, then, on pages of their
own, constants, and the table with the addresses that these jumps go to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stepwell.runtime.link.code import MAX_IMAGE_BYTES, PAGE_BYTES, POINTER_BYTES, LinkedCode
from stepwell.runtime.link.debug_file import debug_file
from stepwell.runtime.link.elf import ObjectFile, Relocation, Section, Symbol, read_object
from stepwell.runtime.link.outside import is_known
from stepwell.runtime.link.relocations import (
    CALLS,
    CODE_ALIGNMENT,
    LOADS,
    PATCHED_BYTES,
    PATCHES,
    STUB_BYTES,
    write_stub,
)
from stepwell.runtime.link.thumb import THUMB

_FRAMES = ".eh_frame"
_FRAMES_END = bytes(4)


def link(objects: Sequence[bytes]) -> LinkedCode:
    """
    Link ELF objects; a symbol that none of them defines is looked up among the functions outside.

    Raises: ValueError for an object that is damaged, contains writable data or an unknown kind of relocation,
    or needs a symbol that nothing defines.
    """
    files = [read_object(data) for data in objects]
    if len(arches := {file.arch for file in files}) != 1:
        raise ValueError(f"the objects are for {', '.join(sorted(arches)) or 'no machine'}")
    return _Link(arches.pop(), files).image()


class FlatCode(NamedTuple):
    """
    Position-independent code in one piece that calls nothing outside, and relocations for open symbols.

    It is correct at any multiple of its alignment, functions, constants and all.
    """

    arch: str
    contents: bytes
    symbols: Mapping[str, tuple[int, int]]
    """Offset and size of each global symbol."""
    relocations: tuple[tuple[int, int, str, int], ...]
    """Offset, kind, symbol and addend of what is open."""
    alignment: int


class UndefinedSymbols(ValueError):
    """Code needs functions that nothing defines; `names` are theirs."""

    def __init__(self, names: Sequence[str]):
        super().__init__(f"nothing defines {', '.join(names)}")
        self.names = tuple(names)


def flat_link(files: Sequence[ObjectFile], open: Collection[str] = ()) -> FlatCode:
    """
    Link objects to code that needs nothing else.

    Args: `open` are symbols whose addresses are not known yet.
    Raises: UndefinedSymbols; ValueError as `link`.
    """
    if len(arches := {file.arch for file in files}) != 1:
        raise ValueError(f"the objects are for {', '.join(sorted(arches)) or 'no machine'}")
    return _Link(arches.pop(), list(files), open).flat()


def _is_kept(section: Section) -> bool:
    """Whether a section is code or constants: nothing unwinds exported code."""
    return not section.name.startswith((_FRAMES, ".note", ".ARM.ex"))


@dataclass
class _Link:
    """The state of linking: the image so far, and the places in it of sections and symbols."""

    arch: str
    files: list[ObjectFile]
    open: Collection[str] = ()
    """Symbols whose relocations are left open."""
    memory: bytearray = field(default_factory=bytearray)
    places: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    """The offset of each section in the image, by the numbers of object and section."""
    defined: dict[str, tuple[int, Symbol]] = field(default_factory=dict[str, tuple[int, Symbol]])
    """The definition of each global symbol, and the number of its object."""
    stubs: dict[str, int] = field(default_factory=dict[str, int])
    """The offset of the jump to each function outside."""
    slots: dict[str, int] = field(default_factory=dict[str, int])
    """The offset of the address of each function outside."""

    def image(self) -> LinkedCode:
        """The linked image."""
        sections = [(n, section) for n, file in enumerate(self.files) for section in file.sections]
        if sum(len(section.contents) for _, section in sections) > MAX_IMAGE_BYTES // 2:
            raise ValueError(f"the objects have more than {MAX_IMAGE_BYTES // 2} bytes")
        self._define()
        # Functions, and jumps to those outside.
        self._place((n, section) for n, section in sections if section.is_code)
        self._reserve_stubs()
        text_bytes = len(self.memory)
        self._align(PAGE_BYTES[self.arch])
        data_offset = len(self.memory)
        # Constants, frames, and the table of addresses.
        self._place((n, s) for n, s in sections if not s.is_code and s.name != _FRAMES)
        self._align(POINTER_BYTES)
        start = len(self.memory)
        self._place((n, section) for n, section in sections if section.name == _FRAMES)
        self.memory += _FRAMES_END
        frames = (start, len(self.memory) - start)
        self._align(POINTER_BYTES)
        self._write_stubs()
        for number, section in sections:
            for relocation in section.relocations:
                self._relocate(number, section, relocation)
        contents = bytes(self.memory[:text_bytes] + self.memory[data_offset:])
        functions = self._functions()
        debug = debug_file(self.arch, self.files, self.places, text_bytes, functions)
        outside = tuple(self.stubs)
        return LinkedCode(contents, text_bytes, data_offset, outside, functions, frames, debug).checked()

    def flat(self) -> FlatCode:
        """Functions and constants without a gap, and without the frames of `image`."""
        sections = [
            (n, section)
            for n, file in enumerate(self.files)
            for section in file.sections
            if _is_kept(section)
        ]
        self._define()
        used = {self.files[n].symbols[r.symbol] for n, section in sections for r in section.relocations}
        missing = {s.name for s in used if not (s.section or s.is_local)} - {*self.defined, *self.open}
        if missing:
            raise UndefinedSymbols(sorted(missing))
        self._place((n, section) for n, section in sections if section.is_code)
        self._place((n, section) for n, section in sections if not section.is_code)
        rest: list[tuple[int, int, str, int]] = []
        for number, section in sections:
            for relocation in section.relocations:
                symbol = self.files[number].symbols[relocation.symbol]
                if symbol.name in self.open and symbol.name not in self.defined:
                    place = self.places[number, section.number] + relocation.offset
                    rest.append((place, relocation.kind, symbol.name, relocation.addend))
                else:
                    self._relocate(number, section, relocation)
        symbols = {
            name: (self._offset(number, symbol), symbol.size)
            for name, (number, symbol) in self.defined.items()
        }
        alignment = max(CODE_ALIGNMENT[self.arch], *(section.alignment for _, section in sections))
        return FlatCode(self.arch, bytes(self.memory), symbols, tuple(rest), alignment)

    def _define(self) -> None:
        """Find the definition of each global symbol: the strong one, or the first of weak ones."""
        for number, file in enumerate(self.files):
            for symbol in file.symbols:
                if symbol.is_local or not symbol.section:
                    continue
                _, known = self.defined.get(symbol.name, (0, None))
                if known is not None and not known.is_weak and not symbol.is_weak:
                    raise ValueError(f"symbol {symbol.name!r} is defined twice")
                if known is None or (known.is_weak and not symbol.is_weak):
                    self.defined[symbol.name] = (number, symbol)

    def _align(self, alignment: int) -> None:
        self.memory += bytes(-len(self.memory) % alignment)

    def _place(self, sections: Iterable[tuple[int, Section]]) -> None:
        """Append sections to the image; constants that are there already are shared."""
        shared: dict[tuple[bytes, int], int] = {}
        for number, section in sections:
            key = (section.contents, section.alignment)
            is_shared = not section.is_code and not section.relocations
            if is_shared and key in shared:
                self.places[number, section.number] = shared[key]
                continue
            self._align(section.alignment)
            self.places[number, section.number] = shared[key] = len(self.memory)
            self.memory += section.contents

    def _reserve_stubs(self) -> None:
        """Room for a jump to each function that no object defines."""
        size = STUB_BYTES[self.arch]
        self._align(size)
        for file in self.files:
            for symbol in file.symbols:
                if symbol.section or not symbol.name or symbol.name in self.defined or symbol.is_local:
                    continue
                if not is_known(symbol.name):
                    raise ValueError(f"nothing defines the symbol {symbol.name!r}")
                if symbol.name not in self.stubs:
                    self.stubs[symbol.name] = len(self.memory)
                    self.memory += bytes(size)

    def _write_stubs(self) -> None:
        """The table of addresses, zero until a loader fills it, and the jumps through it."""
        for name, place in self.stubs.items():
            self.slots[name] = len(self.memory)
            write_stub(self.memory, self.arch, place, self.slots[name])
            self.memory += bytes(POINTER_BYTES)

    def _relocate(self, number: int, section: Section, relocation: Relocation) -> None:
        kind, symbol = relocation.kind, self.files[number].symbols[relocation.symbol]
        if relocation.offset + PATCHED_BYTES > len(section.contents):
            raise ValueError(f"section {section.name} has a relocation after its end")
        address = self._address(number, symbol)
        if kind in PATCHES[self.arch] and (address is not None or kind in CALLS.get(self.arch, ())):
            patch, target = PATCHES[self.arch][kind], self.stubs[symbol.name] if address is None else address
        elif kind in LOADS.get(self.arch, {}):
            inside, outside = LOADS[self.arch][kind]
            patch, target = (outside, self.slots[symbol.name]) if address is None else (inside, address)
        else:
            raise ValueError(f"section {section.name} has a relocation of unknown kind {kind}")
        place = self.places[number, section.number] + relocation.offset
        patch(self.memory, place, target, relocation.addend)

    def _address(self, number: int, symbol: Symbol) -> int | None:
        """The offset of a symbol in the image, None for a function outside."""
        if not symbol.is_local and symbol.name in self.defined:
            number, symbol = self.defined[symbol.name]
        if not symbol.section and symbol.name in self.stubs:
            return None
        # An address of Thumb code is odd.
        return self._offset(number, symbol) | (symbol.is_function and self.arch == THUMB)

    def _offset(self, number: int, symbol: Symbol) -> int:
        """The offset in the image of a symbol that the object of this number defines."""
        if (place := self.places.get((number, symbol.section))) is None:
            raise ValueError(f"symbol {symbol.name!r} is in a section without memory")
        return place + symbol.offset

    def _functions(self) -> dict[str, tuple[int, int]]:
        """Offset and size of each function: of global ones, then of those that only their object knows."""
        code = {(n, s.number) for n, file in enumerate(self.files) for s in file.sections if s.is_code}
        known = [(number, symbol, self._offset(number, symbol)) for number, symbol in self.defined.values()]
        for number, file in enumerate(self.files):
            local = [s for s in file.symbols if s.is_local and s.is_function and (number, s.section) in code]
            known += [(number, symbol, self._offset(number, symbol)) for symbol in local]
        found: dict[str, tuple[int, int]] = {}
        for number, symbol, offset in known:
            if (number, symbol.section) in code:
                found.setdefault(symbol.name, (offset, symbol.size))
        return found
