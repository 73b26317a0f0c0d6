"""Numpy meanings of gathers and scatters."""

from __future__ import annotations

from types import EllipsisType
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import Array, meaning

Ints = npt.NDArray[np.int64]
Place = tuple["Ints | EllipsisType", ...]

_COMBINE: dict[str, np.ufunc] = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}


def _write(x: Array, place: Place, updates: Array, combine: str) -> Array:
    """A copy of `x` with updates written or combined at positions, in order."""
    result = x.copy()
    if combine == "none":
        result[place] = updates
    else:
        _COMBINE[combine].at(result, cast("tuple[Any, ...]", place), updates)
    return result


class OutOfRange(IndexError):
    """An index outside of a dimension."""

    def __init__(self, index: int, size: int):
        self.index, self.size = index, size
        super().__init__(f"index {index} is outside a dimension of size {size}")


def expect_inside(indices: Array, size: int, least: int | None = None) -> None:
    """
    Require indices from `-size`, or a least one, to `size - 1`.

    Raises: OutOfRange with the least index, or else the greatest.
    """
    low, high = int(indices.min(initial=0)), int(indices.max(initial=-1))
    bound = -size if least is None else least
    if low < bound or high >= size:
        raise OutOfRange(low if low < bound else high, size)


def _inside(indices: Array, size: int, bounds: str = "check") -> Ints:
    """Indices counted from the front; illegal ones are clipped or, with `check`, raise IndexError."""
    given = indices.astype(np.int64)
    positions = np.where(given < 0, given + size, given)
    if bounds == "clip":
        return np.clip(positions, 0, size - 1)
    expect_inside(given, size)
    return positions


def _grid(shape: tuple[int, ...], axis: int, indices: Ints) -> Place:
    """Positions of `*_elements`: the element's own position, with the index along the axis."""
    own = np.ogrid[tuple(slice(n) for n in shape)]
    return tuple(indices if i == axis else cast(Ints, place) for i, place in enumerate(own))


@meaning("graph.gather")
def gather(x: Array, indices: Array, *, axis: int, batch_dims: int = 0, bounds: str = "check") -> Array:
    """Slices of `x` along an axis; `batch_dims` leading dimensions of `x` and indices correspond."""
    positions = _inside(indices, x.shape[axis], bounds)
    if batch_dims == 0:
        return np.asarray(np.take(x, positions, axis))
    batch = x.shape[:batch_dims]
    result = [np.take(x[at], positions[at], axis - batch_dims) for at in np.ndindex(batch)]
    shape = (*batch, *x.shape[batch_dims:axis], *indices.shape[batch_dims:], *x.shape[axis + 1 :])
    return np.array(result, x.dtype).reshape(shape)


@meaning("graph.gather_elements")
def gather_elements(x: Array, indices: Array, *, axis: int) -> Array:
    """The element of `x` at each index along an axis, at the index's own position in the other dimensions."""
    return x[_grid(indices.shape, axis, _inside(indices, x.shape[axis]))]


def _position(x: Array, indices: Array, batch_dims: int) -> Place:
    """
    Positions of `*_nd`: the own position in batch dimensions, then an array for each number of an index.
    """
    leading = indices.shape[:-1]
    own = np.ogrid[tuple(slice(n) for n in leading)][:batch_dims]
    columns = [_inside(indices[..., i], x.shape[batch_dims + i]) for i in range(indices.shape[-1])]
    return (*(cast(Ints, place) for place in own), *columns)


@meaning("graph.gather_nd")
def gather_nd(x: Array, indices: Array, *, batch_dims: int = 0) -> Array:
    """Slices at the positions in the last dimension of the indices."""
    place = _position(x, indices, batch_dims)
    shape = indices.shape[:-1] + x.shape[batch_dims + indices.shape[-1] :]
    return np.broadcast_to(x[place] if place else x, shape)


@meaning("graph.scatter_elements")
def scatter_elements(
    x: Array, indices: Array, updates: Array, *, axis: int, combine: str, unique: bool = False
) -> Array:
    """A copy of `x` with an update written or combined for each index along an axis, in order."""
    return _write(x, _grid(indices.shape, axis, _inside(indices, x.shape[axis])), updates, combine)


@meaning("graph.scatter_nd")
def scatter_nd(x: Array, indices: Array, updates: Array, *, combine: str, unique: bool = False) -> Array:
    """A copy of `x` with slices written or combined at positions, in order."""
    return _write(x, _position(x, indices, 0) or (...,), updates, combine)


@meaning("graph.one_hot")
def one_hot(indices: Array, *, depth: tuple[int], axis: int) -> Array:
    """A tensor of truth values with a new axis, true at the index."""
    return np.expand_dims(indices, axis) == np.arange(depth[0]).reshape(
        [-1 if i == axis else 1 for i in range(indices.ndim + 1)]
    )
