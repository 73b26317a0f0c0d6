"""Element types as numpy has them, and arrays without contents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import IndexType, MemRefType, TensorType, VectorType
from xdsl.ir import Attribute

from stepwell.dialects.types import dtype_of
from stepwell.runtime.meaning import Array

_PAYLOADS = {2: np.uint16(0xA5), 4: np.uint32(0xA5A5), 8: np.uint64(0xA5A5A5A5)}
"""Bits of a NaN that are 0 in those that operations make, by bytes of the type."""


def numpy_dtype(type: Attribute) -> np.dtype[np.generic]:
    """The numpy dtype of a number, or of a shaped type's elements; an index has 64 bits."""
    element = type
    if isinstance(type, TensorType | MemRefType | VectorType):
        element = cast("TensorType[Attribute]", type).element_type
    return np.dtype(np.int64) if isinstance(element, IndexType) else dtype_of(element)


def undefined(shape: Sequence[int], element: Attribute) -> Array:
    """An array whose contents must not matter: NaN, or a conspicuous number, so that misuse is found."""
    dtype = numpy_dtype(element)
    array: Any = np.empty(shape, dtype)
    if dtype.kind == "b":
        array[...] = True
    else:
        array.reshape(-1, 1).view(np.uint8)[...] = undefined_bytes(dtype)
    return array


def undefined_bytes(dtype: np.dtype[np.generic]) -> npt.NDArray[np.uint8]:
    """The bytes of an undefined element: a NaN that no operation makes, for types that have several."""
    if dtype.kind in "fc":
        part = dtype if dtype.kind == "f" else np.dtype(f"f{dtype.itemsize // 2}")
        words = np.full(dtype.itemsize // part.itemsize, np.nan, part).view(f"u{part.itemsize}")
        return (words | _PAYLOADS[part.itemsize]).view(np.uint8)
    if dtype.kind in "iu":
        return np.full(dtype.itemsize, 0xA5, np.uint8)
    return np.array([np.nan], np.float32).astype(dtype).view(np.uint8)
