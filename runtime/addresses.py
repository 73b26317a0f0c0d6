"""
The address of an array's elements, read from the object's memory: numpy's own ways take 2 us, twice a call.
"""

from __future__ import annotations

import ctypes
from typing import cast

import numpy as np

from stepwell.runtime.interface import Array

# `PyArrayObject` is part of numpy's public C interface: the object's head, then the pointer to its elements.
_HEAD_BYTES = object.__basicsize__
_pointer_at = ctypes.c_void_p.from_address


def _by_layout(array: Array) -> int:
    return _pointer_at(id(array) + _HEAD_BYTES).value or 0


def _by_interface(array: Array) -> int:
    return cast(int, array.__array_interface__["data"][0])


def _has_expected_layout() -> bool:
    """
    Whether reading the object's memory gives the address on this interpreter and numpy; true for CPython and
    its ABI.
    """
    whole = np.arange(6, dtype=np.float32)
    samples: list[Array] = [
        whole,
        whole[2:],
        whole[:0],
        whole.reshape(2, 3),
        np.frombuffer(b"abcd", np.uint8),
    ]
    return np.ndarray.__basicsize__ > _HEAD_BYTES and all(_by_layout(s) == _by_interface(s) for s in samples)


ELEMENTS_AT = _HEAD_BYTES if _has_expected_layout() else None
"""The offset of the pointer to the elements in an array object, in bytes; None if it is not known."""
address_of = _by_layout if ELEMENTS_AT is not None else _by_interface
"""The address of an array's first element."""
