"""The numpy meaning of `graph.resize`: weighted sums along one axis after the other, the last first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import Array, meaning
from stepwell.runtime.meaning.shape import Shape, ints

F64 = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class AxisSampling:
    """The sampling of an axis from `size` to `out` elements, `scale` times as dense."""

    size: int
    out: int
    scale: float
    coordinate: str
    roi: tuple[float, float] = (0.0, 1.0)

    @property
    def is_identity(self) -> bool:
        """Whether the axis is unchanged."""
        return self.size == self.out and self.scale == 1 and self.coordinate != "tf_crop_and_resize"

    def places(self) -> F64:
        """The coordinate of each result element on the operand's axis."""
        x = np.arange(self.out, dtype=np.float64)
        n, s = float(self.size), self.scale
        length = s * n
        match self.coordinate:
            case "asymmetric":
                return x / s
            case "align_corners":
                return x * ((n - 1) / (length - 1)) if length != 1 else x * 0
            case "pytorch_half_pixel" if length == 1:
                return x * 0
            case "half_pixel_symmetric":
                return n / 2 * (1 - self.out / length) + (x + 0.5) / s - 0.5
            case "tf_half_pixel_for_nn":
                return (x + 0.5) / s
            case "tf_crop_and_resize":
                start, end = self.roi
                if length == 1:
                    return x * 0 + 0.5 * (start + end) * (n - 1)
                return start * (n - 1) + x * ((end - start) * (n - 1) / (length - 1))
            case _:
                return (x + 0.5) / s - 0.5


def _rounded(places: F64, nearest: str) -> F64:
    match nearest:
        case "round_prefer_floor":
            return np.ceil(places - 0.5)
        case "round_prefer_ceil":
            return np.floor(places + 0.5)
        case "ceil":
            return np.ceil(places)
        case _:
            return np.floor(places)


def _cubic(distance: F64, a: float) -> F64:
    """Keys' kernel at distances up to 2, 0 beyond."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def neighbours(
    sampling: AxisSampling, mode: str, nearest: str, cubic_a: float, antialias: bool, exclude_outside: bool
) -> tuple[Ints, F64]:
    """The indices and weights of the operand elements that each result element sums."""
    places = sampling.places()
    last = sampling.size - 1
    if mode == "nearest":
        chosen = _rounded(places, nearest)
        return np.clip(chosen, 0, last).astype(np.int64)[:, None], np.ones((len(places), 1))
    stretch = min(sampling.scale, 1.0) if antialias else 1.0
    reach = (1 if mode == "linear" else 2) / stretch
    offsets: F64 = np.arange(1 - ceil(reach), ceil(reach) + 1).astype(np.float64)
    taken: F64 = np.floor(places)[:, None] + offsets
    distance: F64 = (taken - places[:, None]) * stretch
    linear: F64 = np.maximum(1 - np.abs(distance), 0.0)
    weights = linear if mode == "linear" else _cubic(distance, cubic_a)
    if exclude_outside:
        weights = np.where((taken < 0) | (taken > last), 0.0, weights)
    if antialias or exclude_outside:
        weights = weights / weights.sum(axis=1, keepdims=True)
    return np.clip(taken, 0, last).astype(np.int64), weights


@meaning("graph.resize")
def resize(
    x: Array,
    shape_value: Array | None = None,
    *,
    shape: Shape | None = None,
    scales: Sequence[float] | None = None,
    mode: str,
    coordinate: str,
    nearest: str,
    cubic_a: float,
    antialias: bool = False,
    exclude_outside: bool = False,
    roi: Sequence[float] | None = None,
    extrapolation: float = 0.0,
) -> Array:
    """`x` resampled along each axis; sums in f32, for f64 in f64."""
    sizes = ints(shape, shape_value)
    element = np.dtype(np.float64 if x.dtype == np.float64 else np.float32)
    result = x if mode == "nearest" else x.astype(element)
    outside = np.zeros(sizes, np.bool_)
    for axis, (size, out) in reversed(list(enumerate(zip(x.shape, sizes, strict=True)))):
        scale = scales[axis] if scales is not None else out / max(size, 1)
        bounds = (roi[axis], roi[axis + x.ndim]) if roi is not None else (0.0, 1.0)
        sampling = AxisSampling(size, out, scale, coordinate, bounds)
        if sampling.is_identity:
            continue
        taken, weights = neighbours(sampling, mode, nearest, cubic_a, antialias, exclude_outside)
        result = _summed(result, axis, taken, weights.astype(element), mode == "nearest")
        if coordinate == "tf_crop_and_resize":
            places = sampling.places()
            beyond = (places < 0) | (places > size - 1)
            outside |= beyond.reshape([-1 if i == axis else 1 for i in range(x.ndim)])
    if outside.any():
        result = np.where(outside, np.asarray(extrapolation, result.dtype), result)
    return _stored(result, x.dtype)


def _summed(x: Array, axis: int, taken: Ints, weights: Array, single: bool) -> Array:
    """Weighted sums of elements along an axis, in the order of the neighbours."""
    if single:
        return np.take(x, taken[:, 0], axis)
    numbers, along = cast(F64, x), [-1 if i == axis else 1 for i in range(x.ndim)]
    terms = [
        np.take(numbers, taken[:, i], axis) * cast(F64, weights[:, i]).reshape(along)
        for i in range(taken.shape[1])
    ]
    return np.asarray(sum(terms[1:], start=terms[0]))


def _stored(result: Array, dtype: np.dtype[np.generic]) -> Array:
    """Sums converted to an element type: integers round half to even and saturate."""
    if result.dtype == dtype or dtype.kind not in "iu":
        return result.astype(dtype, copy=False)
    limits = np.iinfo(cast(np.dtype[np.integer], dtype))
    return np.clip(np.rint(cast(F64, result)), limits.min, limits.max).astype(dtype)
