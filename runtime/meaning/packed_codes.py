"""Products with weights of a few bits: codes in 32-bit elements, by panels of columns; and their meaning."""

from __future__ import annotations

from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import Array, meaning

WIDTHS = (2, 4, 8)
"""The bits of a code."""
ELEMENT_BITS, BYTES_IN_ELEMENT, _BYTE_BITS = 32, 4, 8


def codes_in_element(bits: int) -> int:
    """The number of codes that share a 32-bit element."""
    return ELEMENT_BITS // bits


def first_bit(number: int, bits: int) -> int:
    """
    The lowest bit of a code in its element, by its number among the consecutive codes there.

    Four consecutive codes occupy the same bits of the four bytes, so that a mask gives a vector of bytes.
    """
    part, byte = divmod(number, BYTES_IN_ELEMENT)
    return _BYTE_BITS * byte + bits * part


def pack_codes(codes: Array, bits: int, panel: int, depth: int) -> npt.NDArray[np.int32]:
    """
    Codes [columns, K] as elements [panels, depth / codes in an element, panel], the rest filled with zeros.

    Args: `depth` K rounded up to whole blocks.
    """
    columns, steps = codes.shape
    whole = np.zeros((-(-columns // panel) * panel, depth), np.uint32)
    whole[:columns, :steps] = codes
    parts = whole.reshape(-1, panel, depth // codes_in_element(bits), codes_in_element(bits))
    shifts = np.array([first_bit(k, bits) for k in range(codes_in_element(bits))], np.uint32)
    elements = np.bitwise_or.reduce(parts << shifts, axis=-1)
    return np.ascontiguousarray(elements.swapaxes(1, 2)).view(np.int32)


def unpack_codes(elements: Array, bits: int) -> npt.NDArray[np.uint8]:
    """The codes [panels · panel, depth] of elements that `pack_codes` made."""
    panels, count, panel = elements.shape
    shifts = np.array([first_bit(k, bits) for k in range(codes_in_element(bits))], np.uint32)
    words: npt.NDArray[Any] = np.ascontiguousarray(elements.swapaxes(1, 2)).view(np.uint32)
    codes = (words[..., None] >> shifts) & ((1 << bits) - 1)
    return codes.astype(np.uint8).reshape(panels * panel, count * codes_in_element(bits))


def panels_of(values: Array, panel: int) -> Array:
    """A parameter [columns, blocks] as panels [panels, blocks, panel], the rest filled with zeros."""
    columns, blocks = values.shape
    whole = np.zeros((-(-columns // panel) * panel, blocks), values.dtype)
    whole[:columns] = values
    return np.ascontiguousarray(whole.reshape(-1, panel, blocks).swapaxes(1, 2))


@meaning("graph.matmul_nbits")
def matmul_nbits(
    x: Array,
    codes: Array,
    scales: npt.NDArray[np.float32],
    zero_points: Array | None = None,
    x_scales: npt.NDArray[np.float32] | None = None,
    row_bytes: Array | None = None,
    *,
    columns: int,
    bits: int,
    block: int,
    few: int = 0,
) -> Array:
    """
    Matrix product with (codes - zero points) · scales; without zero points, the middle code is 0.

    With `x_scales` the rows are bytes, four to an element, each times the scale of its block; with
    `row_bytes` more than `few` rows are those, and others are `x`.
    """
    rows = cast("npt.NDArray[np.float32]", x)
    is_few = row_bytes is not None and prod(x.shape[:-1]) <= few
    if x_scales is not None and not is_few:
        in_bytes = x if row_bytes is None else row_bytes
        bytes = np.ascontiguousarray(in_bytes).view(np.int8).astype(np.float32)
        rows = bytes * np.repeat(x_scales, block, axis=-1)
    steps = rows.shape[-1]

    def spread(parameter: Array) -> npt.NDArray[Any]:
        by_column = parameter.swapaxes(1, 2).reshape(-1, parameter.shape[1])
        return np.repeat(by_column, block, axis=1)[:columns, :steps]

    points = 1 << bits - 1 if zero_points is None else spread(zero_points.view(np.uint8)).astype(np.int32)
    numbers = unpack_codes(codes, bits)[:columns, :steps].astype(np.int32) - points
    with np.errstate(all="ignore"):
        return rows @ (numbers.astype(np.float32) * spread(scales)).T
