"""Values of the machine as items that native functions make objects of, and back."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.addresses import address_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.vm.instructions import TUPLE, ConstructorOf
from stepwell.runtime.vm.native_abi import (
    DATA_HEAD_BYTES,
    ITEM_WORDS,
    MAX_FIELDS,
    TYPE_HEAD_WORDS,
    WORD_BYTES,
    Kind,
    constructor_code,
    size_class,
)
from stepwell.runtime.vm.objects import TUPLE_TAG, Cell, Closure, Tag, Value, kind_of

_MOST_TYPES = 4096


def _placed(words: int) -> int:
    """The last i64 of an item: size class and bytes of an object with so many i64 after its head."""
    number, size = size_class(DATA_HEAD_BYTES + words * WORD_BYTES)
    return number | size << 8


_DATA = [_placed(fields) for fields in range(MAX_FIELDS + 1)]
_CLOSURE = [_placed(fields + 1) for fields in range(MAX_FIELDS + 1)]


class TypeTable:
    """
    The types of tensors as native functions know them, by address: element type, rank, bytes and sizes.

    Equal types have one address as long as the table is not cleared, between calls.
    """

    def __init__(self, known: Sequence[tuple[np.dtype[Any], tuple[int, ...]]]):
        """Args: `known` are types whose addresses stay, by number."""
        self._kept = [(self._record(*type), type) for type in known]
        self.addresses = np.array([address_of(record) for record, _ in self._kept], np.uint64)
        """The addresses of the known types, by number."""
        self.cleared = 0
        """How often addresses of other types became invalid."""
        self.clear()

    def clear(self) -> None:
        """Forget all types but the known ones."""
        self.cleared += 1
        self._records: list[Array] = []
        rows = [(address_of(record), type) for record, type in self._kept]
        self._by_type = {type: address for address, type in rows}
        self._by_address = dict(rows)

    @property
    def is_full(self) -> bool:
        """Whether it is time to clear it."""
        return len(self._records) > _MOST_TYPES

    def address(self, array: Array) -> int:
        """The address of an array's type."""
        return self.address_of_type(array.dtype, array.shape)

    def address_of_type(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
        """The address of a type, valid until the table is cleared."""
        type = dtype, shape
        if (address := self._by_type.get(type)) is not None:
            return address
        record = self._record(*type)
        self._records.append(record)
        address = address_of(record)
        self._by_type[type], self._by_address[address] = address, type
        return address

    def kept_address(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
        """The address of a type, which stays when the table is cleared."""
        type = dtype, shape
        if (address := self._by_type.get(type)) is None or type not in (known for _, known in self._kept):
            record = self._record(*type)
            self._kept.append((record, type))
            self._by_type[type] = address = address_of(record)
            self._by_address[address] = type
        return address

    def type_at(self, address: int) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Element type and sizes by address."""
        return self._by_address[address]

    def _record(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
        head = [dtype.num, len(shape), prod(shape) * dtype.itemsize]
        assert len(head) == TYPE_HEAD_WORDS
        return np.array([*head, *shape], np.int64)


class Written(NamedTuple):
    """A value as its items."""

    words: list[int]
    kept: list[Array]
    """The arrays whose elements the items point to."""


class Items:
    """
    The conversions of one program's values.

    Args: `tags` are its constructors by the numbers of data types and tags, `thunks` the numbers of closures'
    entries by function and captures, `parameters` those of each function.
    """

    def __init__(
        self,
        types: TypeTable,
        tags: Sequence[Sequence[Tag]],
        thunks: Mapping[tuple[int, int], int],
        parameters: Sequence[int],
    ):
        self._types = types
        self._codes = {TUPLE_TAG: constructor_code(TUPLE)}
        for data, row in enumerate(tags):
            for tag in row:
                self._codes[tag] = constructor_code(ConstructorOf(data, tag.tag))
        self._tags = {code: tag for tag, code in self._codes.items()}
        self._thunks = {
            pair: number | (parameters[pair[0]] - pair[1]) << 16 for pair, number in thunks.items()
        }
        self._closures = {code: function for (function, _), code in self._thunks.items()}

    def data_words(self, tag: Tag, fields: int) -> tuple[int, ...]:
        """The item of a constructor's value."""
        return Kind.DATA | fields << 8, self._codes[tag], _DATA[fields]

    def tensor_words(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> tuple[int, int]:
        """The first and last i64 of the items of a tensor type, whose address stays."""
        return int(Kind.TENSOR), self._types.kept_address(dtype, shape)

    def of(
        self, values: Sequence[Value], kept: list[Array], cell_address: Callable[[Cell], int]
    ) -> list[int]:
        """
        The items of values in reverse: the last value first, and each before its fields in reverse.

        Args: `kept` gets arrays that must outlive the call; `cell_address` makes objects of cells.
        Raises: StepwellError `bad-bytecode` for what no item can be.
        """
        words: list[int] = []
        waiting = list(values)
        take, add, address = waiting.pop, words.extend, self._types.address
        tensor, data, codes = int(Kind.TENSOR), int(Kind.DATA), self._codes
        while waiting:
            value = take()
            kind = value.__class__
            if kind is tuple:
                fields = len(value) - 1
                add((data | fields << 8, codes[value[0]], _DATA[fields]))
                waiting.extend(value[1:])
            elif kind is np.ndarray:
                if not value.flags.c_contiguous:
                    value = np.asarray(value, order="C")
                    kept.append(value)
                add((tensor, address_of(value), address(value)))
            elif kind is Written:
                add(value.words)
                kept.extend(value.kept)
            elif kind is Closure:
                captures = value.captures
                count = len(captures)
                code = self._thunks[value.function, count]
                add((Kind.CLOSURE | count << 8, code, _CLOSURE[count]))
                waiting.extend(captures)
            elif kind is Cell:
                add((Kind.ENTERED, cell_address(value), 0))
            else:
                raise StepwellError("bad-bytecode", None, f"{kind_of(value)} cannot enter native code")
        return words

    def value(self, words: Sequence[int]) -> Value:
        """The value of items, each before its fields."""
        made: list[Value] = []
        for start in range(len(words) - ITEM_WORDS, -1, -ITEM_WORDS):
            first, second, third = words[start : start + ITEM_WORDS]
            kind, fields = first & 255, first >> 8
            if kind == Kind.TENSOR:
                made.append(self.array(second, third))
                continue
            made.append(self.built(kind == Kind.CLOSURE, second, made, fields))
        return made[0]

    def built(self, is_closure: bool, code: int, made: list[Value], fields: int) -> Value:
        """A data value or closure of the last values, in reverse, which leave the list."""
        parts = made[len(made) - fields :][::-1] if fields else []
        del made[len(made) - fields :]
        return Closure(self._closures[code], tuple(parts)) if is_closure else (self._tags[code], *parts)

    def array(self, elements: int, type: int) -> Array:
        """A copy of a tensor by the addresses of its elements and type."""
        dtype, shape = self._types.type_at(type)
        array = np.empty(shape, dtype)
        if array.nbytes:
            ctypes.memmove(address_of(array), elements, array.nbytes)
        return cast(Array, array)
