"""Products of matrices in pieces that BLAS computes on one thread."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]

_ONE_THREAD = 1 << 18
"""
The multiplications up to which OpenBLAS uses one thread. An image of resnet18 is thousands of larger products
of 0.1 ms, at whose ends two threads wait for each other: 9 s of processor time, and 1.3 s in such pieces.
"""
_LEAST_ROWS = 4
"""The rows of a piece: a single one is another function of BLAS, which starts threads much earlier."""


def product(rows: Array, columns: Array) -> Array:
    """The product of two matrices of f32, exact where each sum of products is."""
    height, depth = rows.shape
    width = max(1, _ONE_THREAD // (_LEAST_ROWS * max(1, depth)))
    result = np.empty((height, columns.shape[1]), np.float32)
    for start in range(0, columns.shape[1], width):
        piece = columns[:, start : start + width]
        step = max(_LEAST_ROWS, _ONE_THREAD // max(1, piece.size))
        whole = height // step * step
        sums = np.matmul(rows[:whole].reshape(height // step, step, depth), piece)
        result[:whole, start : start + width] = sums.reshape(whole, piece.shape[1])
        result[whole:, start : start + width] = rows[whole:] @ piece
    return result
