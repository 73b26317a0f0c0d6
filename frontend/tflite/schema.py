"""The schema of TFLite's files: tables with their fields, and enumerations, from `schema.txt` beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path


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


@cache
def _lines() -> Mapping[str, str]:
    """The lines of the schema by their kind and name (`table Tensor`)."""
    lines = Path(__file__).with_name("schema.txt").read_text(encoding="utf-8").splitlines()
    return {line.partition(":")[0]: line.partition(":")[2] for line in lines if not line.startswith("#")}


@cache
def enum_values(name: str) -> Mapping[str, int]:
    """The numbers of an enumeration by name; none for a name that is no enumeration."""
    pairs = (each.split("=") for each in _lines().get(f"enum {name}", "").split())
    return {key: int(value) for key, value in pairs}


@cache
def enum_names(name: str) -> Mapping[int, str]:
    """The names of an enumeration by number; none for a name that is no enumeration."""
    return {value: key for key, value in enum_values(name).items()}


@cache
def fields_of(table: str) -> Mapping[str, Field]:
    """The fields of a table by name. Raises: KeyError for an unknown table."""
    fields: dict[str, Field] = {}
    for slot, text in enumerate(_lines()[f"table {table}"].split(",")):
        type, _, rest = text.strip().partition(" ")
        if not rest:
            continue
        name, _, default = rest.partition("=")
        fields[name] = Field(name, slot, type, _default(type, default), enum_names(type))
    return fields


def has_table(name: str) -> bool:
    """Whether the schema has a table."""
    return f"table {name}" in _lines()


def _default(type: str, text: str) -> int | float:
    """The default of a number: 0 where there is none."""
    if text in enum_values(type):
        return enum_values(type)[text]
    return float(text) if "." in text else int(text or 0)
