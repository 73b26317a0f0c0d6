"""Axes that are data: reductions over them, and dimensions of size 1 inserted or dropped at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.annotations import STOP_FUSION
from stepwell.dialects.types import dims_of, dtype_of, tensor_of
from stepwell.lowering.onnx_to_graph.run_time_numbers import Numbers
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, emit
from stepwell.runtime.dims import Dim

# The stages of a reduction: the op on each element, the accumulation, the op on the result.
_STAGES: Mapping[str, tuple[str, str, str]] = {
    "l1": ("abs", "sum", ""),
    "l2": ("square", "sum", "sqrt"),
    "sum_square": ("square", "sum", ""),
}


def flags_of(axes: SSAValue, rank: int, numbers: Numbers) -> SSAValue:
    """A vector of `rank` numbers, 1 at each of some axes, 0 elsewhere."""
    ones = numbers.of([1] * dims_of(axes.type)[0].value)
    return numbers.spread(numbers.of([0] * rank), axes, ones)


def reduce_at_run_time(
    x: SSAValue, axes: SSAValue, kind: str, keep_dims: bool, lowering: OnnxLowering, rewriter: PatternRewriter
) -> SSAValue:
    """
    A reduction over axes that are data: each axis in turn is reduced to one element or left unchanged.

    An axis of n elements becomes one of m, where m is 1 or n: element i of the result accumulates all
    elements if the axis is reduced, else the i-th alone; the other elements are replaced by the identity.
    """
    numbers = Numbers(lowering, rewriter)
    dims = dims_of(x.type)
    rank, sizes = len(dims), numbers.extents(dims)
    flags = flags_of(axes, rank, numbers)
    reduces = numbers.less(numbers.of([0] * rank), flags)
    kept = numbers.bind(numbers.where(reduces, 1, sizes))
    before, accumulated, after = _STAGES.get(kind, ("", "sum" if kind == "mean" else kind, ""))
    if before:
        x = emit(graph.AbsOp(x) if before == "abs" else graph.MultiplyOp(x, x), rewriter)
    nothing = lowering.constant(_identity(accumulated, tensor_of(x).element_type), rewriter)
    for axis in range(rank):
        rows, columns = numbers.count_up(kept[axis]), numbers.count_up(dims[axis])
        same = emit(graph.EqualOp(emit(graph.ExpandDimsOp(rows, [1]), rewriter), columns), rewriter)
        counts = emit(graph.OrOp(same, _element(reduces, axis, rewriter)), rewriter)
        trailing = list(range(2, rank - axis + 1))
        mask = emit(graph.ExpandDimsOp(counts, trailing), rewriter) if trailing else counts
        wide = graph.WhereOp(mask, emit(graph.ExpandDimsOp(x, [axis]), rewriter), nothing)
        # In one kernel with the reduction, a tile of it would have a size without bound.
        wide.attributes[STOP_FUSION] = UnitAttr()
        x = emit(graph.ReduceOp(emit(wide, rewriter), accumulated, [axis + 1], keep_dims=False), rewriter)
    if after:
        x = emit(graph.SqrtOp(x), rewriter)
    if kind == "mean":
        number = numbers.where(reduces, sizes, 1)
        total = emit(graph.ReduceOp(number, "prod", [0], keep_dims=False), rewriter)
        x = emit(graph.DivideOp(x, emit(graph.CastOp(total, tensor_of(x).element_type), rewriter)), rewriter)
    return x if keep_dims else squeeze_at_run_time(x, axes, kept, numbers, rewriter)


def squeeze_at_run_time(
    x: SSAValue, axes: SSAValue, dims: Sequence[Dim], numbers: Numbers, rewriter: PatternRewriter
) -> SSAValue:
    """Drop dimensions, known to be 1, at axes that are data."""
    rank = len(dims)
    left = rank - dims_of(axes.type)[0].value
    # The remaining axes, in order: dropped ones are sorted after them.
    flags = flags_of(axes, rank, numbers)
    order = numbers.add(numbers.multiply(flags, rank), numbers.of(list(range(rank))))
    staying = emit(graph.TopKOp(order, left, 0, largest=False), rewriter)
    sizes = numbers.bind(numbers.take(numbers.extents(dims), staying, 0))
    return emit(graph.ReshapeOp(x, sizes), rewriter)


def unsqueeze_at_run_time(
    x: SSAValue, axes: SSAValue, numbers: Numbers, rewriter: PatternRewriter
) -> SSAValue:
    """Insert dimensions of size 1 at axes of the result that are data."""
    dims = dims_of(x.type)
    rank = len(dims) + dims_of(axes.type)[0].value
    flags = flags_of(axes, rank, numbers)
    if not dims:
        return emit(graph.ReshapeOp(x, [1] * rank), rewriter)
    # Each other axis of the result gets the next dimension of the input.
    stays = numbers.subtract(numbers.of([1] * rank), flags)
    position = emit(graph.ScanOp(stays, "sum", 0, exclusive=True), rewriter)
    taken = numbers.take(numbers.extents(dims), numbers.clamp(position, 0, len(dims) - 1), 0)
    sizes = numbers.bind(numbers.where(numbers.less(numbers.of([0] * rank), flags), 1, taken))
    return emit(graph.ReshapeOp(x, sizes), rewriter)


def _element(flags: SSAValue, index: int, rewriter: PatternRewriter) -> SSAValue:
    """An element of a vector, as rank 0."""
    part = emit(graph.SliceOp(flags, [index], [index + 1], [1]), rewriter)
    return emit(graph.SqueezeOp(part, [0]), rewriter)


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
