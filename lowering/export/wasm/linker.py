"""
The linker of WebAssembly: objects to one module, which imports its memory and nothing else.

Memory begins with the stack, which grows downwards: a call that needs more than there is traps. Constants
follow, then weights of the module's own; the rest is the caller's from `__heap_base` on. Functions and
constants that no exported function reaches are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from stepwell.lowering.export.wasm.encoding import signed, unsigned
from stepwell.lowering.export.wasm.objects import (
    ADDRESS,
    ADDRESS_I32,
    ADDRESS_SIGNED,
    DATUM,
    FUNCTION,
    FUNCTION_INDEX,
    GLOBAL,
    GLOBAL_INDEX,
    TABLE_INDEX,
    TABLE_INDEX_I32,
    TABLE_NUMBER,
    TYPE_INDEX,
    Function,
    Relocation,
    Segment,
    Symbol,
    WasmObject,
)
from stepwell.runtime.link.linker import UndefinedSymbols

_STACK_POINTER = "__stack_pointer"
_MASK = (1 << 32) - 1
Piece = tuple[int, int, int]
"""A function or a segment: the number of its object, its kind, and its number there."""


class LinkedModule(NamedTuple):
    """The contents of a module."""

    types: tuple[bytes, ...]
    functions: tuple[tuple[int, bytes], ...]
    """The number of the type of each function, and its code."""
    exports: Mapping[str, int]
    """The numbers of functions by name."""
    elements: tuple[int, ...]
    """The functions in the table, from 1 on: 0 is the null pointer."""
    segments: tuple[tuple[int, bytes], ...]
    """Addresses and contents of constants."""
    end: int
    """The first address after stack and constants."""


def link_module(
    objects: Sequence[WasmObject],
    exports: Sequence[str],
    *,
    stack_bytes: int,
    open: Mapping[str, int] | None = None,
    alignment: int = 64,
) -> LinkedModule:
    """
    Link objects.

    Args: `exports` are functions, of which those that nothing defines are left out; `open` maps names to
    their offsets from the end of constants, which is a multiple of `alignment`.
    Raises: UndefinedSymbols; ValueError for names that are defined twice.
    """
    link = _Link(objects, open or {}, stack_bytes)
    link.define()
    return link.module([name for name in exports if (FUNCTION, name) in link.defined], alignment)


@dataclass
class _Link:
    """The state of linking."""

    objects: Sequence[WasmObject]
    open: Mapping[str, int]
    end: int
    """The first address without contents."""
    defined: dict[tuple[int, str], tuple[int, Symbol]] = field(
        default_factory=dict[tuple[int, str], tuple[int, Symbol]]
    )
    """The definition of each global symbol, and the number of its object."""
    types: dict[bytes, int] = field(default_factory=dict[bytes, int])
    functions: dict[Piece, int] = field(default_factory=dict[Piece, int])
    """The number of each function that is reached, in this order."""
    addresses: dict[Piece, int] = field(default_factory=dict[Piece, int])
    """The address of each segment that is reached."""
    elements: dict[int, int] = field(default_factory=dict[int, int])
    """The place in the table of each function whose address is used."""

    def define(self) -> None:
        """Find the definition of each global symbol: the strong one, or the first of weak ones."""
        for number, file in enumerate(self.objects):
            for symbol in file.symbols:
                if symbol.is_local or not symbol.is_defined or symbol.kind not in (FUNCTION, DATUM):
                    continue
                key = symbol.kind, symbol.name
                _, known = self.defined.get(key, (0, None))
                if known is not None and not known.is_weak and not symbol.is_weak:
                    raise ValueError(f"symbol {symbol.name!r} is defined twice")
                if known is None or (known.is_weak and not symbol.is_weak):
                    self.defined[key] = (number, symbol)

    def module(self, exports: Sequence[str], alignment: int) -> LinkedModule:
        """The module with some functions, and all that these reach."""
        roots = [self.defined[FUNCTION, name] for name in exports]
        self._reach([(number, FUNCTION, symbol.number) for number, symbol in roots])
        for piece in self.addresses:
            segment = self._segment(piece)
            self.end += -self.end % segment.alignment
            self.addresses[piece] = self.end
            self.end += len(segment.contents)
        self.end += -self.end % alignment
        functions = [
            (self._type(self._function(piece).type), self._linked(piece, self._function(piece)))
            for piece in self.functions
        ]
        segments = [(address, self._patched(piece)) for piece, address in self.addresses.items()]
        return LinkedModule(
            tuple(self.types),
            tuple(functions),
            {
                name: self.functions[number, FUNCTION, symbol.number]
                for name, (number, symbol) in zip(exports, roots, strict=True)
            },
            tuple(self.elements),
            tuple(segments),
            self.end,
        )

    def _function(self, piece: Piece) -> Function:
        return self.objects[piece[0]].functions[piece[2]]

    def _segment(self, piece: Piece) -> Segment:
        return self.objects[piece[0]].segments[piece[2]]

    def _reach(self, waiting: list[Piece]) -> None:
        """Number the functions and note the segments that some functions reach, in the order of objects."""
        reached: set[Piece] = set()
        missing: set[str] = set()
        while waiting:
            piece = waiting.pop()
            if piece in reached:
                continue
            reached.add(piece)
            owner = self._function(piece) if piece[1] == FUNCTION else self._segment(piece)
            for relocation in owner.relocations:
                if relocation.kind in (TYPE_INDEX, TABLE_NUMBER):
                    continue
                target = self._target(piece[0], relocation)
                if isinstance(target, Symbol):
                    missing.add(target.name)
                elif target is not None:
                    waiting.append(target)
        if missing:
            raise UndefinedSymbols(sorted(missing))
        for piece in sorted(reached):
            if piece[1] == FUNCTION:
                self.functions[piece] = len(self.functions)
            else:
                self.addresses[piece] = 0

    def _target(self, number: int, relocation: Relocation) -> Piece | Symbol | None:
        """The piece that a relocation refers to; None for the linker's own; a symbol that nothing defines."""
        owner, symbol = self._resolved(number, relocation.symbol)
        if symbol.kind == GLOBAL and symbol.name == _STACK_POINTER:
            return None
        if symbol.is_defined and symbol.kind in (FUNCTION, DATUM):
            return owner, symbol.kind, symbol.number
        return None if symbol.kind == DATUM and symbol.name in self.open else symbol

    def _resolved(self, number: int, index: int) -> tuple[int, Symbol]:
        """The definition of a symbol, which may be in another object, or the symbol itself."""
        symbol = self.objects[number].symbols[index]
        return (
            (number, symbol)
            if symbol.is_local
            else self.defined.get((symbol.kind, symbol.name), (number, symbol))
        )

    def _type(self, type: bytes) -> int:
        return self.types.setdefault(type, len(self.types))

    def _linked(self, piece: Piece, function: Function) -> bytes:
        """The code of a function: numbers have as few bytes as they need, since no code counts in bytes."""
        parts, end = list[bytes](), 0
        for relocation in function.relocations:
            parts.append(function.body[end : relocation.offset])
            value = self._value(piece[0], relocation)
            is_signed = relocation.kind in (TABLE_INDEX, ADDRESS_SIGNED)
            parts.append(signed(_as_i32(value)) if is_signed else unsigned(value))
            end = relocation.offset + _padded_bytes(function.body, relocation.offset)
        return b"".join([*parts, function.body[end:]])

    def _patched(self, piece: Piece) -> bytes:
        """The contents of a segment."""
        segment = self._segment(piece)
        contents = bytearray(segment.contents)
        for relocation in segment.relocations:
            value = self._value(piece[0], relocation)
            contents[relocation.offset : relocation.offset + 4] = value.to_bytes(4, "little")
        return bytes(contents)

    def _value(self, number: int, relocation: Relocation) -> int:
        """The number that takes a relocation's place."""
        kind = relocation.kind
        if kind == TYPE_INDEX:
            return self._type(self.objects[number].types[relocation.symbol])
        if kind in (TABLE_NUMBER, GLOBAL_INDEX):
            return 0  # there is one table, and one global
        owner, symbol = self._resolved(number, relocation.symbol)
        if kind in (ADDRESS, ADDRESS_SIGNED, ADDRESS_I32):
            if symbol.is_defined:
                address = self.addresses[owner, DATUM, symbol.number] + symbol.offset
            else:
                address = self.end + self.open[symbol.name]
            return address + relocation.addend & _MASK
        function = self.functions[owner, FUNCTION, symbol.number]
        if kind == FUNCTION_INDEX:
            return function
        assert kind in (TABLE_INDEX, TABLE_INDEX_I32)
        return self.elements.setdefault(function, len(self.elements) + 1)


def _as_i32(value: int) -> int:
    return value - (1 << 32) if value >> 31 else value


def _padded_bytes(body: bytes, offset: int) -> int:
    """The bytes of a number in an object, where it has room for any."""
    end = offset
    while body[end] & 0x80:
        end += 1
    return end + 1 - offset
