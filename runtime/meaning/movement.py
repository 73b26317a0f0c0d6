"""Numpy meanings of data movement: transpose, concat, split, slice, pad, tile, reverse."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import Literal, cast

import numpy as np

from stepwell.runtime.meaning import Array, meaning
from stepwell.runtime.meaning.indexing import OutOfRange
from stepwell.runtime.meaning.shape import Shape, ints


@meaning("graph.transpose")
def transpose(x: Array, *, perm: Shape) -> Array:
    """Dimensions permuted: result dimension i is `perm[i]` of `x`."""
    return np.transpose(x, tuple(perm))


@meaning("graph.concat")
def concat(*inputs: Array, axis: int) -> Array:
    """Tensors joined along an axis."""
    return np.concatenate(inputs, axis)


@meaning("graph.split")
def split(
    x: Array, sizes_value: Array | None = None, *, axis: int, sizes: Shape | None = None
) -> tuple[Array, ...]:
    """Pieces of the given sizes along an axis."""
    edges = [0, *accumulate(ints(sizes, sizes_value))]
    return tuple(np.take(x, np.arange(low, high), axis) for low, high in pairwise(edges))


@meaning("graph.slice")
def slice_(
    x: Array,
    starts_value: Array | None = None,
    limits_value: Array | None = None,
    *,
    starts: Shape | None = None,
    limits: Shape | None = None,
    steps: Shape,
) -> Array:
    """
    Every step-th element from start up to limit; the limit of a negative step may be -1.

    Raises: OutOfRange for a start or limit outside of the tensor.
    """
    bounds = list(zip(ints(starts, starts_value), ints(limits, limits_value), steps, strict=True))
    for (start, limit, step), size in zip(bounds, x.shape, strict=True):
        low = 0 if step > 0 else -1
        for bound in (start, limit):
            if not low <= bound <= size + low:
                raise OutOfRange(bound, size + low)
    return x[tuple(slice(a, b if b >= 0 else None, k) for a, b, k in bounds)]


@meaning("graph.insert_slice")
def insert_slice(
    x: Array, update: Array, offsets_value: Array | None = None, *, offsets: Shape | None = None
) -> Array:
    """A copy of `x` with `update` written at the offsets. Raises: OutOfRange where there is no room."""
    result = x.copy()
    at = ints(offsets, offsets_value)
    for offset, whole, part in zip(at, x.shape, update.shape, strict=True):
        if not 0 <= offset <= whole - part:
            raise OutOfRange(offset, whole - part)
    result[tuple(slice(o, o + n) for o, n in zip(at, update.shape, strict=True))] = update
    return result


@meaning("graph.pad")
def pad(
    x: Array,
    value: Array | None = None,
    pads_value: Array | None = None,
    *,
    pads: Shape | None = None,
    mode: str,
) -> Array:
    """`x` cropped by the negative pads, then padded by the positive ones."""
    widths = ints(pads, pads_value)
    before, after = widths[: x.ndim], widths[x.ndim :]
    bounds = zip(before, after, x.shape, strict=True)
    cropped = x[tuple(slice(max(-low, 0), n - max(-high, 0)) for low, high, n in bounds)]
    added = [(max(low, 0), max(high, 0)) for low, high in zip(before, after, strict=True)]
    if mode == "constant":
        fill = x.dtype.type(0) if value is None else value
        return np.pad(cropped, added, constant_values=fill)
    return np.pad(cropped, added, mode=cast("Literal['reflect', 'edge', 'wrap']", mode))


@meaning("graph.tile")
def tile(x: Array, repeats_value: Array | None = None, *, repeats: Shape | None = None) -> Array:
    """The whole tensor repeated along each dimension."""
    return np.tile(x, ints(repeats, repeats_value))


@meaning("graph.reverse")
def reverse(x: Array, *, axes: Shape) -> Array:
    """The elements in reverse order along the axes."""
    return np.flip(x, tuple(axes))
