"""Quicker matrix products: all rows of a batch at once, and operands as the BLAS library reads them."""

from __future__ import annotations

from math import prod

import numpy as np

from stepwell.runtime.meaning import quick_form
from stepwell.runtime.meaning.contraction import Numbers


def product_operand(x: Numbers) -> Numbers:
    """
    An array whose matrices (its last two dimensions) the BLAS library reads as they are: itself, or a copy.

    numpy multiplies any other by three nested loops: unaligned arrays (weights mapped from a file), and those
    without a dimension of stride 1.
    """
    rows, columns = x.strides[-2:]
    row_major = columns == x.itemsize and rows >= x.shape[-1] * x.itemsize
    column_major = rows == x.itemsize and columns >= x.shape[-2] * x.itemsize
    return x if x.flags.aligned and (row_major or column_major) else np.array(x, order="C")


@quick_form("graph.matmul")
def matmul(
    a: Numbers,
    b: Numbers,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    packing: int = 0,
    pairs: bool = False,
    out_type: np.dtype[np.generic] | None = None,
) -> object:
    """numpy's matmul; a product of a batch by one matrix is a single product of all rows."""
    if packing or pairs or out_type not in (None, a.dtype) or min(a.ndim, b.ndim) < 2:
        return NotImplemented
    lhs = a.swapaxes(-1, -2) if transpose_a else a
    rhs = product_operand(b.swapaxes(-1, -2) if transpose_b else b)
    if lhs.ndim >= b.ndim and prod(b.shape[:-2]) == 1 < prod(lhs.shape[:-2]):
        rows = np.ascontiguousarray(lhs).reshape(prod(lhs.shape[:-1]), lhs.shape[-1])
        flat = np.matmul(rows, rhs.reshape(rhs.shape[-2:]))
        return flat.reshape(*lhs.shape[:-1], rhs.shape[-1])
    return np.matmul(product_operand(lhs), rhs)
