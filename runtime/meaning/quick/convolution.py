"""Quicker convolutions: products of columns, and sums of shifted planes where channels are by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from stepwell.runtime.meaning import quick_form
from stepwell.runtime.meaning.contraction import Numbers, conv, window_counts
from stepwell.runtime.meaning.quick.blocks import parts_in_block
from stepwell.runtime.meaning.quick.products import product_operand

_COLUMN_BYTES = 1 << 20
"""The columns of one product: they stay in the second level cache until they are read."""


@quick_form("graph.conv")
def quick_conv(x: Numbers, w: Numbers, **properties: object) -> object:
    """A convolution in any layout by the quicker forms of this file."""
    return conv(x, w, **properties, convolve=_convolve)  # pyright: ignore[reportArgumentType]


def _convolve(
    x: Numbers, w: Numbers, strides: Sequence[int], dilations: Sequence[int], groups: int
) -> Numbers:
    """Convolve a padded input [N, C, spatial...] with filters [O, C/groups, kernel...]."""
    outs = window_counts(x, w, strides, dilations)
    if groups > 1 and w.shape[1] == 1 and 0 not in x.shape and min(outs) > 0:
        return _by_planes(x, w, strides, dilations, outs)
    return _by_columns(x, w, strides, dilations, groups, outs)


def _by_columns(
    x: Numbers, w: Numbers, strides: Sequence[int], dilations: Sequence[int], groups: int, outs: Sequence[int]
) -> Numbers:
    """
    Filters [G, O/G, K] times columns [G, K, cells]: the K cells that each window sees, written side by side.

    Source: im2col, in Chellapilla, Puri and Simard, High Performance Convolutional Neural Networks for
    Document Processing (2006); in blocks of windows, and without a copy where a kernel has one point.
    """
    n, channels = x.shape[:2]
    points, inner = w.shape[2:], prod(outs[1:])
    terms = channels // groups * prod(points)
    filters = product_operand(w.reshape(groups, len(w) // groups, terms))
    y: Numbers = np.zeros((n, groups, len(w) // groups, prod(outs)), x.dtype)
    if not (y.size and terms):
        return y.reshape(n, len(w), *outs)
    if prod(points) == 1:
        cells = x[(..., *(slice(0, (out - 1) * s + 1, s) for out, s in zip(outs, strides, strict=True)))]
        np.matmul(filters, product_operand(cells.reshape(n, groups, terms, prod(outs))), out=y)
        return y.reshape(n, len(w), *outs)
    steps = x.strides[2:]
    seen = as_strided(
        x,
        (n, channels, *points, *outs),
        (
            *x.strides[:2],
            *(step * d for step, d in zip(steps, dilations, strict=True)),
            *(step * s for step, s in zip(steps, strides, strict=True)),
        ),
        writeable=False,
    )
    block = min(max(1, _COLUMN_BYTES // max(1, groups * terms * inner * x.itemsize)), outs[0])
    room = np.empty(groups * terms * block * inner, x.dtype)
    skip = (slice(None),) * (1 + len(points))
    for image, begin in product(range(n), range(0, outs[0], block)):
        window = seen[(image, *skip, slice(begin, begin + block))]
        columns = room[: window.size]
        columns.reshape(window.shape)[...] = window
        into = y[image, :, :, begin * inner : (begin + block) * inner]
        np.matmul(filters, columns.reshape(groups, terms, -1), out=into)
    return y.reshape(n, len(w), *outs)


def _by_planes(
    x: Numbers, w: Numbers, strides: Sequence[int], dilations: Sequence[int], outs: Sequence[int]
) -> Numbers:
    """
    Depthwise: for each kernel point, a channel's whole plane, shifted by the point, times one weight.

    Planes are flat, so that a shift is an offset and the cells at the end of a line compute what is not
    read. For strides above 1 each phase (the cells of equal remainder) is a plane of its own.
    """
    n, channels, width = len(x), x.shape[1], len(w) // x.shape[1]
    weights = w.reshape(channels, width, *w.shape[2:])
    reach = [(k - 1) * d // s for k, d, s in zip(w.shape[2:], dilations, strides, strict=True)]
    extents = [out + more for out, more in zip(outs, reach, strict=True)]
    y: Numbers = np.empty((n, channels, width, *outs), x.dtype)
    block = parts_in_block(prod(extents) * x.itemsize)
    for image, begin in product(range(n), range(0, channels, block)):
        some = slice(begin, begin + block)
        phases = _Phases(x[image, some], strides, extents)
        for j in range(width):
            total = _sum_of_shifted(phases, weights[some, j], dilations, outs)
            y[image, some, j] = total
    return y.reshape(n, len(w), *outs)


class _Phases:
    """The planes [C, extents...] of each tuple of remainders that a kernel point reaches, made once."""

    def __init__(self, x: Numbers, strides: Sequence[int], extents: Sequence[int]):
        self._x, self.strides, self.extents = x, strides, extents
        self._made: dict[tuple[int, ...], Numbers] = {}

    def flat(self, remainders: tuple[int, ...]) -> Numbers:
        """The planes of a phase as [C, cells]."""
        if remainders not in self._made:
            bounds = zip(remainders, self.strides, self.extents, strict=True)
            cells = self._x[(slice(None), *(slice(r, r + e * s, s) for r, s, e in bounds))]
            if cells.shape[1:] != tuple(self.extents):
                planes = np.zeros((len(cells), *self.extents), cells.dtype)
                planes[tuple(slice(size) for size in cells.shape)] = cells
                cells = planes
            self._made[remainders] = np.ascontiguousarray(cells).reshape(len(cells), -1)
        return self._made[remainders]


def _sum_of_shifted(phases: _Phases, w: Numbers, dilations: Sequence[int], outs: Sequence[int]) -> Numbers:
    """The sum over kernel points of weights [C, kernel...] times shifted planes: [C, outs...]."""
    lines = [prod(phases.extents[i + 1 :]) for i in range(len(outs))]
    length = sum((out - 1) * line for out, line in zip(outs, lines, strict=True)) + 1
    total: Numbers = np.empty((len(w), prod(phases.extents)), w.dtype)
    term: Numbers = np.empty((len(w), length), w.dtype)
    for index, point in enumerate(product(*(range(k) for k in w.shape[1:]))):
        at = [k * d for k, d in zip(point, dilations, strict=True)]
        remainders = tuple(a % s for a, s in zip(at, phases.strides, strict=True))
        shift = sum(a // s * line for a, s, line in zip(at, phases.strides, lines, strict=True))
        cells, weight = phases.flat(remainders)[:, shift : shift + length], w[(slice(None), *point, None)]
        if index == 0:
            np.multiply(cells, weight, out=total[:, :length])
        else:
            total[:, :length] += np.multiply(cells, weight, out=term)
    return total.reshape(len(w), *phases.extents)[(slice(None), *(slice(out) for out in outs))]
