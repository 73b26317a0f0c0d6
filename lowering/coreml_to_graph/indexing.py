"""Parts at positions, and elements at positions that are data."""

from __future__ import annotations

from xdsl.dialects.builtin import i1

from stepwell.dialects import graph
from stepwell.lowering.coreml_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value, bounds_of, wrapped
from stepwell.runtime.dims import Dim

_COMBINATIONS = {"update": "none", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def _slices(call: Call, x: Value) -> tuple[list[Dim], list[Dim], list[int], list[int]]:
    """The starts, limits and steps of the axes, and the axes that go."""
    begins, ends = call.positions("begin"), call.positions("end")
    steps = call.numbers("stride", x.rank, 1)
    open_begins, open_ends, dropped = (
        call.flags(f"{name}_mask", x.rank) for name in ("begin", "end", "squeeze")
    )
    if len(begins) != x.rank or len(ends) != x.rank or 0 in steps:
        raise call.invalid(f"the bounds and steps must be numbers for {x.rank} axes, the steps not 0")
    starts, limits = list[Dim](), list[Dim]()
    for axis, size in enumerate(x.dims):
        begin = None if open_begins[axis] else begins[axis]
        end = None if open_ends[axis] else ends[axis]
        if dropped[axis]:
            start = wrapped(begin or Dim.of(0), size)
            bounds, steps[axis] = (start, start + 1), 1
        else:
            bounds = bounds_of(begin, end, size, steps[axis])
        starts.append(bounds[0])
        limits.append(bounds[1])
    return starts, limits, steps, [axis for axis in range(x.rank) if dropped[axis]]


@converts("slice_by_index")
def slice_by_index(call: Call) -> Value:
    """Python's slices of the axes, with masks for bounds that are left out, and axes that go."""
    x = call.tensor()
    starts, limits, steps, dropped = _slices(call, x)
    made = call.at.op(graph.SliceOp(x.ssa, starts, limits, steps))
    return call.at.op(graph.SqueezeOp(made.ssa, dropped)) if dropped else made


@converts("slice_by_size")
def slice_by_size(call: Call) -> Value:
    """A part from some positions on; a size of -1 is all the rest."""
    x = call.tensor()
    sizes = call.operand_sizes("size")
    begins = [wrapped(b, dim) for b, dim in zip(call.operand_sizes("begin"), x.dims, strict=True)]
    limits = [
        dim if size == -1 else begin + size for begin, size, dim in zip(begins, sizes, x.dims, strict=True)
    ]
    return call.at.op(graph.SliceOp(x.ssa, begins, limits, [1] * x.rank))


@converts("slice_update")
def slice_update(call: Call) -> Value:
    """A part overwritten, without steps."""
    x, update = call.tensor(), call.tensor("update")
    starts, limits, steps, _ = _slices(call, x)
    if any(step != 1 for step in steps):
        raise call.unsupported(f"the steps {steps}")
    sizes = [limit - start for start, limit in zip(starts, limits, strict=True)]
    return call.at.op(graph.InsertSliceOp(x.ssa, update.reshape(sizes).ssa, starts))


@converts("gather")
def gather(call: Call) -> Value:
    """Slices at indices along an axis."""
    op = graph.GatherOp(
        call.tensor().ssa, call.tensor("indices").ssa, call.axis(), batch_dims=call.integer("batch_dims")
    )
    return call.at.op(op)


@converts("gather_along_axis")
def gather_along_axis(call: Call) -> Value:
    """The element at an index along an axis, for each position of the indices."""
    return call.at.op(graph.GatherElementsOp(call.tensor().ssa, call.tensor("indices").ssa, call.axis()))


@converts("gather_nd")
def gather_nd(call: Call) -> Value:
    """Slices at positions of several axes."""
    batch = call.integer("batch_dims")
    return call.at.op(graph.GatherNdOp(call.tensor().ssa, call.tensor("indices").ssa, batch_dims=batch))


def _combination(call: Call) -> str:
    if (mode := call.text("mode")) not in _COMBINATIONS:
        raise call.unsupported(f"the mode {mode!r}")
    return _COMBINATIONS[mode]


@converts("scatter")
def scatter(call: Call) -> Value:
    """A tensor whose slices at indices along an axis are replaced by updates, or combined with them."""
    x, indices, updates = call.tensor("data"), call.tensor("indices"), call.tensor("updates")
    axis = call.axis(x.rank)
    order = [axis, *(i for i in range(x.rank) if i != axis)]
    back = [order.index(i) for i in range(x.rank)]
    moved = updates.transpose(
        [*range(axis, axis + indices.rank), *range(axis), *range(axis + indices.rank, updates.rank)]
    )
    op = graph.ScatterNdOp(
        x.transpose(order).ssa, indices.unsqueeze(indices.rank).ssa, moved.ssa, _combination(call)
    )
    return call.at.op(op).transpose(back)


@converts("scatter_along_axis")
def scatter_along_axis(call: Call) -> Value:
    """A tensor whose elements at indices along an axis are replaced by updates, or combined with them."""
    x = call.tensor("data")
    indices, updates = call.tensor("indices").ssa, call.tensor("updates").ssa
    op = graph.ScatterElementsOp(x.ssa, indices, updates, call.axis(x.rank), _combination(call))
    return call.at.op(op)


@converts("scatter_nd")
def scatter_nd(call: Call) -> Value:
    """A tensor whose slices at positions of several axes are replaced by updates, or combined with them."""
    x, indices, updates = (call.tensor(name).ssa for name in ("data", "indices", "updates"))
    return call.at.op(graph.ScatterNdOp(x, indices, updates, _combination(call)))


@converts("one_hot")
def one_hot(call: Call) -> Value:
    """A value at each index along a new axis, another value elsewhere."""
    indices = call.tensor("indices")
    size = call.tensor("one_hot_vector_size").reshape([1])
    (depth,) = call.sizes_of(size.ssa, "one_hot_vector_size")
    hot = call.at.op(graph.OneHotOp(indices.ssa, depth, call.axis(indices.rank + 1)))
    zero = call.at.number(0, call.element)
    on, off = call.scalar("on_value", 1, zero), call.scalar("off_value", 0, zero)
    return call.at.where(hot.cast(i1), on, off)
