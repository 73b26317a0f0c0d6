"""`storage_align`: gaps between the rows of a stage in memory, so that rows begin at other cache lines."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from xdsl.dialects import tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.schedule_levels import MOST
from stepwell.dialects.tensor_ir.gaps import Storage
from stepwell.dialects.tensor_ir.structured import tensor_shape
from stepwell.passes.analysis.scripts.nest import IllegalStepError
from stepwell.passes.analysis.scripts.rewrites import Target, generic_of

MOST_FACTOR = 1 << 16
"""The largest factor of a stride: gaps are shorter than the factor."""
_RESHAPES = (tensor.CollapseShapeOp, tensor.ExpandShapeOp, tensor.InsertSliceOp)


def storage_align(target: Target, axis: int, factor: int, offset: int) -> None:
    """
    Let the stride of a dimension in memory be a multiple of a factor, plus an offset.

    Raises: IllegalStepError with the reason.
    """
    op = generic_of(target)
    rank = len(target.view.init_maps[0].results)
    if not 0 < factor <= MOST_FACTOR or not 0 <= offset < factor:
        raise IllegalStepError(
            f"a stride is a multiple of a factor, plus an offset below it, found {factor} and {offset}",
            f"factors are 1 to {MOST_FACTOR}",
        )
    if not 0 <= axis < rank - 1:
        last = f"dimension {axis} is the last one, whose elements follow one another"
        reason = last if axis == rank - 1 else f"{target.name} has dimensions 0 to {rank - 1}, found {axis}"
        raise IllegalStepError(reason, f"the dimensions with gaps are 0 to {rank - 2}" if rank > 1 else None)
    _expect_in_memory(target)
    found = Storage.of(op)
    if found is None:
        raise IllegalStepError(f"{target.name} is computed in place of a tensor that has a layout already")
    extent = _extent(found, axis, factor, offset)
    if extent != found.extents[axis + 1]:
        found.widen(axis + 1, extent)


def _extent(found: Storage, axis: int, factor: int, offset: int) -> int:
    """The least extent of the next dimension that gives one a stride. Raises: IllegalStepError."""
    extent, inner = tensor_shape(found.op.results[0])[axis + 1], found.stride(axis + 1)
    if inner is None or extent == DYNAMIC_INDEX:
        raise IllegalStepError(f"the stride of dimension {axis} is known at run time")
    if done := [d for d in found.widened if d <= axis]:
        raise IllegalStepError(
            f"the stride of dimension {done[0] - 1} is chosen already, and contains that of dimension {axis}",
            "inner dimensions come first",
        )
    step = gcd(inner, factor)
    if offset % step:
        raise IllegalStepError(
            f"strides of dimension {axis} are multiples of {inner}, of which none is {offset} "
            f"above a multiple of {factor}",
            f"offsets are multiples of {step}",
        )
    while extent * inner % factor != offset:
        extent += 1
    if extent * inner >= MOST:
        raise IllegalStepError(f"rows of {extent * inner} elements are longer than any tensor")
    return extent


def _expect_in_memory(target: Target) -> None:
    """Require a result of which nothing knows the layout. Raises: IllegalStepError."""
    users = list(_users(target.view.op.results[0]))
    if any(isinstance(user, ReturnOp) for user in users):
        raise IllegalStepError(
            f"{target.name} is a result of the kernel, whose layout its caller knows",
            f"cache_write({target.name}), and the step on the new stage",
        )
    if any(isinstance(user, _RESHAPES) for user in users):
        raise IllegalStepError(
            f"{target.name} is reshaped or part of a larger tensor: its rows follow one another",
            f"cache_read({target.name}), and the step on the copy",
        )


def _users(value: SSAValue) -> Iterator[Operation]:
    """The ops that use a tensor, also by slices of it."""
    for use in value.uses:
        yield use.operation
        if isinstance(use.operation, tensor.ExtractSliceOp):
            yield from _users(use.operation.results[0])
