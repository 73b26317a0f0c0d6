"""The measure of difference between results and a reference."""

from __future__ import annotations

import numpy as np

from stepwell.runtime.interface import Array

TOLERANCE = 1e-4
"""Largest difference, relative to the range of the output, that rounding may explain."""


def relative_difference(found: Array, expected: Array) -> float:
    """
    The largest difference, relative to the range of the expected values.

    Infinite where shapes differ, or where NaN or infinity occur at different positions.
    """
    if found.shape != expected.shape:
        return float("inf")
    if not expected.size:
        return 0.0
    a, b = found.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(
        a[~finite], b[~finite], equal_nan=True
    ):
        return float("inf")
    if not finite.any():
        return 0.0
    scale = float(np.ptp(b[finite])) or float(np.abs(b[finite]).max()) or 1.0
    return float(np.abs(a[finite] - b[finite]).max()) / scale
