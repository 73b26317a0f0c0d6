"""Helpers of pattern rules: patterns for scalar constants, and the test that a match has no outside uses."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.constants import array_of
from stepwell.dialects.types import WeightAttr, dtype_of, tensor_of
from stepwell.patterns import Pattern, is_constant
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array

_NO_WEIGHTS = WeightStore()
_RELATIVE_WIDE, _RELATIVE_NARROW = 2e-7, 2e-3  # a few units in the last place of f32, and of 16-bit floats


def number(value: float) -> Pattern:
    """A pattern of a one-element float constant equal to `value`, up to rounding in the constant's type."""

    def holds(found: SSAValue) -> bool:
        scalar = scalar_of(found)
        if scalar is None or dtype_of(tensor_of(found).element_type).kind in "iub":
            return False
        is_wide = dtype_of(tensor_of(found).element_type).itemsize >= np.dtype(np.float32).itemsize
        if scalar == value:
            return True  # infinities too
        return abs(scalar - value) <= abs(value) * (_RELATIVE_WIDE if is_wide else _RELATIVE_NARROW)

    return is_constant().where(holds, f"is {value}")


def any_number() -> Pattern:
    """A pattern of any constant with one element."""
    return is_constant().where(lambda found: scalar_of(found) is not None, "one number")


def scalar_of(value: SSAValue) -> float | None:
    """The number in a constant of one element; None for any other value."""
    if not isinstance(value.owner, graph.ConstantOp):
        return None
    constant = value.owner.value
    if isinstance(constant, WeightAttr):
        return None  # NaN, or more than one number
    array = array_of(constant, _NO_WEIGHTS)
    return float(array.flat[0]) if array.size == 1 else None


def is_closed(root: SSAValue, leaves: Iterable[SSAValue]) -> bool:
    """
    Whether all ops between `leaves` and `root` are used only among themselves, the root excepted.

    Replacing the root then makes all of them dead, so that nothing is computed twice.
    """
    outside = set(leaves)
    inside: set[Operation] = set()
    stack = [root]
    while stack:
        value = stack.pop()
        op = value.owner
        if value in outside or not isinstance(op, Operation) or isinstance(op, graph.ConstantOp):
            continue
        if op not in inside:
            inside.add(op)
            stack += op.operands
    inner = (result for op in inside if op is not root.owner for result in op.results)
    return all(use.operation in inside for result in inner for use in result.uses)


def along_axis(array: Array, axis: int, rank: int) -> Array | None:
    """An array that broadcasts to `rank` dimensions as a vector along `axis`; None if it varies elsewhere."""
    shape = (1,) * (rank - array.ndim) + array.shape
    if len(shape) != rank or any(size != 1 for i, size in enumerate(shape) if i != axis):
        return None
    return array.reshape(-1)
