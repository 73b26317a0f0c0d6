"""The numpy meaning of operators that order elements."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import Array, meaning


@meaning("graph.top_k")
def top_k(x: Array, *, k: tuple[int], axis: int, largest: bool) -> tuple[Array, Array]:
    """
    The `k` greatest or least elements along an axis and their indices; lower indices first among equals, NaN
    the greatest.
    """
    if k[0] > x.shape[axis]:
        raise ValueError(f"k is {k[0]}, but only {x.shape[axis]} elements are there")
    # numpy sorts NaN after all numbers; for a reversed result, a stable sort has to see the last index first.
    order = np.argsort(np.flip(x, axis) if largest else x, axis=axis, kind="stable")
    if largest:
        order = x.shape[axis] - 1 - np.flip(order, axis)
    indices = np.take(order, np.arange(k[0]), axis).astype(np.int64)
    return np.take_along_axis(x, indices, axis), indices


@meaning("graph.reverse_sequence")
def reverse_sequence(x: Array, lengths: Array, *, batch_axis: int, time_axis: int) -> Array:
    """The tensor with the first `lengths[b]` elements along the time axis in reverse order."""
    time = _along(np.arange(x.shape[time_axis], dtype=np.int64), time_axis, x.ndim)
    length = _along(lengths.astype(np.int64), batch_axis, x.ndim)
    places = np.where(time < length, length - 1 - time, time)
    return np.take_along_axis(x, np.broadcast_to(places, x.shape), time_axis)


def _along(vector: npt.NDArray[np.int64], axis: int, rank: int) -> npt.NDArray[np.int64]:
    """A vector reshaped to rank `rank`, with its elements along `axis`."""
    return vector.reshape([-1 if i == axis else 1 for i in range(rank)])
