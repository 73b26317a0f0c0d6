"""The measure of difference between results and a reference, and the difference that a pass may make."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from stepwell.passes.base import Numerics
from stepwell.runtime.interface import Array

ULPS = 4
"""A difference below this many units in the last place of the largest element is none."""
LEAST_RANGE = 2.0**-6
"""
The least range that counts, relative to the largest element; 1 after passes of the class `approximate`, and
for a single element, which has no range.
"""

# Sums of a few hundred terms in another order, relative to the range.
_ROUNDING: Mapping[str, float] = {"float64": 1e-12, "float32": 2e-5, "float16": 5e-3, "bfloat16": 4e-2}
_APPROXIMATE = 4e-2
_NARROW = 3e-2
"""The error in a network of products of operands with eight bits of mantissa."""
_MODEL = 1e-4
"""The error of rounding in a whole model, whose inner values can have narrower types than its outputs."""


def relative_difference(found: Array, wanted: Array, numerics: Numerics = Numerics.ROUNDING) -> float:
    """
    The largest |found - wanted| relative to the scale of the wanted values; of integers, their steps apart.

    The scale is the range of the finite wanted values, or 2⁻⁶ of the largest of them when that is more: in
    almost equal values, a range alone makes an error of a rounding. Differences below 4 units in the last
    place of the largest are 0, unless `numerics` is `exact`; passes of the class `approximate` may compute in
    another type, whose roundings are relative to the largest.

    Returns: infinity where shapes differ, where NaN or infinities are in other places, or texts differ.
    """
    found, wanted = np.asarray(found), np.asarray(wanted)
    if found.shape != wanted.shape:
        return float("inf")
    if not wanted.size:
        return 0.0
    if wanted.dtype.kind in "OSU":
        return 0.0 if np.array_equal(found, wanted) else float("inf")
    if wanted.dtype.kind in "biu" and found.dtype == wanted.dtype:
        return _steps_apart(found, wanted)
    kind = np.complex128 if wanted.dtype.kind == "c" else np.float64
    a, b = found.astype(kind), wanted.astype(kind)
    finite = np.isfinite(b)
    if not np.array_equal(np.isfinite(a), finite) or not np.array_equal(
        a[~finite], b[~finite], equal_nan=True
    ):
        return float("inf")
    a, b = a[finite], b[finite]
    difference = float(np.abs(a - b).max(initial=0.0))
    largest = float(np.abs(b).max(initial=0.0))
    if numerics is not Numerics.EXACT and difference < ULPS * _last_place(largest, wanted.dtype):
        return 0.0
    spread = float(np.ptp(b)) if b.size and kind is np.float64 else largest
    no_range = wanted.size == 1 or numerics is Numerics.APPROXIMATE
    least = largest if no_range else LEAST_RANGE * largest
    return difference / (max(spread, least) or 1.0)


def _steps_apart(found: Array, wanted: Array) -> float:
    """The largest difference between two arrays of one integer type, computed without overflow."""
    high, low = np.maximum(found, wanted), np.minimum(found, wanted)
    unsigned = np.dtype(f"u{wanted.dtype.itemsize}")
    return float((high.view(unsigned) - low.view(unsigned)).max())


def _last_place(largest: float, dtype: np.dtype[np.generic]) -> float:
    """The distance from a number to the next one of its type; 0 for a type whose values have to be equal."""
    return float(np.spacing(np.asarray(largest).astype(dtype))) if dtype.name in _ROUNDING else 0.0


def allowed_difference(
    dtype: np.dtype[np.generic], numerics: Numerics = Numerics.ROUNDING, *, of_model: bool = False
) -> float:
    """
    The greatest `relative_difference` that passes of a class may make in values of a type.

    Args: `of_model` is for outputs of a whole model, in which the roundings of many kernels add up, and those
    of a quantized one may be whole steps of inner values.
    """
    if numerics is Numerics.QUANTIZED and dtype.kind in "iu":
        return 1.0
    rounding = _ROUNDING.get(dtype.name)
    if rounding is None or numerics is Numerics.EXACT:
        return 0.0
    if of_model:
        rounding = max(_MODEL, 5 * rounding)
    steps = of_model and numerics is Numerics.QUANTIZED
    return max(rounding, _APPROXIMATE) if steps or numerics is Numerics.APPROXIMATE else rounding


def allowed_of_model(
    dtype: np.dtype[np.generic], *, quantized: bool = False, requantized: bool = False, narrow: bool = False
) -> float:
    """
    The greatest `relative_difference` of a model's output from the reference's that rounding explains.

    Args: `quantized` is for a model that rounds to integers itself, whose sums may come out a step apart;
    `requantized` for code that computes the scales of a quantized model in integers, as accelerators do: each
    layer may be a step apart, and later ones have that in all digits; `narrow` for products of 16-bit
    operands.
    """
    if dtype.kind in "iu":
        return float(quantized)
    numerics = Numerics.QUANTIZED if requantized and quantized else Numerics.ROUNDING
    allowed = allowed_difference(dtype, numerics, of_model=True)
    return max(allowed, _NARROW) if narrow else allowed
