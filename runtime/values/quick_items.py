"""Conversion of the most frequent Python values to items that native functions make objects of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from stepwell.runtime.addresses import address_of
from stepwell.runtime.interface import dtype_from_name
from stepwell.runtime.values.by_type import MAX_DEPTH, ConversionsByType, NotQuick
from stepwell.runtime.values.data import Data
from stepwell.runtime.values.types import Types
from stepwell.runtime.vm.native import NativeMachine
from stepwell.runtime.vm.native_values import Items, Written
from stepwell.runtime.vm.objects import Tag
from stepwell.runtime.vm.program import Type

Writer: TypeAlias = Callable[[Any, int, Written], None]
"""Appends the items of a value, given the depth that is left. Raises: NotQuick."""


class ItemWriter(ConversionsByType[Writer]):
    """
    Conversions to items: each before its fields, of which the last is first.

    A tree of 2,000 nodes takes a fifth of the time of its conversion to values of the machine, then to items.
    """

    def __init__(self, types: Types, machine: NativeMachine):
        super().__init__(types, machine.tags)
        self._items: Items = machine.items

    def convert(self, value: object, type: Type) -> Written:
        """A value of the machine that has its items. Raises: NotQuick."""
        written = Written([], [])
        self.of(type)(value, MAX_DEPTH, written)
        return written

    def later(self, made: Callable[[], Writer]) -> Writer:
        return lambda value, depth, written: made()(value, depth, written)

    def array(self, type: Type) -> Writer:
        dtype, shape = dtype_from_name(type.name), tuple(map(int, type.dims))
        kind, address = self._items.tensor_words(dtype, shape)

        def array(value: Any, depth: int, written: Written) -> None:
            if (
                value.__class__ is not np.ndarray
                or value.dtype is not dtype
                or value.shape != shape
                or not value.flags.c_contiguous
            ):
                raise NotQuick
            written.kept.append(value)
            written.words.extend((kind, address_of(value), address))

        return array

    def fields(self, tag: Tag, parts: Sequence[Writer]) -> Writer:
        count, head = len(parts), self._items.data_words(tag, len(parts))
        last_first = list(reversed(range(count)))

        def fields(values: Any, depth: int, written: Written) -> None:
            if values.__class__ is not tuple or len(values) != count or depth == 0:
                raise NotQuick
            written.words.extend(head)
            for index in last_first:
                parts[index](values[index], depth - 1, written)

        return fields

    def data(self, names: tuple[str, str], rows: dict[str, Writer]) -> Writer:
        def data(value: Any, depth: int, written: Written) -> None:
            if not isinstance(value, Data) or value.data_type not in names:
                raise NotQuick
            if (row := rows.get(value.constructor)) is None:
                raise NotQuick
            row(value.fields, depth, written)

        return data

    def chain(self, cons: Tag, nil: Tag, item: Writer) -> Writer:
        heads, end = self._items.data_words(cons, 2), self._items.data_words(nil, 0)

        def chain(values: Any, depth: int, written: Written) -> None:
            if values.__class__ is not list or depth == 0:
                raise NotQuick
            if values:
                written.words.extend(heads * len(values))
            written.words.extend(end)
            for value in reversed(values):
                item(value, depth - 1, written)

        return chain

    def refuse(self) -> Writer:
        return _refuse


def _refuse(value: object, depth: int, written: Written) -> None:
    raise NotQuick
