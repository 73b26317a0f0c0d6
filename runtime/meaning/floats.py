"""How the meanings compute: narrow floats through f32, without numpy's warnings about Inf and NaN."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import Array

Numbers: TypeAlias = npt.NDArray[Any]
"""An array as arithmetic takes it."""


def is_narrow(dtype: np.dtype[np.generic]) -> bool:
    """Whether values of a dtype are computed in f32: all floats of at most two bytes."""
    return is_float(dtype) and dtype.itemsize <= 2


def is_float(dtype: np.dtype[np.generic]) -> bool:
    """Whether a dtype is a floating point format, ml_dtypes' too."""
    return dtype.kind == "f" or dtype.name.startswith(("bfloat", "float"))


def wide(array: Array) -> Numbers:
    """An array in the type it computes in: f32 for narrower floats."""
    return array.astype(np.float32) if is_narrow(array.dtype) else array


def through_f32(function: Callable[..., Numbers]) -> Callable[..., Numbers]:
    """
    Let a meaning compute narrow floats in f32, and round its result to the type of its first operand.

    Results of another type, such as truth values, stay as they are.
    """

    @wraps(function)
    def computed(*operands: Array | None, **properties: object) -> Numbers:
        with np.errstate(all="ignore"):
            result = function(*(None if x is None else wide(x) for x in operands), **properties)
            first = operands[0]
            assert first is not None
            return result.astype(first.dtype) if result.dtype == wide(first).dtype else result

    return computed
