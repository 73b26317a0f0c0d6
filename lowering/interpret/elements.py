"""Element types as numpy has them, and arrays without contents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import IndexType, MemRefType, TensorType, VectorType
from xdsl.ir import Attribute

from stepwell.dialects.types import dtype_of
from stepwell.runtime.meaning import Array


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
    if dtype.kind in "iu":
        array.reshape(-1).view(np.uint8)[...] = 0xA5
    elif dtype.kind == "b":
        array[...] = True
    else:
        array[...] = np.nan
    return array
