"""The memory of a call of native functions: its context, its objects, and calls back into Python."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple, cast

import numpy as np

from stepwell.runtime.addresses import address_of
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.native_segment import NativeSegment
from stepwell.runtime.vm.native_abi import (
    ARGUMENTS,
    CONTEXT_WORDS,
    IMMORTAL,
    INNER_FRAMES,
    ITEM_WORDS,
    OPEN,
    OUTER_FRAMES,
    OUTPUT_WORDS,
    PREPARE,
    SEGMENT_WORDS,
    TENSOR_HEAD_BYTES,
    WORD_BYTES,
    Field,
    Kind,
)
from stepwell.runtime.vm.native_memory import INTERRUPTED, CallMemory, Words
from stepwell.runtime.vm.native_tables import tensor_block
from stepwell.runtime.vm.native_values import TypeTable
from stepwell.runtime.vm.steps import PackedFunction
from stepwell.runtime.vm.tensors import TensorCheck

_FEW_ITEMS = 64
FIRST_RESULT_WORDS = 1 << 12
"""The i64 of small results."""
_ALLOCATE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
_PACKED = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)


_PREPARE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
# The memory after an address as a buffer: one type for all sizes, since ctypes takes 20 us to make another.
_MEMORY = ctypes.c_char * (1 << 46)


class Packing(NamedTuple):
    """A packed function that is called through Python, or with open sizes."""

    check: TensorCheck
    function: PackedFunction
    is_host: bool
    segment: NativeSegment | None
    """What native functions call themselves, for sizes that it was prepared for; None to call in Python."""


class Call:
    """The context of one call at a time, used again by the next one."""

    def __init__(
        self,
        types: TypeTable,
        tables: dict[Field, Words],
        packed: Sequence[Packing | NativeSegment],
        constants: Sequence[Array],
        counts: tuple[int, int],
        limits: tuple[int, int | None],
        make_tensor: int,
    ):
        """
        Args: `tables` are of the program; `counts` those of functions, and of the most parameters; `limits`
        those of frames and bytes; `make_tensor` is the address of the shared function.
        """
        self.words: Words = np.zeros(CONTEXT_WORDS, np.uint64)
        self.address = address_of(self.words)
        self.failure: BaseException | None = None
        self._types, self.packed = types, packed
        self.memory = CallMemory(self.words, limits[1])
        self._make_tensor = ctypes.CFUNCTYPE(
            ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * 3
        )(make_tensor)
        functions, parameters = counts
        self.inner, self.outer = np.zeros(INNER_FRAMES, np.uint64), np.zeros(OUTER_FRAMES, np.uint64)
        self.counts = np.zeros(max(1, functions), np.uint64)
        self._extra = np.zeros(max(1, parameters - ARGUMENTS), np.uint64)
        self._constants, self._constant_table = _constant_objects(constants, types)
        self._immortal = self._constants.view(np.int32).reshape(-1, TENSOR_HEAD_BYTES // 4)[:, 0]
        self._segments = _segment_table(packed)
        self._rows = [_open_row(each) for each in packed]
        self._open = np.array([0 if row is None else address_of(row) for row in self._rows] or [0], np.uint64)
        self._cleared = types.cleared
        # Callbacks refer to the context weakly, through these functions' own references: a cycle, which the
        # collector frees.
        self._allocate, self._call = _ALLOCATE(self._new_chunk), _PACKED(self._call_packed)
        self._prepare = _PREPARE(self._prepare_segment)
        rows: dict[Field, Words] = {
            **tables,
            Field.SEGMENTS: self._segments,
            Field.CONSTANTS: self._constant_table,
            Field.TYPES: types.addresses,
            Field.EXTRA: self._extra,
            Field.INNER: self.inner,
            Field.OUTER: self.outer,
            Field.COUNTS: self.counts,
        }
        for field, table in rows.items():
            self.words[field] = address_of(table)
        self._tables = rows
        self.results = np.empty(FIRST_RESULT_WORDS, np.int64)
        """Memory for results, where they are small."""
        self.results_address = address_of(self.results)
        self._items = np.empty(_FEW_ITEMS * ITEM_WORDS, np.int64)
        self._values = np.zeros(_FEW_ITEMS + ARGUMENTS, np.uint64)
        self._few = address_of(self._items), address_of(self._values)
        self.words[Field.MAX_DEPTH] = limits[0]
        self.words[Field.ALLOCATE] = ctypes.cast(self._allocate, ctypes.c_void_p).value or 0
        self.words[Field.PACKED] = ctypes.cast(self._call, ctypes.c_void_p).value or 0
        self.words[OPEN] = address_of(self._open)
        self.words[PREPARE] = ctypes.cast(self._prepare, ctypes.c_void_p).value or 0
        self._fresh = self.words.copy()

    def begin(self, fuel: int, stack_bytes: int) -> None:
        """
        Empty the memory before a call. Args: `fuel` is the number of calls and turns of loops that it may
        take, `stack_bytes` the size of its stack, 0 without a check.
        """
        words = self.words
        if words[Field.FRAMES]:  # of an earlier call, or of this one where it runs again
            self.counts[:] = 0
        words[:] = self._fresh  # in a third of the time of single fields
        words[Field.FUEL] = fuel
        self.memory.begin(stack_bytes)
        self._immortal[:] = IMMORTAL
        self.failure = None
        if self._cleared != self._types.cleared:
            self._cleared = self._types.cleared
            for row in self._rows:
                if row is not None:
                    row[:] = 0

    def entering(self, words: Sequence[int]) -> tuple[int, int, object]:
        """The addresses of items and of memory for their objects, and the owner of both."""
        if len(words) <= len(self._items):
            self._items[: len(words)] = words
            return *self._few, self
        items = np.array(words, np.int64)
        values = np.zeros(len(words) // ITEM_WORDS + ARGUMENTS, np.uint64)
        return address_of(items), address_of(values), (items, values)

    def interrupt(self) -> None:
        """End the call at its next check, from another thread."""
        self.words[Field.STACK_LIMIT] = INTERRUPTED

    @property
    def stack(self) -> tuple[int, int]:
        """The lowest address that the last call might use of its stack, and the end; 0 after an interrupt."""
        limit = int(self.words[Field.STACK_LIMIT])
        lowest = 0 if limit == INTERRUPTED else limit
        return lowest, lowest + int(self.words[Field.STACK_BYTES])

    def type_at(self, address: int) -> tuple[np.dtype[Any], tuple[int, ...]]:
        """Element type and sizes of a tensor object."""
        return self._types.type_at(_words_at(address, 4)[3])

    def _new_chunk(self, context: int, size_bytes: int) -> int:
        """Memory for new objects; 0 when there is none."""
        return int(self.memory.more(size_bytes))

    def _call_packed(self, context: int, number: int, arguments: int, results: int) -> int:
        """Call a function that has no native call; 1 when it fails."""
        try:
            packing = cast(Packing, self.packed[number])
            check = packing.check
            objects = _words_at(arguments, len(check.inputs))
            arrays = [self._array(each, packing.is_host) for each in objects]
            check.arguments(arrays)
            made = check.results(arrays, packing.function(*arrays))
            places = (ctypes.c_uint64 * len(made)).from_address(results)
            for index, array in enumerate(made):
                places[index] = self._object(np.asarray(array, order="C"))
        except BaseException as error:
            self.failure = error
            return 1
        return 0

    def _prepare_segment(self, context: int, number: int, arguments: int) -> int:
        """Let the row of a segment with open sizes be for those of some arguments; 1 when it fails."""
        try:
            packing, row = cast(Packing, self.packed[number]), cast(Words, self._rows[number])
            segment, count = cast(NativeSegment, packing.segment), len(packing.check.inputs)
            objects = _words_at(arguments, count)
            arrays = [self._array(each, False) for each in objects]
            packing.check.arguments(arrays)
            row[:] = 0
            outputs: list[int] = []
            for dtype, shape in zip(
                segment.dtypes, segment.prepare(tuple(a.shape for a in arrays)), strict=True
            ):
                block = tensor_block(prod(shape) * dtype.itemsize)
                outputs += (self._types.address_of_type(dtype, shape), *block)
            row[count:] = outputs
            row[:count] = [_words_at(each, 4)[3] for each in objects]
            self._segments[number] = segment.addresses
        except BaseException as error:
            self.failure = error
            return 1
        return 0

    def _array(self, address: int, is_copied: bool) -> Array:
        """A tensor object as an array: a view, or a copy for functions of the host."""
        head = (ctypes.c_int32 * 4).from_address(address)
        if head[3] & 255 != Kind.TENSOR:
            return cast(Array, None)  # which the check refuses
        elements, type = _words_at(address, 4)[2:]
        dtype, shape = self._types.type_at(type)
        if not prod(shape):
            return cast(Array, np.empty(shape, dtype))
        array = cast(Array, np.ndarray(shape, dtype, cast(Any, _MEMORY.from_address(elements))))
        return array.copy() if is_copied else array

    def _object(self, array: Array) -> int:
        """A tensor object with the elements of an array. Raises: MemoryError."""
        block = tensor_block(array.nbytes)
        type = self._types.address(array)
        made = self._make_tensor(self.address, type, block.size_class, block.size_bytes, block.offset)
        if not made:
            raise MemoryError
        ctypes.memmove(made + block.offset, address_of(array), array.nbytes)
        return made


def _words_at(address: int, count: int) -> list[int]:
    return list((ctypes.c_uint64 * count).from_address(address))


def _constant_objects(constants: Sequence[Array], types: TypeTable) -> tuple[Words, Words]:
    """Objects of constants, which point to the arrays; and the table of their addresses."""
    words = TENSOR_HEAD_BYTES // WORD_BYTES
    objects = np.zeros((max(1, len(constants)), words), np.uint64)
    for row, array in zip(objects, constants, strict=False):
        row[1] = np.uint64(Kind.TENSOR << 32)
        row[2], row[3] = address_of(array), types.address(array)
    start = address_of(objects)
    table = start + TENSOR_HEAD_BYTES * np.arange(len(objects), dtype=np.uint64)
    return objects, table.astype(np.uint64)


def _open_row(packed: Packing | NativeSegment) -> Words | None:
    """The row of a segment with open sizes: for none yet. None for other packed functions."""
    if isinstance(packed, NativeSegment) or packed.segment is None:
        return None
    check = packed.check
    return np.zeros(max(1, len(check.inputs) + OUTPUT_WORDS * len(check.outputs)), np.uint64)


def _segment_table(packed: Sequence[Packing | NativeSegment]) -> Words:
    """The rows of segments, zero where there is no native call."""
    table = np.zeros((max(1, len(packed)), SEGMENT_WORDS), np.uint64)
    for row, each in zip(table, packed, strict=False):
        if isinstance(each, NativeSegment):
            row[:] = each.addresses
    return table
