"""Conversions of the most frequent Python values, made once for each type."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from stepwell.runtime.values.types import Types
from stepwell.runtime.vm.objects import TUPLE_TAG, Tag
from stepwell.runtime.vm.program import DATA, TENSOR, TUPLE, Type

MAX_DEPTH = 200
"""The deepest nesting that is converted by recursion."""


class NotQuick(Exception):
    """The value needs the conversion that knows all cases, or is wrong."""


F = TypeVar("F")
"""A conversion of values of one type."""


class ConversionsByType(ABC, Generic[F]):
    """
    Conversions of arrays of known sizes, lists, tuples and data of these; others are left to the conversion
    that knows all cases.
    """

    def __init__(self, types: Types, tags: Sequence[Sequence[Tag]]):
        self._types, self._tags = types, tags
        self._made: dict[Type, F] = {}

    def of(self, type: Type) -> F:
        """The conversion of a type."""
        if (known := self._made.get(type)) is not None:
            return known
        made: list[F] = []
        self._made[type] = self.later(lambda: made[0])  # of a type inside itself
        made.append(self._new(type))
        self._made[type] = made[0]
        return made[0]

    def _new(self, type: Type) -> F:
        if type.kind == TENSOR and all(dim.isdecimal() for dim in type.dims):
            return self.array(type)
        if type.kind == TUPLE:
            return self.fields(TUPLE_TAG, [self.of(part) for part in type.parts])
        if type.kind == DATA and self._types.is_list(type):
            cons, nil = self._tags[self._types.number(type)]
            return self.chain(cons, nil, self.of(type.parts[0]))
        if type.kind == DATA and not self._types.is_option(type):
            tags = self._tags[self._types.number(type)]
            fields = {tag.name: self._types.fields(type, tag.tag) for tag in tags}
            rows = {tag.name: self.fields(tag, list(map(self.of, fields[tag.name]))) for tag in tags}
            return self.data(("", type.name), rows)
        return self.refuse()

    @abstractmethod
    def later(self, made: Callable[[], F]) -> F:
        """A conversion that is made later."""

    @abstractmethod
    def array(self, type: Type) -> F:
        """Of a tensor of known sizes."""

    @abstractmethod
    def fields(self, tag: Tag, parts: Sequence[F]) -> F:
        """Of a Python tuple with the fields of a constructor."""

    @abstractmethod
    def data(self, names: tuple[str, str], rows: dict[str, F]) -> F:
        """Of data by its constructor. Args: `names` are those that its type may have."""

    @abstractmethod
    def chain(self, cons: Tag, nil: Tag, item: F) -> F:
        """Of a Python list."""

    @abstractmethod
    def refuse(self) -> F:
        """Of what is left to the other conversion."""
