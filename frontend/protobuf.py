"""Messages of protobuf by a schema as text: every length is checked, and payloads stay views of the file."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import numpy as np

from stepwell.frontend.wire import read_varint
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array

MAX_DEPTH = 64
MAX_FIELDS = 4_000_000
"""The deepest nesting and the most fields of a message; a large model has some hundred thousand fields."""

Schema: TypeAlias = "Mapping[str, Mapping[int, Field]]"
"""The fields of each message by number."""
_FIXED = {"float": ("<f", 5, np.float32), "double": ("<d", 1, np.float64)}
_VARINTS = ("int", "bool")
_WIRE_VARINT, _WIRE_8, _WIRE_BYTES, _WIRE_4 = 0, 1, 2, 5


@dataclass(frozen=True)
class Field:
    """A field of a message."""

    name: str
    kind: str
    """`int`, `bool`, `float`, `double`, `string`, `bytes`, or the name of a message."""
    is_repeated: bool
    is_map: bool
    """Whether the field is a map from strings to messages."""


def parse_schema(text: str) -> Schema:
    """
    A schema from lines such as `Program: 1 version int, 2 functions {Function}, 3 tags [string]`.

    A kind in brackets is repeated, one in braces is the value of a map from strings.
    """
    schema: dict[str, dict[int, Field]] = {}
    for line in text.replace(",\n", ",").splitlines():
        message, colon, fields = line.strip().partition(":")
        if colon:
            schema[message] = dict(_field(each) for each in fields.split(",") if each.strip())
    return schema


def _field(text: str) -> tuple[int, Field]:
    number, name, kind = text.split()
    return int(number), Field(name, kind.strip("[]{}"), kind[0] in "[{", kind[0] == "{")


@dataclass
class Message:
    """A message that was read: the values of its fields by name."""

    kind: str
    values: dict[str, Any] = field(default_factory=dict[str, Any])

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def integer(self, name: str, default: int = 0) -> int:
        """A number or a truth value."""
        return cast(int, self.values.get(name, default))

    def number(self, name: str) -> float:
        """A number with a fraction."""
        return cast(float, self.values.get(name, 0.0))

    def text(self, name: str) -> str:
        """A string."""
        return cast(str, self.values.get(name, ""))

    def payload(self, name: str) -> memoryview:
        """Bytes, as a view of the file."""
        return cast(memoryview, self.values.get(name, memoryview(b"")))

    def message(self, name: str) -> Message:
        """A message; an empty one if the field is not set."""
        return cast(Message, self.values.get(name) or Message("unset"))

    def messages(self, name: str) -> Sequence[Message]:
        """The messages of a repeated field."""
        return cast("Sequence[Message]", self.values.get(name, ()))

    def mapping(self, name: str) -> Mapping[str, Message]:
        """The messages of a map."""
        return cast("Mapping[str, Message]", self.values.get(name, {}))

    def texts(self, name: str) -> Sequence[str]:
        """The strings of a repeated field."""
        return cast("Sequence[str]", self.values.get(name, ()))

    def numbers(self, name: str) -> list[Any]:
        """The numbers of a repeated field."""
        numbers: list[Any] = []
        for part in cast("Sequence[Any]", self.values.get(name, ())):
            numbers.extend(cast(Array, part).tolist() if isinstance(part, np.ndarray) else [part])
        return numbers

    def array(self, name: str) -> Array:
        """The numbers of a repeated field as an array; one packed payload is not copied."""
        found = cast("Sequence[Any]", self.values.get(name, ()))
        if len(found) == 1 and isinstance(found[0], np.ndarray):
            return cast(Array, found[0])
        return np.array(self.numbers(name))


def read_message(data: memoryview, schema: Schema, kind: str, file: str) -> Message:
    """
    A message from its bytes; fields that the schema does not have are skipped.

    Args: `file` names the file in errors.
    Raises: StepwellError `invalid-model`, `too-large`.
    """
    return _Reader(schema, file).message(data, kind, 0)


class _Reader:
    """Reads the messages of one file."""

    def __init__(self, schema: Schema, file: str):
        self._schema, self._file, self._fields = schema, file, 0

    def message(self, data: memoryview, kind: str, depth: int) -> Message:
        """A message of a kind. Raises: StepwellError `invalid-model`, `too-large`."""
        if depth > MAX_DEPTH:
            raise self._invalid(f"messages are nested more than {MAX_DEPTH} deep")
        made, fields = Message(kind), self._schema[kind]
        for number, wire, value in self._raw_fields(data, kind):
            if (found := fields.get(number)) is not None:
                self._enter(made, found, wire, value, depth)
        return made

    def _raw_fields(self, data: memoryview, kind: str) -> Iterator[tuple[int, int, int | memoryview]]:
        """The number, the wire type and the payload of each field."""
        at, end = 0, len(data)
        while at < end:
            self._fields += 1
            if self._fields > MAX_FIELDS:
                raise StepwellError("too-large", self._file, f"the file has more than {MAX_FIELDS} fields")
            tag, at = self._varint(data, at, kind)
            wire = tag & 7
            if wire == _WIRE_VARINT:
                value, at = self._varint(data, at, kind)
                yield tag >> 3, wire, value
                continue
            size = {_WIRE_8: 8, _WIRE_4: 4}.get(wire)
            if wire == _WIRE_BYTES:
                size, at = self._varint(data, at, kind)
            if size is None or size > end - at:
                what = f"has wire type {wire}" if size is None else "ends after its message"
                raise self._invalid(f"field {tag >> 3} of `{kind}` {what}")
            yield tag >> 3, wire, data[at : at + size]
            at += size

    def _varint(self, data: memoryview, at: int, kind: str) -> tuple[int, int]:
        try:
            return read_varint(data, at)
        except (IndexError, ValueError):
            raise self._invalid(f"`{kind}` ends within a number, or has one of more than 64 bits") from None

    def _enter(self, made: Message, found: Field, wire: int, value: int | memoryview, depth: int) -> None:
        """Enter the value of a field into a message."""
        expected = self._wire(found.kind)
        is_packed = found.is_repeated and wire == _WIRE_BYTES and expected != _WIRE_BYTES
        if wire != expected and not is_packed:
            raise self._invalid(f"`{made.kind}.{found.name}` must have wire type {expected}, found {wire}")
        if found.is_map:
            key, entry = self._map_entry(cast(memoryview, value), found.kind, depth)
            made.values.setdefault(found.name, {})[key] = entry
        elif found.is_repeated:
            items = made.values.setdefault(found.name, [])
            if is_packed:
                items.extend(self._packed(made, found, cast(memoryview, value)))
            else:
                items.append(self._value(made, found, value, depth))
        else:
            made.values[found.name] = self._value(made, found, value, depth)

    def _wire(self, kind: str) -> int:
        if kind in _VARINTS:
            return _WIRE_VARINT
        return _FIXED[kind][1] if kind in _FIXED else _WIRE_BYTES

    def _map_entry(self, data: memoryview, kind: str, depth: int) -> tuple[str, Message]:
        """The key and the value of an entry of a map."""
        key, value = "", Message(kind)
        for number, wire, part in self._raw_fields(data, f"map of {kind}"):
            if wire == _WIRE_BYTES and number == 1:
                key = self._text(cast(memoryview, part), "key")
            elif wire == _WIRE_BYTES and number == 2:
                value = self.message(cast(memoryview, part), kind, depth + 1)
        return key, value

    def _value(self, made: Message, found: Field, value: int | memoryview, depth: int) -> object:
        match found.kind:
            case "int":
                return _signed(cast(int, value))
            case "bool":
                return bool(value)
            case "string":
                return self._text(cast(memoryview, value), f"{made.kind}.{found.name}")
            case "bytes":
                return value
            case "float" | "double":
                return struct.unpack(_FIXED[found.kind][0], cast(memoryview, value))[0]
            case _:
                return self.message(cast(memoryview, value), found.kind, depth + 1)

    def _packed(self, made: Message, found: Field, data: memoryview) -> Sequence[object]:
        """The numbers of a packed field: an array of floats, or a list of whole numbers."""
        if found.kind in _FIXED:
            dtype = np.dtype(_FIXED[found.kind][2])
            if len(data) % dtype.itemsize:
                raise self._invalid(f"`{made.kind}.{found.name}` has {len(data)} bytes")
            return [np.frombuffer(data, dtype)]
        convert: Callable[[int], object] = bool if found.kind == "bool" else _signed
        numbers, at = list[object](), 0
        while at < len(data):
            value, at = self._varint(data, at, made.kind)
            numbers.append(convert(value))
        return numbers

    def _text(self, data: memoryview, name: str) -> str:
        try:
            return str(data, "utf-8")
        except UnicodeDecodeError:
            raise self._invalid(f"`{name}` is no text in UTF-8") from None

    def _invalid(self, message: str) -> StepwellError:
        return StepwellError("invalid-model", self._file, message)


def _signed(value: int) -> int:
    """A number of 64 bits with its sign."""
    return value - (1 << 64) if value >= 1 << 63 else value
