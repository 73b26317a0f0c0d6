"""Numpy meanings of conversions between element types, down to floats and integers of a few bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from stepwell.runtime.meaning import meaning
from stepwell.runtime.meaning.floats import Numbers, is_float, wide

# By name: a model without such types needs no ml_dtypes.
_ALWAYS_SATURATE = ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn")
_POWERS_OF_TWO = "float8_e8m0fnu"


@meaning("graph.bitcast")
def bitcast(x: Numbers, to: np.dtype[np.generic]) -> Numbers:
    """The same bytes as elements of another type of that size."""
    return np.ascontiguousarray(x).reshape(x.shape).view(to)


@meaning("graph.cast")
def cast(x: Numbers, to: np.dtype[np.generic], saturate: bool, round: str) -> Numbers:
    """Elements converted to another type; `saturate` and `round` concern the conversion to 8-bit floats."""
    x = x.astype(np.int8) if _is_tiny_int(x.dtype) else wide(x)
    with np.errstate(all="ignore"):
        if to == np.bool_:
            return x != 0
        if not is_float(to):
            return float_to_int(x, to) if is_float(x.dtype) else _wrapped(x, to)
        return _to_small_float(x, to, saturate, round) if to.itemsize == 1 else x.astype(to)


def _is_tiny_int(dtype: np.dtype[np.generic]) -> bool:
    """Whether a dtype is one of ml_dtypes' integers of less than a byte."""
    return dtype.kind == "V" and not is_float(dtype)


def _wrapped(x: Numbers, to: np.dtype[np.generic]) -> Numbers:
    """Integers reduced to the low bits of a type."""
    return x.astype(np.int8).astype(to) if _is_tiny_int(to) else x.astype(to)


def float_to_int(x: Numbers, to: np.dtype[np.generic]) -> Numbers:
    """
    Floats as integers: truncate, saturate to i32 or i64 (u64 for u64), then drop high bits; NaN gives 0.
    """
    small = to.itemsize < 4 or to == np.int32
    through = np.dtype(np.int32 if small else np.uint64 if to == np.uint64 else np.int64)
    limits = np.iinfo(through)  # pyright: ignore[reportArgumentType]
    bottom = -(2.0**63) if through == np.uint64 else float(limits.min)
    over, under, nan = x >= float(limits.max), x < bottom, np.isnan(x)
    whole = np.trunc(np.where(over | under | nan, 0, x))
    # Negative numbers wrap in u64, as they do on the way through i64.
    result = np.where(whole < 0, whole, 0).astype(np.int64).astype(through)
    result += np.where(whole > 0, whole, 0).astype(through)
    result = np.where(over, limits.max, result).astype(through)
    result = np.where(under, np.array(bottom).astype(np.int64).astype(through), result)
    return _wrapped(result, to)


def _to_small_float(x: Numbers, to: np.dtype[Any], saturate: bool, round: str) -> Numbers:
    x = x.astype(np.float32)
    if to.name == _POWERS_OF_TWO:
        return _to_power_of_two(x, to, round)
    if saturate or to.name in _ALWAYS_SATURATE:
        import ml_dtypes

        finfo: Any = ml_dtypes.finfo
        top = float(finfo(to).max)
        x = np.clip(x, -top, top)  # NaN stays
    return x.astype(to)


def _to_power_of_two(x: Numbers, to: np.dtype[Any], round: str) -> Numbers:
    """Numbers as powers of two, from 2 ** -127 to 2 ** 127, rounded as asked for; negative ones are NaN."""
    fraction, exponent = np.frexp(x)  # x = fraction * 2 ** exponent, 0.5 <= fraction < 1
    threshold = {"up": 0.5, "down": 1.0, "nearest": 0.75}[round]
    up = fraction >= threshold if round == "nearest" else fraction > threshold
    code = np.where(x == 0, 0, np.clip(exponent - 1 + up + 127, 0, 254))
    legal = np.isfinite(x) & (x >= 0)
    return np.where(legal, code, 255).astype(np.uint8).view(to)
