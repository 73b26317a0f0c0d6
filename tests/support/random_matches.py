"""Random data types, patterns and values, as text of programs and as Python objects."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TypeAlias

import numpy as np

from stepwell.runtime.values import Data

NUMBER = "tensor<i64>"
Type: TypeAlias = "str | int | tuple[Type, ...]"
"""A number (`NUMBER`), the data type of a number, or a tuple."""
Pattern: TypeAlias = "str | tuple[str, list[Pattern]]"
"""`_`, `?`, or a head (`()` of a tuple) with the patterns of its fields."""
Value: TypeAlias = "np.int64 | Data | tuple[Value, ...]"


def text_of(type: Type) -> str:
    """A type as text."""
    if isinstance(type, tuple):
        return f"tuple<{', '.join(map(text_of, type))}>"
    return type if isinstance(type, str) else f"!adt.data<@D{type}>"


def fits(pattern: Pattern, value: Value, bound: list[Value]) -> bool:
    """Whether a pattern fits a value, whose bound parts are added to a list."""
    if isinstance(pattern, str):
        bound += [value] if pattern == "?" else []
        return True
    head, parts = pattern
    fields = value.fields if isinstance(value, Data) else value
    assert isinstance(fields, tuple)
    is_same = not isinstance(value, Data) or value.constructor == head
    return is_same and all(fits(part, field, bound) for part, field in zip(parts, fields, strict=True))  # pyright: ignore


@dataclass
class Matches:
    """A random choice of data types, whose first constructors have no fields."""

    random: Random

    def __post_init__(self) -> None:
        count = self.random.randint(1, 3)
        choices: list[Type] = [NUMBER, *range(count), *range(count)]
        choices += [tuple(self.random.choices(choices, k=2)), (NUMBER, 0, 0)]
        self.data = [
            [(), *(self._fields(choices) for _ in range(self.random.choice([0, 1, 1, 2, 3])))]
            for _ in range(count)
        ]

    def _fields(self, choices: list[Type]) -> tuple[Type, ...]:
        return tuple(self.random.choices(choices, k=self.random.randint(0, 3)))

    def definitions(self) -> str:
        """The data types as text."""
        lines: list[str] = []
        for number, constructors in enumerate(self.data):
            lines.append(f"adt.data @D{number} {{")
            for tag, fields in enumerate(constructors):
                lines.append(f"adt.constructor @C{number}_{tag}({', '.join(map(text_of, fields))})")
            lines.append("}")
        return "\n".join(lines)

    def type(self) -> Type:
        """A type that patterns take apart."""
        count = len(self.data)
        return self.random.choice([0, count - 1, (0, count - 1), (0, NUMBER, 0), (count - 1, 0, (0, 0))])

    def pattern(self, type: Type, depth: int = 3) -> Pattern:
        """A pattern of values of a type."""
        if type == NUMBER or depth == 0 or self.random.random() < 0.3:
            return self.random.choice("__?")
        if isinstance(type, tuple):
            return "()", [self.pattern(part, depth) for part in type]
        assert isinstance(type, int)
        tag = self.random.randrange(len(self.data[type]))
        return f"C{type}_{tag}", [self.pattern(part, depth - 1) for part in self.data[type][tag]]

    def value(self, type: Type, depth: int = 4) -> Value:
        """A value of a type."""
        if isinstance(type, tuple):
            return tuple(self.value(part, depth) for part in type)
        if isinstance(type, str):
            return np.int64(self.random.randint(0, 9))
        tag = self.random.randrange(len(self.data[type])) if depth > 0 else 0
        return Data(f"C{type}_{tag}", tuple(self.value(part, depth - 1) for part in self.data[type][tag]))

    def types_bound(self, pattern: Pattern, type: Type) -> list[Type]:
        """The types of the parts that a pattern binds, in the order of its text."""
        if isinstance(pattern, str):
            return [type] if pattern == "?" else []
        fields = type if isinstance(type, tuple) else self.data[int(type)][int(pattern[0].split("_")[1])]
        return [
            bound for part, of in zip(pattern[1], fields, strict=True) for bound in self.types_bound(part, of)
        ]


def pattern_text(pattern: Pattern, names: list[str]) -> str:
    """A pattern as text; names (`%x: type`) are taken from the front of a list."""
    if isinstance(pattern, str):
        return names.pop(0) if pattern == "?" else "_"
    head, parts = pattern
    fields = ", ".join(pattern_text(part, names) for part in parts)
    return f"({fields})" if head == "()" else f"{head}({fields})" if parts else head
