"""Bounds of sums of products of 8-bit integers: whether an accumulator of 32 bits can represent them."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import TypeAlias, cast

import numpy as np
from xdsl.ir import SSAValue

from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.types import dims_of, dtype_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.layout import parse_layout, to_layout
from stepwell.runtime.meaning import Array

Factor: TypeAlias = tuple[SSAValue, SSAValue | None]
"""An operand of a product, and its zero point."""
Constants: TypeAlias = Callable[[SSAValue], Array | None]
"""The array of a value that is constant; None for other values."""
EXACT_TERMS = 2**24 // 255**2
"""The most products of bytes less zero points that f32 adds without rounding: 258 · 255² ≤ 2²⁴."""
_I32 = np.iinfo(np.int32)


def matmul_fits_i32(
    a: Factor,
    b: Factor,
    constants: Constants,
    *,
    transpose_b: bool = False,
    bias: SSAValue | Array | None = None,
) -> bool:
    """Whether no sum of a matrix product of bytes, nor its sum with a bias of i32, can exceed 32 bits."""
    shared = dims_of(a[0].type)[-1]
    if not shared.is_static:
        shared = dims_of(b[0].type)[-1 if transpose_b or len(dims_of(b[0].type)) == 1 else -2]

    def by_column(array: Array) -> Array:
        return array.swapaxes(-1, -2) if transpose_b else array.reshape(-1, 1) if array.ndim == 1 else array

    return _fit_i32(a, b, shared, constants, by_column, bias)


def conv_fits_i32(
    x: Factor, w: Factor, kernel_layout: str, constants: Constants, bias: SSAValue | Array | None = None
) -> bool:
    """Whether no sum of a convolution of bytes, nor its sum with a bias of i32, can exceed 32 bits."""
    layout = parse_layout(kernel_layout)
    extents = layout.logical(dims_of(w[0].type))
    terms = prod((extents[letter] for letter in layout.letters if letter != "O"), start=Dim.of(1))

    def by_filter(array: Array) -> Array:
        plain = to_layout(array, layout, parse_layout("OI" + "".join(layout.spatial)))
        return plain.reshape(plain.shape[0], -1).T

    return _fit_i32(x, w, terms, constants, by_filter, bias)


def _fit_i32(
    left: Factor,
    right: Factor,
    terms: Dim,
    constants: Constants,
    by_column: Callable[[Array], Array],
    bias: SSAValue | Array | None,
) -> bool:
    """
    Whether sums of `terms` products, and their sums with a bias, are numbers of i32.

    The bound follows from the element types and the zero points, and from `right` where it is constant:
    `by_column` gives its array as [..., terms, columns]. Other operands can be any number of their types.
    """
    low, high = _centred_range(left, constants)
    corners = [x * y for x in (low, high) for y in _centred_range(right, constants)]
    added = (0, 0) if bias is None else _range(bias, constants)
    if terms.is_static and _fits(terms.value * min(corners), terms.value * max(corners), added):
        return True
    numbers = constants(right[0])
    points = np.array(0) if right[1] is None else constants(right[1])
    if numbers is None or points is None:
        return False
    centred = by_column(numbers).astype(np.int16) - points.astype(np.int16)
    rise = np.maximum(centred, 0).sum(-2, dtype=np.int64)
    fall = np.minimum(centred, 0).sum(-2, dtype=np.int64)
    least, greatest = low * rise + high * fall, high * rise + low * fall
    return _fits(int(least.min(initial=0)), int(greatest.max(initial=0)), added)


def _centred_range(factor: Factor, constants: Constants) -> tuple[int, int]:
    """The range of an operand minus its zero point, which contains 0."""
    value, zero_point = factor
    limits = np.iinfo(dtype_of(element_of_value(value)).name)
    least, greatest = (0, 0) if zero_point is None else _range(zero_point, constants)
    return min(0, int(limits.min) - greatest), max(0, int(limits.max) - least)


def _range(value: SSAValue | Array, constants: Constants) -> tuple[int, int]:
    """The least and the greatest number of a tensor of integers, by its type when it is not constant."""
    array = constants(value) if isinstance(value, SSAValue) else value
    if array is None:
        limits = np.iinfo(dtype_of(element_of_value(cast(SSAValue, value))).name)
        return int(limits.min), int(limits.max)
    return (int(array.min()), int(array.max())) if array.size else (0, 0)


def _fits(least: int, greatest: int, added: tuple[int, int]) -> bool:
    return _I32.min <= least + added[0] and greatest + added[1] <= _I32.max
