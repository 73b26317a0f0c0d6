"""Axes that are data: reductions over them, and dimensions of size 1 inserted or dropped at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.annotations import STOP_FUSION
from stepwell.dialects.types import dtype_of
from stepwell.lowering.onnx_to_graph.run_time_numbers import Numbers
from stepwell.lowering.to_graph import Value
from stepwell.runtime.dims import Dim

# The stages of a reduction: the op on each element, the accumulation, the op on the result.
_STAGES: Mapping[str, tuple[str, str, str]] = {
    "l1": ("abs", "sum", ""),
    "l2": ("square", "sum", "sqrt"),
    "sum_square": ("square", "sum", ""),
}


def flags_of(axes: Value, rank: int, numbers: Numbers) -> Value:
    """A vector of `rank` numbers, 1 at each of some axes, 0 elsewhere."""
    ones = numbers.of([1] * axes.dims[0].value)
    return numbers.spread(numbers.of([0] * rank), axes, ones)


def reduce_at_run_time(x: Value, axes: Value, kind: str, keep_dims: bool, numbers: Numbers) -> Value:
    """
    A reduction over axes that are data: each axis in turn is reduced to one element or left unchanged.

    An axis of n elements becomes one of m, where m is 1 or n: element i of the result accumulates all
    elements if the axis is reduced, else the i-th alone; the other elements are replaced by the identity.
    """
    dims, rank = x.dims, x.rank
    sizes = numbers.extents(dims)
    flags = flags_of(axes, rank, numbers)
    reduces = numbers.of([0] * rank) < flags
    kept = numbers.bind(numbers.where(reduces, 1, sizes))
    before, accumulated, after = _STAGES.get(kind, ("", "sum" if kind == "mean" else kind, ""))
    if before:
        x = abs(x) if before == "abs" else x * x
    nothing = numbers.lowering.constant(_identity(accumulated, x.element), numbers.rewriter)
    for axis in range(rank):
        rows, columns = numbers.count_up(kept[axis]), numbers.count_up(dims[axis])
        counts = rows.unsqueeze(1).equals(columns) | reduces.at(0, axis)
        mask = counts.unsqueeze(*range(2, rank - axis + 1))
        wide = graph.WhereOp(mask.ssa, x.unsqueeze(axis).ssa, nothing)
        # In one kernel with the reduction, a tile of it would have a size without bound.
        wide.attributes[STOP_FUSION] = UnitAttr()
        x = numbers.op(wide).reduce(accumulated, [axis + 1])
    if after:
        x = x.apply(graph.SqrtOp)
    if kind == "mean":
        total = numbers.where(reduces, sizes, 1).reduce("prod", [0])
        x = x / numbers.op(graph.CastOp(total.ssa, x.element))
    return x if keep_dims else squeeze_at_run_time(x, axes, kept, numbers)


def squeeze_at_run_time(x: Value, axes: Value, dims: Sequence[Dim], numbers: Numbers) -> Value:
    """Drop dimensions, known to be 1, at axes that are data."""
    rank = len(dims)
    left = rank - axes.dims[0].value
    # The remaining axes, in order: dropped ones are sorted after them.
    order = flags_of(axes, rank, numbers) * rank + numbers.of(list(range(rank)))
    staying = numbers.op(graph.TopKOp(order.ssa, left, 0, largest=False))
    sizes = numbers.bind(numbers.take(numbers.extents(dims), staying, 0))
    return numbers.op(graph.ReshapeOp(x.ssa, sizes))


def unsqueeze_at_run_time(x: Value, axes: Value, numbers: Numbers) -> Value:
    """Insert dimensions of size 1 at axes of the result that are data."""
    rank = x.rank + axes.dims[0].value
    flags = flags_of(axes, rank, numbers)
    if not x.dims:
        return numbers.op(graph.ReshapeOp(x.ssa, [1] * rank))
    # Each other axis of the result gets the next dimension of the input.
    stays = numbers.of([1] * rank) - flags
    position = numbers.op(graph.ScanOp(stays.ssa, "sum", 0, exclusive=True))
    sizes = numbers.extents(x.dims)
    taken = numbers.take(sizes, position.minimum(x.rank - 1).maximum(0), 0)
    inserted = numbers.of([0] * rank) < flags
    return numbers.op(graph.ReshapeOp(x.ssa, numbers.bind(numbers.where(inserted, 1, taken))))


def _identity(kind: str, element: Attribute) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """The identity element of an accumulation."""
    dtype = dtype_of(element)
    if kind in ("sum", "or"):
        return np.array(0, dtype)
    if kind in ("prod", "and"):
        return np.array(1, dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype.name)
        return np.array(limits.min if kind == "max" else limits.max, dtype)
    return np.array(np.inf if kind == "min" else -np.inf, dtype)
