"""Numpy meanings of quantization: exactly as the specification rounds and saturates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stepwell.runtime.layout import parse_layout, plain_layout, to_layout
from stepwell.runtime.meaning import Array, evaluate, meaning
from stepwell.runtime.meaning.floats import Numbers, is_float, wide


def _spread(parameter: Array, x: Array, axis: int, block: int) -> Numbers:
    """A scale or zero point for each element of `x`: broadcast along the other axes, repeated in blocks."""
    if parameter.ndim == 0:
        return parameter
    if block:
        repeated = np.repeat(parameter, block, axis)
        return repeated[(*[slice(None)] * axis, slice(x.shape[axis]))]
    return parameter.reshape([-1 if i == axis else 1 for i in range(x.ndim)])


def _limits(to: np.dtype[Any]) -> tuple[int, int]:
    if to.kind != "V":
        info: Any = np.iinfo(to)
    else:
        import ml_dtypes  # the type is one of its own

        info = ml_dtypes.iinfo(to)
    return int(info.min), int(info.max)


def _integers(x: Array) -> Numbers:
    """Integers as i32, also from types of less than a byte."""
    return (x.astype(np.int8) if x.dtype.kind == "V" else x).astype(np.int32)


def _saturated(rounded: Numbers, zero_point: Numbers | None, to: np.dtype[Any]) -> Array:
    shifted = rounded if zero_point is None else rounded + zero_point.astype(rounded.dtype)
    bounded = np.clip(np.nan_to_num(shifted, nan=0.0), *_limits(to))
    return bounded.astype(np.int32).astype(to)


def _cast(x: Numbers, to: np.dtype[Any], saturate: bool) -> Array:
    return evaluate("graph.cast", [x], {"to": to, "saturate": saturate, "round": "nearest"})[0]


@meaning("graph.quantize")
def quantize(
    x: Array,
    scale: Array,
    zero_point: Array | None = None,
    *,
    axis: int = 0,
    block: int = 0,
    to: np.dtype[Any],
    compute_type: np.dtype[Any] | None = None,
    saturate: bool = True,
) -> Array:
    """
    Divide by the scale in `compute_type`, then round half to even, add the zero point and saturate; a float
    type is a cast of the quotient instead.
    """
    computed = compute_type or scale.dtype
    divisor = wide(_spread(scale, x, axis, block))
    with np.errstate(all="ignore"):
        quotient = wide((wide(x).astype(divisor.dtype) / divisor).astype(computed))
        if is_float(to):
            return _cast(quotient, to, saturate)
        point = None if zero_point is None else _integers(_spread(zero_point, x, axis, block))
        return _saturated(np.rint(quotient), point, to)


@meaning("graph.dequantize")
def dequantize(
    x: Array,
    scale: Array,
    zero_point: Array | None = None,
    *,
    axis: int = 0,
    block: int = 0,
    to: np.dtype[Any],
) -> Array:
    """Subtract the zero point, then multiply by the scale."""
    numbers = wide(x) if is_float(x.dtype) else _integers(x)
    if zero_point is not None:
        point = _spread(zero_point, x, axis, block)
        numbers = numbers - (wide(point) if is_float(x.dtype) else _integers(point))
    factor = wide(_spread(scale, x, axis, block))
    with np.errstate(all="ignore"):
        return (numbers.astype(factor.dtype) * factor).astype(to)


@meaning("graph.requantize")
def requantize(
    x: Numbers, scale: Numbers, zero_point: Array | None = None, *, axis: int = 0, to: np.dtype[Any]
) -> Array:
    """Multiply by the scale in f32, round half to even, add the zero point and saturate."""
    product = x.astype(np.float32) * _spread(scale, x, axis, 0)
    point = None if zero_point is None else _integers(_spread(zero_point, x, axis, 0))
    return _saturated(np.rint(product), point, to)


@meaning("graph.observe")
def observe(x: Array, **_: object) -> Array:
    """The operand itself."""
    return x


@meaning("graph.words")
def words(x: Array) -> Array:
    """Neighbouring bytes or 16-bit integers along the last axis as packed 32-bit elements."""
    return np.ascontiguousarray(x).view("<i4")


@meaning("graph.conv_integer")
def conv_integer(
    x: Array,
    w: Array,
    x_zero_point: Array | None = None,
    w_zero_point: Array | None = None,
    *,
    pads: Sequence[int],
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    border: int = 0,
    parts: int = 4,
    **windows: Any,
) -> Array:
    """An integer convolution in i32, with explicit padding: a padded cell is the zero point, or `border`."""
    if x.dtype == np.int32:
        left, right = (np.uint8, np.int8) if parts == 4 else (np.int16, np.int16)
        x = np.ascontiguousarray(x).view(left)
        w = np.ascontiguousarray(w[..., None]).view(right)
        kernel_layout += f"{parts}i"
    data, kernel = parse_layout(data_layout), parse_layout(kernel_layout)
    rank = len(data.spatial)
    cells, filters = x.astype(np.int32), w.astype(np.int32)
    fill = border
    if x_zero_point is not None:
        cells, fill = cells - x_zero_point.astype(np.int32), 0
    if w_zero_point is not None:
        plain = parse_layout(plain_layout("OI", rank))
        points = np.broadcast_to(w_zero_point.astype(np.int32), _width(filters, kernel_layout))
        shifted: Numbers = to_layout(filters, kernel, plain)
        shifted = shifted - points.reshape(-1, *[1] * (rank + 1))
        filters = to_layout(shifted, plain, kernel)
    widths = [(0, 0)] * data.rank
    for i, letter in enumerate(data.spatial):
        widths[data.axis(letter)] = (pads[i], pads[rank + i])
    padded: Array = np.pad(cells, widths, constant_values=fill)
    layouts = {"data_layout": data_layout, "kernel_layout": kernel_layout}
    return evaluate("graph.conv", [padded, filters], {**windows, **layouts, "pads": [0] * 2 * rank})[0]


def _width(filters: Array, kernel_layout: str) -> tuple[int]:
    """The number of filters, as a shape."""
    layout = parse_layout(kernel_layout)
    return (filters.shape[layout.axis("O")] * layout.block("O"),)


@meaning("host.histogram")
def histogram(x: Array, ends: Array, *, bins: int) -> Array:
    """The numbers of elements in equal bins between two ends, which are finite; others are left out."""
    counts, _ = np.histogram(x, bins, (float(ends[0]), float(ends[1])))
    return counts.astype(np.int64)
