"""Parts at positions, and elements at positions that are data."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.dialects import graph
from stepwell.lowering.paddle_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value, bounds_of, wrapped
from stepwell.runtime.dims import Dim


def _sliced(call: Call, axes: Sequence[int], steps: Sequence[int], single: Sequence[int] = ()) -> Value:
    """Python's slices of some axes; for axes in `single`, one position, which can be data."""
    x = call.tensor("input" if call.has("input") else "x")
    starts, ends = call.positions("starts"), call.positions("ends")
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise call.invalid(f"bounds and steps {list(steps)} for the axes {list(axes)}")
    begins, limits, strides = [bounds_of(None, None, dim, 1)[0] for dim in x.dims], list(x.dims), [1] * x.rank
    for given, start, end, step in zip(axes, starts, ends, steps, strict=True):
        axis = call.checked_axis(given, x.rank)
        is_whole = step < 0 and end == Dim.of(-1)  # not the last element: the end before the first one
        begins[axis], limits[axis] = bounds_of(start, None if is_whole else end, x.dims[axis], step)
        if axis in single:
            begins[axis] = wrapped(start, x.dims[axis])
            limits[axis] = begins[axis] + 1
        strides[axis] = step
    return call.at.op(graph.SliceOp(x.ssa, begins, limits, strides))


@converts("slice")
def slice_(call: Call) -> Value:
    """Slices of some axes; axes sliced to one position can be dropped."""
    axes, rank = call.integers("axes"), call.tensor("input").rank
    dropped = call.checked_axes(call.integers("decrease_axis"), rank)
    made = _sliced(call, axes, [1] * len(axes), dropped)
    return call.at.op(graph.SqueezeOp(made.ssa, dropped)) if dropped else made


@converts("strided_slice")
def strided_slice(call: Call) -> Value:
    """Parts of some axes, in steps."""
    return _sliced(call, call.integers("axes"), call.constants("strides"))


@converts("gather")
def gather(call: Call) -> Value:
    """Slices at indices along an axis."""
    op = graph.GatherOp(call.tensor().ssa, call.tensor("index").ssa, call.operand_axis())
    return call.at.op(op)


@converts("index_select")
def index_select(call: Call) -> Value:
    """Slices at indices along an axis."""
    return call.at.op(graph.GatherOp(call.tensor().ssa, call.tensor("index").ssa, call.axis()))


@converts("gather_nd")
def gather_nd(call: Call) -> Value:
    """Slices at positions of several axes."""
    return call.at.op(graph.GatherNdOp(call.tensor().ssa, call.tensor("index").ssa))


@converts("take_along_axis")
def take_along_axis(call: Call) -> Value:
    """The element at an index along an axis, for each position of the indices."""
    x, indices = call.tensor("arr"), call.tensor("indices")
    return call.at.op(graph.GatherElementsOp(x.ssa, indices.ssa, call.axis(x.rank)))


@converts("one_hot")
def one_hot(call: Call) -> Value:
    """1 at each index along a new last axis."""
    indices = call.tensor()
    (depth,) = call.constants("num_classes")
    return call.at.op(graph.OneHotOp(indices.ssa, depth, indices.rank)).cast(call.element)
