"""The numpy meaning of contractions: matmul, conv and their kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from stepwell.runtime.dims import Dim
from stepwell.runtime.layout import Layout, parse_layout, to_layout
from stepwell.runtime.meaning import Array, meaning
from stepwell.runtime.window import window_count

Numbers: TypeAlias = npt.NDArray[Any]
"""An array of any element type, for arithmetic."""


def accumulator(dtype: np.dtype[np.generic]) -> np.dtype[np.generic]:
    """
    The type in which elements of a type are summed: f32 for 16-bit floats, else the type itself (integers
    wrap).
    """
    narrow_float = dtype.itemsize == 2 and dtype.kind not in "iub"
    return np.dtype(np.float32) if narrow_float else dtype


@meaning("graph.matmul")
def matmul(
    a: Array,
    b: Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    packing: int = 0,
    pairs: bool = False,
    out_type: np.dtype[np.generic] | None = None,
) -> Array:
    """numpy's matmul; a packed `b` is [N/nr, K, nr]."""
    if pairs:
        a, b = halves_of(a, a.ndim - 1), halves_of(b, 1)
    result = a.dtype if out_type is None else out_type
    if packing:
        b = b.transpose(1, 0, 2).reshape(b.shape[1], -1)
    kept = np.promote_types(accumulator(a.dtype), accumulator(result)) if out_type else accumulator(a.dtype)
    lhs: Numbers = (a.swapaxes(-1, -2) if transpose_a else a).astype(kept, copy=False)
    rhs: Numbers = (b.swapaxes(-1, -2) if transpose_b else b).astype(kept, copy=False)
    return np.asarray(np.matmul(lhs, rhs)).astype(result, copy=False)


def halves_of(pairs: Array, axis: int) -> npt.NDArray[np.float32]:
    """The two bf16 of each i32 as neighbours along an axis, lower half first, in f32."""
    bits = np.stack([pairs.view(np.uint32) << 16, pairs.view(np.uint32) & 0xFFFF0000], axis + 1)
    shape = [*pairs.shape[:axis], 2 * pairs.shape[axis], *pairs.shape[axis + 1 :]]
    return bits.view(np.float32).reshape(shape)


@meaning("graph.matmul_integer")
def matmul_integer(
    a: Array,
    b: Array,
    a_zero_point: Array | None = None,
    b_zero_point: Array | None = None,
    *,
    parts: int = 4,
) -> Array:
    """
    An integer matmul in f64, where numpy is fast, and sums of at most 2^37 products of 9-bit numbers are
    exact.
    """
    if a.dtype == np.int32:
        left, right = (np.uint8, np.int8) if parts == 4 else (np.int16, np.int16)
        a = np.ascontiguousarray(a).view(left)
        b = np.ascontiguousarray(b[..., None]).view(right).transpose(1, 3, 0, 2).reshape(a.shape[-1], -1)
    lhs: Numbers = a.astype(np.float64)
    rhs: Numbers = b.astype(np.float64)
    if a_zero_point is not None:
        per_row = a_zero_point.ndim == 1 and a_zero_point.size > 1
        lhs = lhs - (a_zero_point[:, None] if per_row else a_zero_point).astype(np.float64)
    if b_zero_point is not None:
        rhs = rhs - b_zero_point.astype(np.float64)
    return np.asarray(np.matmul(lhs, rhs)).astype(np.int64).astype(np.int32)


@meaning("graph.einsum")
def einsum(*operands: Array, equation: str) -> Array:
    """numpy's einsum; an extent of 1 stretches."""
    terms = equation.partition("->")[0].split(",")
    extents: dict[str, int] = {}
    for term, x in zip(terms, operands, strict=True):
        extents |= {
            letter: n for letter, n in zip(term, x.shape, strict=True) if n != 1 or letter not in extents
        }
    kept, result = accumulator(operands[0].dtype), operands[0].dtype
    stretched: list[Numbers] = [
        np.broadcast_to(x.astype(kept), [extents[letter] for letter in term])
        for term, x in zip(terms, operands, strict=True)
    ]
    return np.asarray(np.einsum(equation, *stretched, optimize=True)).astype(result)


@meaning("graph.bias_add")
def bias_add(x: Numbers, b: Numbers, *, axis: int = 1) -> Array:
    """Add a bias for each channel; a bias of rank 2 is for channels with a block in the last dimension."""
    shape = [1] * x.ndim
    shape[axis] = b.shape[0]
    if b.ndim == 2:
        shape[-1] = b.shape[1]
    return np.asarray(x + b.reshape(shape)).astype(x.dtype, copy=False)


def window_counts(x: Array, w: Array, strides: Sequence[int], dilations: Sequence[int]) -> list[int]:
    """The number of windows along each axis of a padded input [N, C, spatial...]."""
    return [
        window_count(Dim.of(size), Dim.of(points), stride, dilation, 0, 0).value
        for size, points, stride, dilation in zip(x.shape[2:], w.shape[2:], strides, dilations, strict=True)
    ]


