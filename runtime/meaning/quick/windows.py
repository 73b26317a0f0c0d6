"""Quicker pools: one axis of the window after the other."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from stepwell.runtime.layout import plain_layout
from stepwell.runtime.meaning import quick_form
from stepwell.runtime.meaning.contraction import Numbers
from stepwell.runtime.meaning.quick.blocks import parts_in_block
from stepwell.runtime.meaning.window import Windows, quotient


@quick_form("graph.pool")
def pool(
    x: Numbers,
    *,
    kind: str,
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    ceil: bool = False,
    count_include_pad: bool = False,
    p: int = 2,
    indices: str = "none",
    data_layout: str = "NCHW",
) -> object:
    """The maxima or means of windows as those along the first axis, of these along the second, and so on."""
    rank = x.ndim - 2
    plain = data_layout == "NCHW" or data_layout == plain_layout("NC", rank)
    if kind not in ("max", "avg") or indices != "none" or min(pads) < 0 or not plain:
        return NotImplemented
    windows = Windows(x.shape[2:], kernel, strides, dilations, pads, ceil)
    combine, fill = (np.fmax, -np.inf) if kind == "max" else (np.add, 0)
    extents = [
        (out - 1) * s + (k - 1) * d + 1
        for out, s, k, d in zip(windows.outs, strides, kernel, dilations, strict=True)
    ]
    planes = np.ascontiguousarray(x).reshape(prod(x.shape[:2]), *x.shape[2:])
    y = np.empty((len(planes), *windows.outs), x.dtype)
    block = parts_in_block(prod(extents) * x.itemsize)
    for begin in range(0, len(planes) if y.size else 0, block):
        cells = _padded(planes[begin : begin + block], windows.begins, extents, fill)
        for axis, out in enumerate(windows.outs):
            cells = _along(combine, cells, axis + 1, out, strides[axis], kernel[axis], dilations[axis])
        y[begin : begin + block] = cells
    # A maximum ignores NaN, and that of NaN alone is -inf.
    y = np.fmax(y, fill, out=y) if kind == "max" else quotient(y, windows.cells(count_include_pad))
    return y.reshape(*x.shape[:2], *windows.outs)


def _padded(x: Numbers, begins: Sequence[int], extents: Sequence[int], fill: float) -> Numbers:
    """The cells [planes, extents...] that windows see: padding before and after, cells of no window cut."""
    padded = np.full((len(x), *extents), fill, x.dtype)
    sizes = [min(n, e - begin) for n, e, begin in zip(x.shape[1:], extents, begins, strict=True)]
    inner = (slice(begin, begin + max(n, 0)) for begin, n in zip(begins, sizes, strict=True))
    padded[(slice(None), *inner)] = x[(slice(None), *(slice(max(n, 0)) for n in sizes))]
    return padded


def _along(
    combine: np.ufunc, cells: Numbers, axis: int, out: int, stride: int, kernel: int, dilation: int
) -> Numbers:
    """The cells of each window along one axis, combined."""
    before = (slice(None),) * axis
    shifted = [
        cells[(*before, slice(k * dilation, k * dilation + (out - 1) * stride + 1, stride))]
        for k in range(kernel)
    ]
    total = shifted[0].copy()
    for part in shifted[1:]:
        combine(total, part, out=total)
    return total
