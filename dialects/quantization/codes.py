"""Weights as codes: integers with a scale, and a zero point, for each channel or block."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

from stepwell.dialects.quantization.plan import PlanEntry

Floats = npt.NDArray[np.float32]


SHRINKS = 40
"""The ranges that `mse` tries, from all to `_LEAST` of it."""
_LEAST = 0.6


class Scales(NamedTuple):
    """The scales of a weight, and zero points where zero is not code 0, both in the shape that ONNX wants."""

    scale: Floats
    zero_point: npt.NDArray[np.integer[Any]] | None = None


def weight_scales(
    weight: Floats, to: str, axis: int, *, block: int = 0, method: str = "rtn", most: int = 127
) -> Scales:
    """
    The scales of a weight: symmetric bytes of channels (`s8`), or blocks of 4 bits (`u4`, `s4`).

    Args: with the method `rtn` they are of the whole range, with others of that with the least squared
    error; `most` is the greatest code of bytes.
    """
    fractions = (
        np.ones(1, np.float32) if method == "rtn" else np.linspace(1, _LEAST, SHRINKS, dtype=np.float32)
    )
    if block:
        return _block_scales(weight, to, axis, block, fractions)
    scales = channel_scales(weight, axis, most)
    best, least = scales, np.full(scales.shape, np.inf)
    others = tuple(i for i in range(weight.ndim) if i != axis)
    for fraction in fractions if len(fractions) > 1 else ():
        tried = (scales * fraction).astype(np.float32)
        spread = tried.reshape([-1 if i == axis else 1 for i in range(weight.ndim)])
        error = np.sum((channel_codes(weight, tried, axis, most) * spread - weight) ** 2, axis=others)
        best, least = np.where(error < least, tried, best), np.minimum(error, least)
    return Scales(best.astype(np.float32))


def weight_entry(
    node: str, weight: Floats, to: str, axis: int, *, block: int = 0, method: str = "rtn", form: str = "qdq"
) -> PlanEntry:
    """The entry of a plan for a weight, the second operand of a node (`weight_scales` says how)."""
    scales = weight_scales(weight, to, axis, block=block, method=method, most=MOST.get(to, 127))
    points = () if scales.zero_point is None else [int(each) for each in scales.zero_point.ravel()]
    return PlanEntry(node, "1", "weight", to, scales.scale.ravel().tolist(), points, axis, block, form)


def _block_scales(weight: Floats, to: str, axis: int, block: int, fractions: Floats) -> Scales:
    """The scales of blocks of 4 bits; the last block of a row may be shorter."""
    blocks = _in_blocks(weight, axis, block)
    ranges = [(_symmetric if to == "s4" else _asymmetric)(blocks, fraction) for fraction in fractions]
    scale, zero = ranges[0]
    least = _error(blocks, scale, zero)
    for tried, point in ranges[1:]:
        error = _error(blocks, tried, point)
        is_less = error < least
        scale, zero = np.where(is_less, tried, scale), np.where(is_less, point, zero)
        least = np.minimum(error, least)
    # From [rows, blocks] back to the axis.
    shape = [size for i, size in enumerate(weight.shape) if i != axis]

    def placed(numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.ascontiguousarray(np.moveaxis(numbers.reshape(*shape, -1), -1, axis))

    if to == "s4":
        return Scales(placed(scale.astype(np.float32)))
    return Scales(placed(scale.astype(np.float32)), placed(zero.astype(np.int32)))


def _in_blocks(weight: Floats, axis: int, block: int) -> Floats:
    """A weight as [rows, blocks, block], blocks along an axis, the last one filled with zeros."""
    rows = np.moveaxis(weight, axis, -1).reshape(-1, weight.shape[axis])
    padded = np.pad(rows, [(0, 0), (0, -rows.shape[1] % block)])
    return padded.reshape(len(rows), -1, block)


def _symmetric(blocks: Floats, fraction: np.float32) -> tuple[Floats, Floats]:
    """The scales of blocks whose element of greatest magnitude is code -8, and the zero points of `u4`."""
    position = np.abs(blocks).argmax(axis=-1)[..., None]
    greatest = np.take_along_axis(blocks, position, -1)[..., 0] * fraction
    scale = (greatest / np.float32(-8)).astype(np.float32)
    return scale, np.full(scale.shape, 8, np.float32)


def _asymmetric(blocks: Floats, fraction: np.float32) -> tuple[Floats, Floats]:
    """The scales and zero points of blocks whose range has the codes 0 to 15."""
    lo = np.minimum(blocks.min(axis=-1), 0) * fraction
    hi = np.maximum(blocks.max(axis=-1), 0) * fraction
    scale = ((hi - lo) / np.float32(15)).astype(np.float32)
    points = np.rint(-lo / np.where(scale == 0, np.float32(1), scale))
    return scale, np.clip(points, 0, 15).astype(np.float32)


def _error(blocks: Floats, scale: Floats, zero: Floats) -> Floats:
    """The squared error of each block."""
    spread, points = scale[..., None], zero[..., None]
    codes = np.rint(blocks / np.where(spread == 0, np.float32(1), spread)) + points
    return np.sum(((np.clip(codes, 0, 15) - points) * spread - blocks) ** 2, axis=-1)


MOST = {"s8": 127, "f8": 448}
"""The greatest code of a channel by type."""


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
    if entry.to == "f8":
        spread = entry.spread(entry.scales(weight.shape), weight.shape)
        return np.asarray(weight / spread).astype(entry.dtype)
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


def dequantized(weight: Floats, entry: PlanEntry) -> npt.NDArray[np.float64]:
    """The numbers that the codes of a weight stand for."""
    codes = codes_of(weight, entry).astype(np.float64)
    zero = entry.zero_points(weight.shape)
    if zero is not None:
        codes = codes - entry.spread(zero.astype(np.float32), weight.shape)
    return codes * entry.spread(entry.scales(weight.shape), weight.shape)
