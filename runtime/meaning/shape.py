"""The numpy meaning of views, broadcasting, and tensors made from dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import Array, meaning

Shape = Sequence[int]
Ints = npt.NDArray[np.int64]


def ints(parameter: Shape | None, value: Array | None) -> tuple[int, ...]:
    """A shape parameter from its property or its operand."""
    given = parameter if parameter is not None else cast(Sequence[int], np.asarray(value).tolist())
    return tuple(int(n) for n in given)


@meaning("graph.reshape")
def reshape(x: Array, shape_value: Array | None = None, *, shape: Shape | None = None) -> Array:
    """The elements of `x`, in row-major order, under another shape."""
    return x.reshape(ints(shape, shape_value))


@meaning("graph.expand_dims")
def expand_dims(x: Array, *, axes: Shape) -> Array:
    """`x` with dimensions of size 1 at these axes of the result."""
    return np.expand_dims(x, tuple(axes))


@meaning("graph.squeeze")
def squeeze(x: Array, *, axes: Shape) -> Array:
    """`x` without the dimensions of size 1 at the axes."""
    return np.squeeze(x, tuple(axes))


@meaning("graph.broadcast_to")
def broadcast_to(x: Array, shape_value: Array | None = None, *, shape: Shape | None = None) -> Array:
    """`x` repeated along dimensions of size 1 and along new leading dimensions."""
    return np.broadcast_to(x, ints(shape, shape_value))


@meaning("graph.shape_of")
def shape_of(x: Array, *, start: int, end: int) -> Array:
    """The extents of dimensions `start` up to `end` as i64."""
    return np.array(x.shape[start:end], np.int64)


@meaning("graph.extents")
def extents(*, dims: Shape) -> Array:
    """The values of dimension expressions as i64."""
    return np.array(dims, np.int64)


@meaning("graph.full")
def full(value: Array, shape_value: Array | None = None, *, shape: Shape | None = None) -> Array:
    """A tensor filled with a value."""
    return np.full(ints(shape, shape_value), value, value.dtype)


@meaning("graph.iota")
def iota(*, shape: Shape, axis: int, type: np.dtype[np.generic]) -> Array:
    """A tensor of indices along the axis."""
    counted = np.arange(shape[axis]).astype(type).reshape([-1 if i == axis else 1 for i in range(len(shape))])
    return np.broadcast_to(counted, tuple(shape))


@meaning("graph.range")
def range_(start: Array, limit: Array, delta: Array) -> Array:
    """`start + i * delta` up to the limit, counted in f64 for floats."""
    begin, end, step = (cast(npt.NDArray[np.number], v) for v in (start, limit, delta))
    count = max(int(np.ceil((end.item() - begin.item()) / step.item())), 0)
    return np.asarray(begin + np.arange(count).astype(begin.dtype) * step).astype(begin.dtype)
