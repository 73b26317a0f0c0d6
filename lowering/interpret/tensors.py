"""`tensor`: arrays that are never changed after their creation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects.types import Tensor, tensor_of
from stepwell.lowering.bufferize import groups_of, memref_of
from stepwell.lowering.interpret.elements import numpy_dtype, undefined
from stepwell.lowering.interpret.engine import (
    Compiler,
    Frame,
    Step,
    Unary,
    Value,
    implement_all,
    implements,
    implements_in_frame,
)
from stepwell.lowering.interpret.grids import Array
from stepwell.lowering.interpret.scalars import is_grid


def fill_in(static: Sequence[int], dynamic: Iterable[int]) -> tuple[int, ...]:
    """Numbers, with each `DYNAMIC_INDEX` replaced by the next dynamic one."""
    rest = iter(dynamic)
    return tuple(next(rest) if n == DYNAMIC_INDEX else n for n in static)


def shaped(value: SSAValue) -> Tensor | MemRefType[Attribute]:
    """The type of a tensor or a buffer."""
    return memref_of(value) if isinstance(value.type, MemRefType) else tensor_of(value)


@implements("tensor.empty", "memref.alloca", "memref.alloc")
def prepare_empty(op: Operation) -> Step:
    """An array that must be written before it is read; a new buffer with undefined contents."""
    type = shaped(op.results[0])

    def empty(*sizes: int) -> Array:
        return undefined(fill_in(type.get_shape(), sizes), type.element_type)

    return empty


@implements("tensor.splat")
def prepare_splat(op: tensor.SplatOp) -> Step:
    """An array with the same number everywhere."""
    type = tensor_of(op.result)

    def splat(value: Value, *sizes: int) -> Array:
        return np.full(fill_in(type.get_shape(), sizes), value, numpy_dtype(type))

    return splat


@implements("tensor.from_elements")
def prepare_from_elements(op: tensor.FromElementsOp) -> Step:
    """An array from its elements in row-major order."""
    type = tensor_of(op.result)

    def from_elements(*values: Value) -> Array:
        return np.array(values, numpy_dtype(type)).reshape(type.get_shape())

    return from_elements


def same(array: Array) -> Array:
    """The array itself."""
    return array


def extent_of(array: Array, dim: int) -> int:
    """The extent of an array along a dimension."""
    return array.shape[dim]


implement_all({"tensor.cast": same, "tensor.dim": extent_of})


def window(op: Any, operands: Sequence[int]) -> list[tuple[int, ...]]:
    """The offsets, sizes and strides of an op; `operands` are the dynamic ones."""
    rest = iter(operands)
    return [
        fill_in(attribute.get_values(), rest)
        for attribute in (op.static_offsets, op.static_sizes, op.static_strides)
    ]


def parts(op: Any, operands: Sequence[int]) -> list[slice]:
    """The slices that an op with offsets, sizes and strides selects; `operands` are the dynamic ones."""
    return [
        slice(at, at + (size - 1) * step + 1, step) if size else slice(0, 0)
        for at, size, step in zip(*window(op, operands), strict=True)
    ]


def take(array: Array, slices: Sequence[slice]) -> Array:
    """A view of a part of an array. Raises: IndexError when the part exceeds the array."""
    for part, size in zip(slices, array.shape, strict=True):
        if part.start < 0 or part.stop > size:
            raise IndexError(f"slice {part.start}..{part.stop - 1} leaves a dimension of extent {size}")
    return array[tuple(slices)]


def drop_dims(array: Array, rank: int) -> Array:
    """An array without its first extents of 1, as many as are too much for `rank` dimensions."""
    if array.ndim == rank:
        return array
    shape = list(array.shape)
    while len(shape) > rank:
        shape.remove(1)
    return array.reshape(shape)


@implements("tensor.extract_slice", "memref.subview")
def prepare_extract_slice(op: Operation) -> Step:
    """A strided part of an array, as a view."""
    rank = len(shaped(op.results[0]).get_shape())

    def extract(x: Array, *sizes: int) -> Array:
        return drop_dims(take(x, parts(op, sizes)), rank)

    return extract


@implements("tensor.insert_slice")
def prepare_insert_slice(op: tensor.InsertSliceOp) -> Step:
    """A copy of an array with a strided part replaced."""

    def insert(source: Array, dest: Array, *sizes: int) -> Array:
        result = dest.copy()
        part = take(result, parts(op, sizes))
        part[...] = source.reshape(part.shape)
        return result

    return insert


@implements("tensor.collapse_shape")
def prepare_collapse_shape(op: tensor.CollapseShapeOp) -> Unary:
    """An array with groups of dimensions merged."""
    groups = groups_of(op.reassociation)
    return lambda x: x.reshape(collapsed_shape(x, groups))


def collapsed_shape(array: Array, groups: Sequence[Sequence[int]]) -> list[int]:
    """The shape of an array with groups of its dimensions merged."""
    return [prod(array.shape[i] for i in group) for group in groups]


@implements("tensor.expand_shape")
def prepare_expand_shape(op: tensor.ExpandShapeOp) -> Step:
    """An array with dimensions split into groups."""
    shape = op.static_output_shape.get_values()

    def expand(x: Array, *sizes: int) -> Array:
        return x.reshape(fill_in(shape, sizes))

    return expand


@implements("tensor.insert")
def prepare_insert(op: tensor.InsertOp) -> Step:
    """A copy of an array with one element replaced."""

    def insert(value: Value, dest: Array, *indices: int) -> Array:
        result = dest.copy()
        result[checked(indices, result.shape)] = value
        return result

    return insert


@implements_in_frame("tensor.extract", "memref.load")
def prepare_extract(op: Operation, compiler: Compiler) -> Step:
    """An element of an array; in a structured op's body, an element for each one of the grid."""

    def extract(frame: Frame, array: Array, *indices: Value) -> Value:
        if frame.grid and any(is_grid(index) for index in indices):
            if frame.mask is not None and 0 in array.shape:  # no point of the grid reads it
                return np.zeros(np.broadcast_shapes(*map(np.shape, indices)), array.dtype)
            return array[_gathered(indices, array.shape, frame.mask)]
        return array[checked(indices, array.shape)]

    return extract


def checked(indices: Sequence[Value], shape: Sequence[int]) -> tuple[Value, ...]:
    """Indices of an element. Raises: IndexError for one out of bounds: numpy would wrap negative ones."""
    for index, size in zip(indices, shape, strict=True):
        if not 0 <= index < size:
            raise IndexError(f"index {index} leaves a dimension of extent {size}")
    return tuple(indices)


def _gathered(indices: Sequence[Value], shape: Sequence[int], mask: Value | None) -> tuple[Value, ...]:
    """Indices of many elements; those outside the mask are clamped, since their branch is not selected."""
    gathered: list[Value] = []
    for index, size in zip(indices, shape, strict=True):
        outside = (index < 0) | (index >= size)
        if np.any(outside if mask is None else outside & mask):
            raise IndexError(f"an index leaves a dimension of extent {size}")
        gathered.append(index if mask is None else np.clip(index, 0, max(size - 1, 0)))
    return tuple(gathered)
