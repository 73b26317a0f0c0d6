"""Arithmetic of the meanings: narrow floats computed in f32, without numpy's warnings about Inf and NaN."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import Array

Numbers: TypeAlias = npt.NDArray[Any]
"""An array of any element type, for arithmetic."""


def is_narrow(dtype: np.dtype[np.generic]) -> bool:
    """Whether values of a dtype are computed in f32: all floats of at most two bytes."""
    return is_float(dtype) and dtype.itemsize <= 2


@cache
def is_float(dtype: np.dtype[np.generic]) -> bool:
    """Whether a dtype is a floating point format, ml_dtypes' too."""
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))


def wide(array: Array) -> Numbers:
    """An array in the type of its arithmetic: f32 for narrower floats."""
    return array.astype(np.float32) if is_narrow(array.dtype) else array


def through_f32(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    """
    A decorator that computes narrow floats in f32 and rounds the result to the type of the first operand.

    Results of another type, such as truth values, are unchanged.
    """

    @wraps(function)
    def computed(*operands: Array | None, **properties: object) -> Numbers:
        with np.errstate(all="ignore"):
            result = function(*(None if x is None else wide(x) for x in operands), **properties)
            first = operands[0]
            assert first is not None
            return result.astype(first.dtype) if result.dtype == wide(first).dtype else result

    return computed
