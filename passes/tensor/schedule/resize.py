"""The form of resizes: repeated or gathered elements, or sums along one axis at a time."""

from __future__ import annotations

from math import prod

from stepwell.dialects.costs.machine import MACHINE
from stepwell.dialects.linalg_ext.resize import ResizeOp, neighbour_offsets, sampled_axes
from stepwell.dialects.tensor_ir.structured import tensor_element
from stepwell.dialects.types import element_bytes
from stepwell.passes.tensor.schedule.form_choice import Choice, choices_of
from stepwell.runtime.machine.target import TargetDescription

_LOADS = 3
"""The loads and stores of an element, or of a vector: the index in the table, the neighbour, and the sum."""


def resize_choices(op: ResizeOp, target: TargetDescription) -> list[Choice]:
    """The legal forms, first the fastest one; in the order of the op where sizes are open."""
    choices = choices_of(op, lambda form, _: _cycles(op, form, target))
    return sorted(choices, key=lambda choice: choice.cycles or 0)


def _cycles(op: ResizeOp, form: str, target: TargetDescription) -> float | None:
    """
    The estimated cycles of reading the neighbours along each axis.

    Weighted neighbours are vectors along all axes but the last; others are read one by one.
    """
    dims, shape = op.sizes
    if not all(dim.is_static for dim in (*dims, *shape)):
        return None
    lanes = target.lanes(element_bytes(tensor_element(op.input)))
    elements = prod(dim.value for dim in shape)
    if form == "repeat":
        return _LOADS * elements / lanes / MACHINE.loads
    if form == "gather":
        return _LOADS * elements / MACHINE.loads
    axes, sizes, reads = sampled_axes(op, dims, shape), list(dims), 0.0
    for axis in axes if form == "first-axis-first" else axes[::-1]:
        sizes[axis] = shape[axis]
        is_alone = op.mode.data == "nearest" or axis == len(shape) - 1
        each = len(neighbour_offsets(op, dims, shape, axis)) / (1 if is_alone else lanes)
        reads += prod(dim.value for dim in sizes) * each
    return _LOADS * reads / MACHINE.loads
