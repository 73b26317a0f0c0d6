"""Schemas of FlatBuffers: tables with their fields, and enumerations, by lines of text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """A field of a table."""

    name: str
    slot: int
    type: str
    """`i32`, `str`, the name of a table or an enumeration, or one of these in brackets for a vector."""
    default: int | float
    enum_names: Mapping[int, str]
    """The names of an enumeration by number; none for other types."""

    @property
    def is_list(self) -> bool:
        """Whether the field is a vector."""
        return self.type.startswith("[")

    @property
    def item_type(self) -> str:
        """The type of an item of a vector."""
        return self.type.strip("[]")

    @property
    def number_type(self) -> str:
        """The type of the number that is stored."""
        return "i8" if self.enum_names else self.type


class Schema:
    """
    The tables and enumerations of a format.

    Args: `text` has a line for each: `enum NAME: A=0 B=1`, and `table NAME: TYPE FIELD=DEFAULT, …` with the
    fields in the order of their slots; lines with `#` are comments.
    """

    def __init__(self, text: str):
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        self._lines = {line.partition(":")[0]: line.partition(":")[2] for line in lines}
        self._fields: dict[str, Mapping[str, Field]] = {}
        self._enums: dict[str, Mapping[str, int]] = {}
        self._names: dict[str, Mapping[int, str]] = {}

    def enum_values(self, name: str) -> Mapping[str, int]:
        """The numbers of an enumeration by name; none for a name that is no enumeration."""
        if name not in self._enums:
            pairs = (each.split("=") for each in self._lines.get(f"enum {name}", "").split())
            self._enums[name] = {key: int(value) for key, value in pairs}
        return self._enums[name]

    def enum_names(self, name: str) -> Mapping[int, str]:
        """The names of an enumeration by number; none for a name that is no enumeration."""
        if name not in self._names:
            self._names[name] = {value: key for key, value in self.enum_values(name).items()}
        return self._names[name]

    def fields_of(self, table: str) -> Mapping[str, Field]:
        """The fields of a table by name. Raises: KeyError for an unknown table."""
        if table not in self._fields:
            texts = enumerate(self._lines[f"table {table}"].split(","))
            found = (self._field(slot, text.strip()) for slot, text in texts)
            self._fields[table] = {field.name: field for field in found if field is not None}
        return self._fields[table]

    def has_table(self, name: str) -> bool:
        """Whether the schema has a table."""
        return f"table {name}" in self._lines

    def _field(self, slot: int, text: str) -> Field | None:
        """A field by its text; None for a slot that is not in use."""
        type, _, rest = text.partition(" ")
        if not rest:
            return None
        name, _, default = rest.partition("=")
        return Field(name, slot, type, self._default(type, default), self.enum_names(type))

    def _default(self, type: str, text: str) -> int | float:
        """The default of a number: 0 where there is none."""
        if text in self.enum_values(type):
            return self.enum_values(type)[text]
        return float(text) if "." in text else int(text or 0)
