"""Weights as codes: integers with a scale, and a zero point, for each channel or block."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

from stepwell.dialects.quantization.plan import PlanEntry

Floats = npt.NDArray[np.float32]


class Codes(NamedTuple):
    """The codes of a weight with its scales, and zero points where zero is not code 0."""

    codes: npt.NDArray[np.integer[Any]]
    scale: Floats
    zero_point: npt.NDArray[np.integer[Any]] | None = None


def channel_scales(weight: Floats, axis: int, most: int = 127) -> Floats:
    """The scale of each index of an axis: the greatest magnitude is code `most`; 1 where all are zero."""
    others = tuple(i for i in range(weight.ndim) if i != axis)
    greatest = np.abs(weight).max(axis=others, initial=0).astype(np.float32)
    scales = (greatest / np.float32(most)).astype(np.float32)
    return np.where(scales > 0, scales, np.float32(1)).astype(np.float32)


def channel_codes(weight: Floats, scale: Floats, axis: int, most: int = 127) -> npt.NDArray[np.int8]:
    """The symmetric codes of a weight for scales along an axis, within `most`."""
    spread = scale.reshape([-1 if i == axis else 1 for i in range(weight.ndim)]) if scale.ndim else scale
    return np.clip(np.rint(weight / spread), -most, most).astype(np.int8)


def codes_of(weight: Floats, entry: PlanEntry) -> npt.NDArray[np.generic]:
    """The codes of a weight for the scales and zero points of a plan's entry."""
    info: Any = ml_dtypes.iinfo(entry.dtype)
    zero = entry.zero_points(weight.shape)
    spread = entry.spread(entry.scales(weight.shape), weight.shape)
    numbers = weight.astype(np.float64) if entry.to == "s32" else weight
    with np.errstate(divide="ignore", invalid="ignore"):
        codes = np.rint(np.where(spread == 0, np.float32(0), numbers / spread)).astype(np.float64)
    if zero is not None:
        codes += entry.spread(zero.astype(np.float32), weight.shape)
    least = -info.max if entry.to == "s8" else info.min
    return np.clip(codes, least, info.max).astype(np.int64).astype(entry.dtype)
