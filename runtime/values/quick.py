"""Conversion of the most frequent Python values to those of the machine, without positions for errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from stepwell.runtime.interface import dtype_from_name
from stepwell.runtime.values.data import Data
from stepwell.runtime.values.types import Types
from stepwell.runtime.vm.objects import TUPLE_TAG, Tag, Value
from stepwell.runtime.vm.program import DATA, TENSOR, TUPLE, Type

Quick: TypeAlias = Callable[[Any, int], Value]
"""From a value and the depth that is left to a value of the machine. Raises: NotQuick."""
MAX_DEPTH = 200
"""The deepest nesting that is converted by recursion."""


class NotQuick(Exception):
    """The value needs the conversion that knows all cases, or is wrong."""


class QuickConverter:
    """
    Conversions by type, made once: arrays of known sizes, lists, tuples and data of these.

    A tree of 2,000 nodes takes a third of the time of the conversion that keeps positions.
    """

    def __init__(self, types: Types, tags: Sequence[Sequence[Tag]]):
        self._types, self._tags = types, tags
        self._made: dict[Type, Quick] = {}

    def convert(self, value: object, type: Type) -> Value:
        """A value of the machine. Raises: NotQuick."""
        return self._of(type)(value, MAX_DEPTH)

    def _of(self, type: Type) -> Quick:
        if (known := self._made.get(type)) is not None:
            return known
        made: list[Quick] = []
        self._made[type] = lambda value, depth: made[0](value, depth)  # of a type inside itself
        made.append(self._new(type))
        self._made[type] = made[0]
        return made[0]

    def _new(self, type: Type) -> Quick:
        if type.kind == TENSOR and all(dim.isdecimal() for dim in type.dims):
            return _array(type)
        if type.kind == TUPLE:
            return _fields(TUPLE_TAG, [self._of(part) for part in type.parts])
        if type.kind == DATA and self._types.is_list(type):
            cons, nil = self._tags[self._types.number(type)]
            return _list(cons, nil, self._of(type.parts[0]))
        if type.kind == DATA and not self._types.is_option(type):
            return self._data(type)
        return _refuse

    def _data(self, type: Type) -> Quick:
        rows: dict[str, Quick] = {}
        for tag in self._tags[self._types.number(type)]:
            rows[tag.name] = _fields(tag, [self._of(field) for field in self._types.fields(type, tag.tag)])
        names = ("", type.name)

        def data(value: Any, depth: int) -> Value:
            if not isinstance(value, Data) or value.data_type not in names:
                raise NotQuick
            if (row := rows.get(value.constructor)) is None:
                raise NotQuick
            return row(value.fields, depth)

        return data


def _refuse(value: object, depth: int) -> Value:
    raise NotQuick


def _array(type: Type) -> Quick:
    dtype, shape = dtype_from_name(type.name), tuple(map(int, type.dims))

    def array(value: Any, depth: int) -> Value:
        if value.__class__ is np.ndarray and value.dtype is dtype and value.shape == shape:
            return value
        raise NotQuick

    return array


def _fields(tag: Tag, parts: Sequence[Quick]) -> Quick:
    count = len(parts)

    def fields(values: Any, depth: int) -> Value:
        if values.__class__ is not tuple or len(values) != count or depth == 0:
            raise NotQuick
        return (tag, *[part(value, depth - 1) for part, value in zip(parts, values, strict=True)])

    return fields


def _list(cons: Tag, nil: Tag, item: Quick) -> Quick:
    def chain(values: Any, depth: int) -> Value:
        if values.__class__ is not list or depth == 0:
            raise NotQuick
        made: Value = (nil,)
        for value in reversed(values):
            made = (cons, item(value, depth - 1), made)
        return made

    return chain
