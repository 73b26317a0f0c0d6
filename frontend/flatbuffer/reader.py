"""FlatBuffers read with every offset checked: tables, vectors and text of a file that may lie."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from stepwell.frontend.flatbuffer.schema import Field, Schema
from stepwell.runtime.errors import StepwellError

ItemT = TypeVar("ItemT")
MAX_ITEMS = 1 << 20
"""The longest vector of tables or texts: each item costs some microseconds."""
MAX_TABLES = 1 << 22
"""The most tables that are read from a file, in which many offsets can refer to one table."""
_FORMATS: Mapping[str, str] = {
    "bool": "<B",
    "i8": "<b",
    "u8": "<B",
    "i16": "<h",
    "u16": "<H",
    "i32": "<i",
    "u32": "<I",
    "i64": "<q",
    "u64": "<Q",
    "f32": "<f",
    "f64": "<d",
}
"""The formats of numbers by the schema's name of the type."""


class FlatBuffer:
    """The bytes of a file, with the schema of its tables."""

    def __init__(self, data: memoryview, name: str, schema: Schema):
        self.data, self.name, self.schema = data, name, schema
        self._tables = 0

    def root(self, table: str) -> Table:
        """The table at which the file begins. Raises: StepwellError `invalid-model`, as all of these."""
        return Table(self, self.offset(0, table), table)

    def number(self, position: int, kind: str, what: str) -> int | float:
        """A number at a position."""
        form = _FORMATS[kind]
        if not 0 <= position <= len(self.data) - struct.calcsize(form):
            raise self.outside(position, what)
        return struct.unpack_from(form, self.data, position)[0]

    def offset(self, position: int, what: str) -> int:
        """The position to which a relative offset at another one points."""
        target = position + int(self.number(position, "u32", what))
        if target >= len(self.data):
            raise self.outside(target, what)
        return target

    def bytes(self, position: int, length: int, what: str) -> memoryview:
        """Some bytes."""
        if not 0 <= position <= len(self.data) - length:
            raise self.outside(position + length, what)
        return self.data[position : position + length]

    def count_table(self) -> None:
        """Count a table that is read."""
        self._tables += 1
        if self._tables > MAX_TABLES:
            raise self.invalid(f"the file has more than {MAX_TABLES} tables")

    def outside(self, position: int, what: str) -> StepwellError:
        """The error for an offset that leaves the file."""
        return self.invalid(
            f"byte {position}, for `{what}`, is outside of the file of {len(self.data)} bytes"
        )

    def invalid(self, message: str, help: str | None = None) -> StepwellError:
        """The error for a file that is damaged."""
        return StepwellError("invalid-model", self.name, message, help=help)


class Table:
    """A table of a file: its fields by their names in the schema."""

    def __init__(self, buffer: FlatBuffer, position: int, kind: str):
        buffer.count_table()
        self.buffer, self.position, self.kind = buffer, position, kind
        self.fields = buffer.schema.fields_of(kind)
        self._slots = position - int(buffer.number(position, "i32", kind))
        self._slots_bytes = int(buffer.number(self._slots, "u16", kind))

    def _position(self, name: str) -> int:
        """The position of a field; 0 for one that is absent."""
        slot = 4 + 2 * self.fields[name].slot
        if slot + 2 > self._slots_bytes:
            return 0
        relative = int(self.buffer.number(self._slots + slot, "u16", self._title(name)))
        return self.position + relative if relative else 0

    def has(self, name: str) -> bool:
        """Whether a field is present."""
        return bool(self._position(name))

    def integer(self, name: str) -> int:
        """A whole number, or its default."""
        return int(self.number(name))

    def number(self, name: str) -> int | float:
        """A number, or its default."""
        field = self.fields[name]
        if not (position := self._position(name)):
            return field.default
        return self.buffer.number(position, field.number_type, self._title(name))

    def text(self, name: str) -> str:
        """Text; empty if it is absent."""
        if not (position := self._position(name)):
            return ""
        return self._text_at(position, name)

    def table(self, name: str, kind: str | None = None) -> Table | None:
        """A table, or one of a union, whose kind the caller knows."""
        if not (position := self._position(name)):
            return None
        target = self.buffer.offset(position, self._title(name))
        return Table(self.buffer, target, kind or self.fields[name].type)

    def tables(self, name: str) -> list[Table]:
        """The tables of a vector."""
        kind = self.fields[name].item_type
        return self._items(
            name, lambda at: Table(self.buffer, self.buffer.offset(at, self._title(name)), kind)
        )

    def texts(self, name: str) -> list[str]:
        """The texts of a vector."""
        return self._items(name, lambda at: self._text_at(at, name))

    def array(self, name: str) -> npt.NDArray[np.generic] | None:
        """The numbers of a vector, where they are in the file; None if it is absent."""
        if not (position := self._position(name)):
            return None
        dtype = np.dtype(_FORMATS[self.fields[name].item_type])
        begin, length = self._vector(position, name)
        data = self.buffer.bytes(begin, length * dtype.itemsize, self._title(name))
        return np.frombuffer(data, dtype)

    def integers(self, name: str) -> list[int]:
        """The whole numbers of a vector; empty if it is absent."""
        found = self.array(name)
        if found is not None and found.size > MAX_ITEMS:
            raise self.buffer.invalid(f"`{self._title(name)}` has {found.size} items")
        return [] if found is None else [int(each) for each in found.tolist()]

    def enum(self, name: str) -> str:
        """The name of a number of an enumeration."""
        field, number = self.fields[name], self.integer(name)
        if (found := field.enum_names.get(number)) is None:
            raise self.buffer.invalid(f"`{self._title(name)}` has the unknown value {number}")
        return found

    def value(self, field: Field) -> object:
        """The value of a field of options, as `dialects.foreign` has it."""
        if field.is_list:
            return tuple(self.integers(field.name)) if field.item_type[0] != "f" else self._floats(field.name)
        if field.type == "str":
            return self.text(field.name)
        if field.enum_names:
            return self.enum(field.name)
        number = self.number(field.name)
        return bool(number) if field.type == "bool" else number

    def _floats(self, name: str) -> tuple[float, ...]:
        found = self.array(name)
        return () if found is None else tuple(map(float, found.tolist()))

    def _items(self, name: str, item: Callable[[int], ItemT]) -> list[ItemT]:
        """The items of a vector of offsets."""
        if not (position := self._position(name)):
            return []
        begin, length = self._vector(position, name)
        self.buffer.bytes(begin, length * 4, self._title(name))
        return [item(begin + 4 * index) for index in range(length)]

    def _vector(self, position: int, name: str) -> tuple[int, int]:
        """The position of the first item of a vector, and the number of items."""
        begin = self.buffer.offset(position, self._title(name))
        length = int(self.buffer.number(begin, "u32", self._title(name)))
        if self.fields[name].item_type not in _FORMATS and length > MAX_ITEMS:
            raise self.buffer.invalid(f"`{self._title(name)}` has {length} items")
        return begin + 4, length

    def _text_at(self, position: int, name: str) -> str:
        begin = self.buffer.offset(position, self._title(name))
        length = int(self.buffer.number(begin, "u32", self._title(name)))
        data = bytes(self.buffer.bytes(begin + 4, length, self._title(name)))
        return data.decode("utf-8", "replace")

    def _title(self, name: str) -> str:
        return f"{self.kind}.{name}"
