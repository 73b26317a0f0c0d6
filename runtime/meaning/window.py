"""The numpy meaning of pooling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from stepwell.runtime.dims import Dim
from stepwell.runtime.layout import parse_layout, to_layout
from stepwell.runtime.meaning import Array, meaning
from stepwell.runtime.meaning.contraction import Numbers, accumulator
from stepwell.runtime.window import window_count


@meaning("graph.pool")
def pool(
    x: Array,
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
) -> Array | tuple[Array, Array]:
    """Reduce each window of each channel; cells outside of the input are left out."""
    data = parse_layout(data_layout)
    plain = parse_layout("NC" + "".join(data.spatial))
    x = to_layout(x, data, plain)
    windows = Windows(x.shape[2:], kernel, strides, dilations, pads, ceil)
    if kind == "max":
        y, where = _maximum(x, windows)
    else:
        kept = accumulator(x.dtype)
        terms: Numbers = x.astype(kept, copy=False)
        total = _total(terms if kind == "avg" else np.abs(terms) ** p, windows)
        if kind == "avg":
            total = quotient(total, windows.cells(count_include_pad))
        else:
            total = total ** kept.type(1 / p)
        y, where = total.astype(x.dtype, copy=False), None
    y = to_layout(y, plain, data)
    if indices == "none" or where is None:
        return y
    flat = _flat_indices(where, x.shape, column_major=indices == "column")
    return y, to_layout(flat, plain, data)


class Windows:
    """The coordinate of the input cell under each kernel point of each window, axis by axis."""

    def __init__(
        self,
        sizes: Sequence[int],
        kernel: Sequence[int],
        strides: Sequence[int],
        dilations: Sequence[int],
        pads: Sequence[int],
        ceil: bool,
    ):
        rank = len(sizes)
        self.sizes, self.kernel = sizes, kernel
        self.begins, self.ends = pads[:rank], pads[rank:]
        self.outs = [
            window_count(Dim.of(size), Dim.of(k), s, d, begin, end, ceil=ceil).value
            for size, k, s, d, begin, end in zip(
                sizes, kernel, strides, dilations, self.begins, self.ends, strict=True
            )
        ]
        # cell[axis][point, window]: the coordinate in the unpadded input.
        self.cell = [
            np.arange(k)[:, None] * d + np.arange(out)[None, :] * s - begin
            for k, out, s, d, begin in zip(kernel, self.outs, strides, dilations, self.begins, strict=True)
        ]

    def points(self) -> product[tuple[int, ...]]:
        """All kernel points, in row-major order."""
        return product(*(range(k) for k in self.kernel))

    def seen(self, x: Numbers, point: Sequence[int]) -> tuple[Numbers, npt.NDArray[np.bool_]]:
        """The cells of all windows at a kernel point, and a mask of cells inside the input."""
        inside: npt.NDArray[np.bool_] = np.ones((), np.bool_)
        for axis, (at, size) in enumerate(zip(point, self.sizes, strict=True)):
            cells = self.cell[axis][at]
            x = x.take(cells.clip(0, max(size - 1, 0)), axis=axis + 2)
            valid = (cells >= 0) & (cells < size)
            inside = inside & valid.reshape([-1 if i == axis else 1 for i in range(len(self.sizes))])
        return x, inside

    def place(self, point: Sequence[int]) -> npt.NDArray[np.int64]:
        """The row-major index in a channel of each cell that `seen` returns."""
        coordinates = [
            cells[at].clip(0, max(size - 1, 0))
            for cells, at, size in zip(self.cell, point, self.sizes, strict=True)
        ]
        place: npt.NDArray[np.int64] = np.zeros((), np.int64)
        for coordinate, size in zip(np.ix_(*coordinates), self.sizes, strict=True):
            place = place * size + coordinate
        return place

    def cells(self, include_pads: bool) -> npt.NDArray[np.int64]:
        """
        The number of cells of each window that are inside the input or, with `include_pads`, the padded
        input.
        """
        total: npt.NDArray[np.int64] = np.ones((), np.int64)
        for axis, (cells, size) in enumerate(zip(self.cell, self.sizes, strict=True)):
            low = -self.begins[axis] if include_pads else 0
            high = size + (self.ends[axis] if include_pads else 0)
            count = ((cells >= low) & (cells < high)).sum(axis=0)
            total = total * count.reshape([-1 if i == axis else 1 for i in range(len(self.sizes))])
        return total


def _total(terms: Numbers, windows: Windows) -> Numbers:
    total: Numbers = np.zeros((*terms.shape[:2], *windows.outs), terms.dtype)
    for point in windows.points():
        seen, inside = windows.seen(terms, point)
        total += np.where(inside, seen, np.zeros((), terms.dtype))
    return total


def quotient(total: Numbers, cells: npt.NDArray[np.int64]) -> Numbers:
    """The mean of each window; integers truncate, and a window without any cell is 0 / 0 (integers: 0)."""
    if total.dtype.kind in "iu":
        signs = np.sign(total)
        return (signs * (np.abs(total) // np.maximum(cells, 1))).astype(total.dtype)
    with np.errstate(invalid="ignore"):
        return (total / cells.astype(total.dtype)).astype(total.dtype)


def _maximum(x: Numbers, windows: Windows) -> tuple[Numbers, npt.NDArray[np.int64]]:
    """
    The maximum of each window and its row-major index in the channel; NaN is ignored; for NaN alone, -inf at
    -1.
    """
    shape = (*x.shape[:2], *windows.outs)
    best: Numbers = np.full(shape, _lowest(x.dtype), x.dtype)
    where = np.full(shape, -1, np.int64)
    for point in windows.points():
        seen, inside = windows.seen(x, point)
        place = windows.place(point)
        better = inside & ((seen > best) | ((where < 0) & (seen == best)))
        best, where = np.where(better, seen, best), np.where(better, place, where)
    return best, where


def _lowest(dtype: np.dtype[Any]) -> float:
    """The maximum of a window without any cell: the least value of the type."""
    return int(np.iinfo(dtype).min) if dtype.kind in "iu" else -np.inf


def _flat_indices(where: npt.NDArray[np.int64], shape: Sequence[int], *, column_major: bool) -> Array:
    """Indices in the whole tensor, 0 for none; `column_major` swaps the strides of spatial axes only."""
    sizes = tuple(shape[2:])
    if not where.size:
        return where
    place = np.maximum(where, 0)
    if column_major:
        place = np.ravel_multi_index(np.unravel_index(place, sizes), sizes, order="F").astype(np.int64)
    images = np.arange(shape[0] * shape[1], dtype=np.int64).reshape(shape[0], shape[1], *[1] * len(sizes))
    return np.where(where < 0, 0, place + images * prod(sizes))
