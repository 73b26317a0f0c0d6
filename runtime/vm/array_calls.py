"""
Calls of segments on array objects by one native function, which checks their types and reads their addresses.

The machine's own checks in Python, and the addresses, take more than small segments themselves (2 of 3 us).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.addresses import address_of
from stepwell.runtime.machine.call_frame import CallFrame
from stepwell.runtime.machine.fixed_call import FixedCall
from stepwell.runtime.machine.loader import Library
from stepwell.runtime.vm.tensors import TensorType

SYMBOL = "vm.call_on_arrays"
"""The name of the function: `i32 (ptr plan, ptr tuple of inputs and outputs)`."""
UNFIT = -(1 << 31)
"""Its status where an array is not as declared: nothing has run."""
HEAD_WORDS = 7
"""
The i64 of a plan before the rows of arrays: code, arguments, dimensions, context, counts of inputs and of all
arrays, the class of arrays. A row has the element type, the rank and the sizes.
"""
# The public C interfaces of CPython and of numpy, on machines of 64 bits: offsets in bytes.
OBJECT_CLASS, TUPLE_ITEMS = 8, 24
ARRAY_DATA, ARRAY_RANK, ARRAY_DIMS, ARRAY_TYPE, ARRAY_FLAGS = 16, 24, 32, 56, 64
_CONTIGUOUS, _WRITABLE = 1, 1 << 10
INPUT_FLAGS, OUTPUT_FLAGS = _CONTIGUOUS, _CONTIGUOUS | _WRITABLE
"""The flags that arrays must have."""


class Plan(NamedTuple):
    """A frame of a segment's call, with what the function has to know."""

    address: int
    frame: CallFrame
    words: npt.NDArray[np.int64]


class ArrayCalls:
    """The function, in a library that stays."""

    def __init__(self, library: Library):
        self._library = library
        self.call = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(
            library.address(SYMBOL)
        )
        """The function: of the address of a plan, and that of a tuple."""

    def plan(self, function: FixedCall, inputs: Sequence[TensorType]) -> Plan:
        """A plan for calls of a segment, one at a time."""
        frame = function.new_frame()
        code = ctypes.cast(function.main, ctypes.c_void_p).value or 0  # pyright: ignore[reportArgumentType]
        outputs = [(dtype, shape) for shape, dtype in function.outputs]
        count = len(inputs) + len(outputs)
        words = [code, *frame.addresses, len(inputs), count, id(np.ndarray)]
        for dtype, shape in (*((each.dtype, each.shape or ()) for each in inputs), *outputs):
            words += [id(dtype), len(shape), *shape]
        made = np.array(words, np.int64)
        return Plan(address_of(made), frame, made)


@cache
def has_expected_layout() -> bool:
    """Whether objects of this interpreter and numpy are laid out as the function reads them."""
    if ctypes.sizeof(ctypes.c_void_p) != 8 or np.ndarray.__basicsize__ < ARRAY_FLAGS + 4:
        return False
    whole = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    constant = np.zeros(3)
    constant.flags.writeable = False
    samples = (whole, constant, whole.T, whole[:, 1:], np.zeros((), np.int64), np.zeros((5, 0), np.bool_))
    return _word(id(samples) + TUPLE_ITEMS + 8) == id(samples[1]) and all(map(_is_laid_out, samples))


def _is_laid_out(array: npt.NDArray[np.generic]) -> bool:
    at = id(array)
    rank = ctypes.c_int32.from_address(at + ARRAY_RANK).value
    if (_word(at + OBJECT_CLASS), rank) != (id(np.ndarray), array.ndim):
        return False
    sizes = _word(at + ARRAY_DIMS)
    flags = ctypes.c_int32.from_address(at + ARRAY_FLAGS).value
    return (
        all(_word(sizes + 8 * n) == size for n, size in enumerate(array.shape))
        and _word(at + ARRAY_DATA) == address_of(array)
        and _word(at + ARRAY_TYPE) == id(array.dtype)
        and bool(flags & _CONTIGUOUS) == array.flags.c_contiguous
        and bool(flags & _WRITABLE) == array.flags.writeable
    )


@cache
def references_when_free() -> int | None:
    """
    The reference count of an array after a read from the only list with it; None for an interpreter without a
    global lock, whose counts say less.
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return None
    names: dict[str, object] = {"refs": sys.getrefcount, "kept": [np.zeros(1)]}
    exec("def count(r):\n    o = kept[0]\n    return refs(o)", names)
    return cast("Callable[[object], int]", names["count"])(None)


def _word(address: int) -> int:
    return ctypes.c_int64.from_address(address).value
