"""Values of JSON with the path that leads to them, checked when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from stepwell.runtime.errors import StepwellError


class Fields:
    """An object of JSON in a file."""

    def __init__(self, data: Mapping[str, object], file: str, path: str):
        self.data, self.file, self.path = data, file, path

    @property
    def where(self) -> str:
        """The location in diagnostics."""
        return f"{self.file}: {self.path}"

    def __iter__(self) -> Iterator[str]:
        return iter(self.data)

    def __contains__(self, name: str) -> bool:
        return self.data.get(name) is not None

    def child(self, name: str) -> Fields:
        """An object that is a field. Raises: StepwellError `invalid-model`, as all of these."""
        return self._object(self.data.get(name), name)

    def children(self, name: str) -> list[Fields]:
        """The objects of a list."""
        return [self._object(item, f"{name}[{i}]") for i, item in enumerate(self.items(name))]

    def items(self, name: str) -> list[object]:
        """A list."""
        if not isinstance(value := self.data.get(name), list):
            raise self._wrong(name, "a list")
        return cast("list[object]", value)

    def union(self) -> tuple[str, object]:
        """The name and value of the only field of a union object, such as `as_int` and 3."""
        given = [(name, value) for name, value in self.data.items() if value is not None]
        if len(given) != 1:
            raise self.invalid(f"expected one field, found {len(given)}")
        return given[0]

    def integer(self, name: str) -> int:
        """A number."""
        value = self.data.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not -(1 << 63) <= value < 1 << 63:
            raise self._wrong(name, "a 64-bit integer")
        return value

    def string(self, name: str) -> str:
        """Text."""
        if not isinstance(value := self.data.get(name), str):
            raise self._wrong(name, "text")
        return value

    def boolean(self, name: str) -> bool:
        """A truth value."""
        if not isinstance(value := self.data.get(name), bool):
            raise self._wrong(name, "a truth value")
        return value

    def _object(self, value: object, name: str) -> Fields:
        if not isinstance(value, dict):
            raise self._wrong(name, "an object")
        return Fields(cast("dict[str, object]", value), self.file, f"{self.path}.{name}")

    def _wrong(self, name: str, expected: str) -> StepwellError:
        found = type(self.data.get(name)).__name__ if name in self.data else "nothing"
        return self.invalid(f"{name} must be {expected}, found {found}")

    def invalid(self, message: str) -> StepwellError:
        """The error for a file that is damaged."""
        return StepwellError("invalid-model", self.where, message)