def convolve(
    x: Numbers, w: Numbers, strides: Sequence[int], dilations: Sequence[int], groups: int
) -> Numbers:
    """Convolve a padded input [N, C, spatial...] with filters [O, C/groups, kernel...]."""
    outs = window_counts(x, w, strides, dilations)
    n, depth, width = x.shape[0], w.shape[1], w.shape[0] // groups
    grouped = x.reshape(n, groups, depth, *x.shape[2:])
    filters = w.reshape(groups, width, depth, *w.shape[2:])
    cells = prod(outs)
    y: Numbers = np.zeros((n, groups, width, cells), x.dtype)
    for point in product(*(range(points) for points in w.shape[2:])):
        window = tuple(
            slice(at * dilation, at * dilation + (out - 1) * stride + 1 if out else 0, stride)
            for at, dilation, stride, out in zip(point, dilations, strides, outs, strict=True)
        )
        seen = grouped[(..., *window)].reshape(n, groups, depth, cells)
        factor: Numbers = filters[(..., *point)]
        # Depthwise: a batched matmul over K = 1 is fifty times slower than a product.
        y += factor * seen if depth == 1 else np.matmul(factor, seen)
    return y.reshape(n, groups * width, *outs)


@meaning("graph.conv")
def conv(
    x: Array,
    w: Array,
    *,
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    groups: int = 1,
    pairs: bool = False,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str | None = None,
    convolve: Callable[..., Numbers] = convolve,
) -> Array:
    """
    A convolution as a sum of matmuls, one per kernel point, of the input shifted by the point and strided.

    Args: `convolve` does the same, on a padded input and filters in plain layouts.
    """
    data, kernel = parse_layout(data_layout), parse_layout(kernel_layout)
    x = to_layout(x, data, _canonical(data, "NC"))
    w = to_layout(w, kernel, _canonical(kernel, "OI"))
    if pairs:
        x, w = halves_of(x, 1), halves_of(w, 1)
    kept, result = accumulator(x.dtype), x.dtype
    x, w = x.astype(kept, copy=False), w.astype(kept, copy=False)
    y = convolve(_pad(x, pads, 0), w, strides, dilations, groups).astype(result, copy=False)
    target = parse_layout(out_layout or data_layout)
    return to_layout(y, _canonical(data, "NC"), target)


def _canonical(layout: Layout, prefix: str) -> Layout:
    return parse_layout(prefix + "".join(layout.spatial))


def _pad(x: Array, pads: Sequence[int], value: int) -> Array:
    rank = x.ndim - 2
    widths = [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)]
    return np.pad(x, widths, constant_values=value) if any(pads) else x


@meaning("graph.conv_transpose")
def conv_transpose(
    x: Array,
    w: Array,
    *,
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    output_padding: Sequence[int] | None = None,
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
) -> Array:
    """
    A transposed convolution: each input cell adds a multiple of the kernel to the output, cropped by the
    pads.
    """
    data, kernel = parse_layout(data_layout), parse_layout(kernel_layout)
    x = to_layout(x, data, _canonical(data, "NC"))
    w = to_layout(w, kernel, _canonical(kernel, "IO"))
    kept, result = accumulator(x.dtype), x.dtype
    x, w = x.astype(kept, copy=False), w.astype(kept, copy=False)
    rank = x.ndim - 2
    extra = output_padding or (0,) * rank
    n, width = x.shape[0], w.shape[1]
    grouped: Numbers = x.reshape(n, groups, x.shape[1] // groups, prod(x.shape[2:]))
    filters = w.reshape(groups, w.shape[0] // groups, width, *w.shape[2:])
    full = [
        stride * (size - 1) + dilation * (points - 1) + 1 + more + max(0, -begin) + max(0, -end)
        for size, points, stride, dilation, more, begin, end in zip(
            x.shape[2:], w.shape[2:], strides, dilations, extra, pads[:rank], pads[rank:], strict=True
        )
    ]
    y: Numbers = np.zeros((n, groups * width, *full), kept)
    for point in product(*(range(points) for points in w.shape[2:])):
        factor: Numbers = filters[(..., *point)].swapaxes(1, 2)
        part = np.matmul(factor, grouped).reshape(n, groups * width, *x.shape[2:])
        # Negative begin pads enlarge the output at its begin.
        starts = [at * d + max(0, -begin) for at, d, begin in zip(point, dilations, pads, strict=False)]
        window = tuple(
            slice(start, start + stride * (size - 1) + 1 if size else start, stride)
            for start, stride, size in zip(starts, strides, x.shape[2:], strict=True)
        )
        y[(..., *window)] += part
    cut = tuple(
        slice(max(0, begin), extent - max(0, end))
        for extent, begin, end in zip(full, pads[:rank], pads[rank:], strict=True)
    )
    return to_layout(y[(..., *cut)].astype(result, copy=False), _canonical(data, "NC"), data)
