"""
Reader of relocatable WebAssembly objects, as LLVM writes them.

Source: WebAssembly tool conventions, Linking.md.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import NamedTuple

from stepwell.lowering.export.wasm.encoding import CODE, CUSTOM, DATA, FUNCTIONS, IMPORTS, MAGIC, TYPES, Bytes

FUNCTION, DATUM, GLOBAL, _SECTION, _TAG, TABLE = range(6)
"""The kinds of symbols."""
(
    FUNCTION_INDEX,
    TABLE_INDEX,
    TABLE_INDEX_I32,
    ADDRESS,
    ADDRESS_SIGNED,
    ADDRESS_I32,
    TYPE_INDEX,
    GLOBAL_INDEX,
) = range(8)
"""The kinds of relocations in code and data."""
TABLE_NUMBER = 20
_WITH_ADDEND = (ADDRESS, ADDRESS_SIGNED, ADDRESS_I32)
_WEAK, _LOCAL, _UNDEFINED, _EXPLICIT_NAME = 1, 2, 0x10, 0x40
_SYMBOL_TABLE, _SEGMENT_INFO = 8, 5


class Relocation(NamedTuple):
    """A place in a function or segment that depends on the whole module."""

    kind: int
    offset: int
    symbol: int
    """The number of a symbol of the object, or of a type for `TYPE_INDEX`."""
    addend: int


class Function(NamedTuple):
    """A function of an object."""

    type: bytes
    body: bytes
    relocations: tuple[Relocation, ...]


class Segment(NamedTuple):
    """Constants of an object."""

    contents: bytes
    alignment: int
    relocations: tuple[Relocation, ...]


class Symbol(NamedTuple):
    """A name of an object: a function's, a constant's, the stack pointer's or the table's."""

    kind: int
    name: str
    is_weak: bool
    is_local: bool
    is_defined: bool
    number: int
    """The number among the object's functions, or among its segments."""
    offset: int = 0


class WasmObject(NamedTuple):
    """An object: functions, constants, and the names of both."""

    types: tuple[bytes, ...]
    functions: tuple[Function, ...]
    segments: tuple[Segment, ...]
    symbols: tuple[Symbol, ...]


def read_object(data: bytes) -> WasmObject:
    """Read an object. Raises: ValueError if it is no object, or has parts that our code never has."""
    if data[: len(MAGIC)] != MAGIC:
        raise ValueError("it is no object of WebAssembly")
    reader = _Reader()
    rest = Bytes(data, len(MAGIC))
    for number in range(1 << 16):
        if rest.is_at_end:
            return reader.object()
        reader.read(number, rest.byte(), rest.take(rest.unsigned()))
    raise ValueError("the object has too many sections")


