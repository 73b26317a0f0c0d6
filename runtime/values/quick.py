"""Conversion of the most frequent Python values to those of the machine, without positions for errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from stepwell.runtime.interface import dtype_from_name
from stepwell.runtime.values.by_type import MAX_DEPTH, ConversionsByType, NotQuick
from stepwell.runtime.values.data import Data
from stepwell.runtime.vm.objects import Tag, Value
from stepwell.runtime.vm.program import Type

Quick: TypeAlias = Callable[[Any, int], Value]
"""From a value and the depth that is left to a value of the machine. Raises: NotQuick."""


class QuickConverter(ConversionsByType[Quick]):
    """
    Conversions to values of the machine.

    A tree of 2,000 nodes takes a third of the time of the conversion that keeps positions.
    """

    def convert(self, value: object, type: Type) -> Value:
        """A value of the machine. Raises: NotQuick."""
        return self.of(type)(value, MAX_DEPTH)

    def later(self, made: Callable[[], Quick]) -> Quick:
        return lambda value, depth: made()(value, depth)

    def array(self, type: Type) -> Quick:
        dtype, shape = dtype_from_name(type.name), tuple(map(int, type.dims))

        def array(value: Any, depth: int) -> Value:
            if value.__class__ is np.ndarray and value.dtype is dtype and value.shape == shape:
                return value
            raise NotQuick

        return array

    def fields(self, tag: Tag, parts: Sequence[Quick]) -> Quick:
        count = len(parts)

        def fields(values: Any, depth: int) -> Value:
            if values.__class__ is not tuple or len(values) != count or depth == 0:
                raise NotQuick
            return (tag, *[part(value, depth - 1) for part, value in zip(parts, values, strict=True)])

        return fields

    def data(self, names: tuple[str, str], rows: dict[str, Quick]) -> Quick:
        def data(value: Any, depth: int) -> Value:
            if not isinstance(value, Data) or value.data_type not in names:
                raise NotQuick
            if (row := rows.get(value.constructor)) is None:
                raise NotQuick
            return row(value.fields, depth)

        return data

    def chain(self, cons: Tag, nil: Tag, item: Quick) -> Quick:
        def chain(values: Any, depth: int) -> Value:
            if values.__class__ is not list or depth == 0:
                raise NotQuick
            made: Value = (nil,)
            for value in reversed(values):
                made = (cons, item(value, depth - 1), made)
            return made

        return chain

    def refuse(self) -> Quick:
        return _refuse


def _refuse(value: object, depth: int) -> Value:
    raise NotQuick
