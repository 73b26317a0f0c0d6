"""`vector`: arrays of fixed shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any, cast

import numpy as np
from xdsl.dialects import vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, VectorType
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects.vector import MultiReductionOp, ShapeCastOp
from stepwell.lowering.interpret.engine import Binary, Step, Unary, Value, implements
from stepwell.lowering.interpret.grids import Array
from stepwell.lowering.interpret.tensors import fill_in

_UFUNCS: Mapping[str, tuple[np.ufunc, bool]] = {
    "add": (np.add, False),
    "mul": (np.multiply, False),
    "minui": (np.minimum, True),
    "minsi": (np.minimum, False),
    "minnumf": (np.fmin, False),
    "minimumf": (np.minimum, False),
    "maxui": (np.maximum, True),
    "maxsi": (np.maximum, False),
    "maxnumf": (np.fmax, False),
    "maximumf": (np.maximum, False),
    "and": (np.bitwise_and, False),
    "or": (np.bitwise_or, False),
    "xor": (np.bitwise_xor, False),
}


def vector_shape(value: SSAValue) -> tuple[int, ...]:
    """The shape of a vector; empty for a number."""
    type = value.type
    return cast("VectorType[Attribute]", type).get_shape() if isinstance(type, VectorType) else ()


@implements("vector.broadcast")
def prepare_broadcast(op: vector.BroadcastOp) -> Unary:
    """A number, or a vector repeated along new leading dimensions."""
    shape = vector_shape(op.vector)
    return lambda x: np.full(shape, x)


@implements("vector.shape_cast")
def prepare_shape_cast(op: ShapeCastOp) -> Unary:
    """The same elements in another shape."""
    shape = vector_shape(op.results[0])
    return lambda x: x.reshape(shape)


@implements("vector.extract")
def prepare_extract(op: vector.ExtractOp) -> Step:
    """The part of a vector at a position along its leading dimensions."""
    static = op.static_position.get_values()
    if DYNAMIC_INDEX not in static:
        return itemgetter(tuple(static))

    def extract(x: Array, *dynamic: int) -> Value:
        return x[fill_in(static, dynamic)]

    return extract


@implements("vector.insert")
def prepare_insert(op: vector.InsertOp) -> Step:
    """A copy of a vector with the part at a position replaced."""
    static = op.static_position.get_values()

    def insert(part: Value, x: Array, *dynamic: int) -> Array:
        result = np.array(x)
        result[fill_in(static, dynamic)] = part
        return result

    return insert


@implements("vector.shuffle")
def prepare_shuffle(op: vector.ShuffleOp) -> Binary:
    """Elements of two vectors by number; -1 is any element."""
    mask = np.array(op.mask.get_values())
    return lambda a, b: np.concatenate([np.atleast_1d(a), np.atleast_1d(b)])[np.maximum(mask, 0)]


def combine(kind: str, values: Any, axes: tuple[int, ...]) -> Any:
    """A vector reduced along some of its dimensions; sums and products of floats are computed in f64."""
    function, is_unsigned = _UFUNCS[kind]
    dtype = values.dtype
    if is_unsigned:
        return function.reduce(np.ascontiguousarray(values).view(f"u{dtype.itemsize}"), axis=axes).view(dtype)
    if dtype.kind not in "iub" and function in (np.add, np.multiply):
        return function.reduce(values.astype(np.float64), axis=axes).astype(dtype)
    return function.reduce(values, axis=axes, dtype=dtype)


def _combine_two(kind: str, a: Value, b: Value) -> Value:
    return combine(kind, np.stack([np.asarray(a), np.asarray(b)]), (0,))


@implements("vector.reduction")
def prepare_reduction(op: vector.ReductionOp) -> Step:
    """All elements of a vector reduced, with an accumulator if there is one."""
    kind = op.kind.data.value

    def reduce(x: Array, *acc: Value) -> Value:
        total = combine(kind, x, (0,))
        return _combine_two(kind, acc[0], total)[()] if acc else total

    return reduce


@implements("vector.multi_reduction")
def prepare_multi_reduction(op: MultiReductionOp) -> Binary:
    """A vector reduced along some of its dimensions, with an accumulator."""
    kind, axes = op.kind.data.value, tuple(op.reduction_dims.get_values())
    return lambda x, acc: _combine_two(kind, acc, combine(kind, x, axes))[()]


@implements("vector.create_mask")
def prepare_create_mask(op: vector.CreateMaskOp) -> Step:
    """True where each index is below its bound."""
    shape = vector_shape(op.mask_vector)

    def create(*bounds: int) -> Array:
        mask = np.zeros(shape, np.bool_)
        mask[tuple(slice(0, max(0, min(int(n), size))) for n, size in zip(bounds, shape, strict=True))] = True
        return mask

    return create


@implements("vector.load")
def prepare_load(op: vector.LoadOp) -> Step:
    """A contiguous vector of elements along a buffer's last dimensions."""
    shape = vector_shape(op.result)

    def load(buffer: Array, *indices: int) -> Array:
        return buffer[_window(buffer, indices, shape)].copy()

    return load


@implements("vector.store")
def prepare_store(op: vector.StoreOp) -> Step:
    """A write of a contiguous vector along a buffer's last dimensions."""
    shape = vector_shape(op.vector)

    def store(x: Array, buffer: Array, *indices: int) -> None:
        buffer[_window(buffer, indices, shape)] = x

    return store


def _window(buffer: Array, indices: Sequence[int], shape: Sequence[int]) -> tuple[int | slice, ...]:
    """The indices of a contiguous vector in a buffer, checked against its shape."""
    leading = buffer.ndim - len(shape)
    for index, extent, size in zip(indices, buffer.shape, (*[1] * leading, *shape), strict=True):
        if index < 0 or index + size > extent:
            raise IndexError(f"elements {index}..{index + size - 1} leave a dimension of extent {extent}")
    windows = [slice(at, at + n) for at, n in zip(indices[leading:], shape, strict=True)]
    return (*indices[:leading], *windows)


@implements("vector.maskedload")
def prepare_masked_load(op: vector.MaskedLoadOp) -> Step:
    """The elements of a buffer where a mask is set, another vector's elsewhere."""

    def load(buffer: Array, *operands: Value) -> Array:
        *indices, mask, other = operands
        result = np.array(other)
        (lanes,) = np.nonzero(mask)
        result[lanes] = _row(buffer, indices)[_lanes(buffer, indices, lanes)]
        return result

    return load


@implements("vector.maskedstore")
def prepare_masked_store(op: vector.MaskedStoreOp) -> Step:
    """A write of the elements of a vector to a buffer where a mask is set."""

    def store(buffer: Array, *operands: Value) -> None:
        *indices, mask, x = operands
        (lanes,) = np.nonzero(mask)
        _row(buffer, indices)[_lanes(buffer, indices, lanes)] = x[lanes]

    return store


def _row(buffer: Array, indices: Sequence[int]) -> Array:
    return buffer[tuple(indices[:-1])]


def _lanes(buffer: Array, indices: Sequence[int], lanes: Array) -> Array:
    """The checked indices of some lanes along a buffer's last dimension."""
    positions = indices[-1] + lanes
    if lanes.size and (positions.min() < 0 or positions.max() >= buffer.shape[-1]):
        raise IndexError(
            f"lanes {positions.min()}..{positions.max()} leave a dimension of extent {buffer.shape[-1]}"
        )
    return positions