@dataclass
class _Reader:
    """The contents of the sections of an object that were read so far."""

    types: list[bytes] = field(default_factory=list[bytes])
    imported: list[str] = field(default_factory=list[str])
    """The names of imported functions."""
    globals: list[str] = field(default_factory=list[str])
    signatures: list[int] = field(default_factory=list[int])
    bodies: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    """The offset of each function in its section, and its bytes."""
    segments: list[tuple[int, bytes]] = field(default_factory=list[tuple[int, bytes]])
    alignments: list[int] = field(default_factory=list[int])
    symbols: list[Symbol] = field(default_factory=list[Symbol])
    sections: dict[int, int] = field(default_factory=dict[int, int])
    """The kind of each section by its number."""
    relocations: dict[int, list[Relocation]] = field(default_factory=dict[int, list[Relocation]])
    """By the kind of section."""

    def read(self, number: int, kind: int, contents: bytes) -> None:
        """Read a section."""
        self.sections[number] = kind
        data = Bytes(contents)
        readers = {TYPES: self._types, IMPORTS: self._imports, FUNCTIONS: self._functions}
        if kind in readers:
            for _ in range(data.unsigned()):
                readers[kind](data)
        elif kind in (CODE, DATA):
            for _ in range(data.unsigned()):
                self._piece(kind, data)
        elif kind == CUSTOM:
            name = data.text()
            if name == "linking":
                self._linking(data)
            elif name.startswith("reloc."):
                self._relocations(data)

    def _types(self, data: Bytes) -> None:
        begin = data.position
        data.byte()
        data.take(data.unsigned())
        data.take(data.unsigned())
        self.types.append(data.data[begin : data.position])

    def _imports(self, data: Bytes) -> None:
        data.text()
        name, kind = data.text(), data.byte()
        if kind == 0:
            data.unsigned()
            self.imported.append(name)
        elif kind == 3:
            data.take(2)
            self.globals.append(name)
        elif kind in (1, 2):  # a table has the type of its elements first
            data.take(2 - kind)
            flags = data.byte()
            data.unsigned()
            if flags & 1:
                data.unsigned()
        else:
            raise ValueError(f"it imports {name!r} of kind {kind}")

    def _functions(self, data: Bytes) -> None:
        self.signatures.append(data.unsigned())

    def _piece(self, kind: int, data: Bytes) -> None:
        """A function, or a segment of constants."""
        if kind == DATA:
            data.take(2)  # active, in memory 0: its address is an i32
            data.signed()
            data.byte()
        size = data.unsigned()
        begin = data.position
        pieces = self.segments if kind == DATA else self.bodies
        pieces.append((begin, data.take(size)))

    def _linking(self, data: Bytes) -> None:
        if (version := data.unsigned()) != 2:
            raise ValueError(f"its linking section is of version {version}")
        while not data.is_at_end:
            kind, rest = data.byte(), Bytes(data.take(data.unsigned()))
            for _ in range(rest.unsigned()) if kind in (_SYMBOL_TABLE, _SEGMENT_INFO) else ():
                if kind == _SYMBOL_TABLE:
                    self.symbols.append(self._symbol(rest))
                else:
                    rest.text()
                    self.alignments.append(1 << rest.unsigned())
                    rest.unsigned()

    def _symbol(self, data: Bytes) -> Symbol:
        kind, flags = data.byte(), data.unsigned()
        is_defined = not flags & _UNDEFINED
        rest = (bool(flags & _WEAK), bool(flags & _LOCAL), is_defined)
        if kind == DATUM:
            name = data.text()
            index, offset, _ = (data.unsigned() for _ in range(3)) if is_defined else (0, 0, 0)
            return Symbol(kind, name, *rest, index, offset)
        index = data.unsigned()
        if kind == _SECTION:
            return Symbol(kind, "", *rest, index)
        if is_defined or flags & _EXPLICIT_NAME:
            name = data.text()
        else:
            name = {FUNCTION: self.imported, GLOBAL: self.globals}.get(kind, [""] * (index + 1))[index]
        if kind == FUNCTION and is_defined:
            index -= len(self.imported)
        return Symbol(kind, name, *rest, index)

    def _relocations(self, data: Bytes) -> None:
        kind = self.sections[data.unsigned()]
        found = self.relocations.setdefault(kind, [])
        for _ in range(data.unsigned()):
            type, offset, index = data.byte(), data.unsigned(), data.unsigned()
            if kind not in (CODE, DATA):
                return
            if type > GLOBAL_INDEX and type != TABLE_NUMBER:
                raise ValueError(f"it has a relocation of unknown kind {type}")
            found.append(Relocation(type, offset, index, data.signed() if type in _WITH_ADDEND else 0))

    def object(self) -> WasmObject:
        """The object, whose relocations belong to functions and segments."""
        code = self._owned(CODE, self.bodies)
        data = self._owned(DATA, self.segments)
        functions = [
            Function(self.types[type], body, tuple(relocations))
            for type, (_, body), relocations in zip(self.signatures, self.bodies, code, strict=True)
        ]
        segments = [
            Segment(contents, alignment, tuple(relocations))
            for alignment, (_, contents), relocations in zip(
                self.alignments, self.segments, data, strict=True
            )
        ]
        return WasmObject(tuple(self.types), tuple(functions), tuple(segments), tuple(self.symbols))

    def _owned(self, kind: int, pieces: list[tuple[int, bytes]]) -> list[list[Relocation]]:
        """The relocations of each piece of a section, in order, with offsets in the piece."""
        begins = [begin for begin, _ in pieces]
        found: list[list[Relocation]] = [[] for _ in pieces]
        for relocation in sorted(self.relocations.get(kind, ()), key=lambda each: each.offset):
            owner = bisect_right(begins, relocation.offset) - 1
            if owner < 0:
                raise ValueError("a relocation is in no function and no segment")
            found[owner].append(relocation._replace(offset=relocation.offset - begins[owner]))
        return found
