"""Elements at positions that are data."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64

from stepwell.dialects import graph
from stepwell.lowering.tflite_to_graph.support import Call, converts, on_codes
from stepwell.lowering.to_graph import Value, bounds_of, wrapped
from stepwell.runtime.dims import Dim


@converts("gather")
def gather(call: Call) -> Value:
    """Slices at indices along an axis."""
    x, indices = call.tensor(), call.codes("indices")
    batch = call.integer("batch_dims")
    batch_dims = batch + indices.rank if batch < 0 else batch
    return x.gather(indices, call.axis(), batch_dims=batch_dims)


@converts("gather_nd")
def gather_nd(call: Call) -> Value:
    """Slices at positions of several axes."""
    return call.at.op(graph.GatherNdOp(call.tensor().ssa, call.codes("indices").ssa))


@converts("embedding_lookup")
def embedding_lookup(call: Call) -> Value:
    """Rows of a table."""
    return call.tensor("table").gather(call.codes("ids"), 0)


@converts("one_hot")
def one_hot(call: Call) -> Value:
    """A value at each index along a new axis, another value elsewhere."""
    indices = call.codes("indices")
    (depth,) = call.operand_sizes("depth")
    axis = call.axis(rank=indices.rank + 1)
    hot = call.at.op(graph.OneHotOp(indices.ssa, depth, axis))
    return call.at.where(hot, call.tensor("on").reshape([]), call.tensor("off").reshape([]))


@converts("scatter_nd")
def scatter_nd(call: Call) -> Value:
    """Sums of slices at positions, in zeros."""
    updates = call.tensor("updates")
    full = call.at.full(0, call.operand_sizes("shape"), updates.element)
    return call.at.op(graph.ScatterNdOp(full.ssa, call.codes("indices").ssa, updates.ssa, "add"))


@converts("sparse_to_dense")
def sparse_to_dense(call: Call) -> Value:
    """Values at positions, in a tensor of one number."""
    values, shape = call.tensor("values"), call.operand_sizes("shape")
    indices = call.codes("indices")
    if indices.rank < 2:
        indices = indices.reshape([indices.dims[0] if indices.rank else 1, 1])
    count = indices.dims[0]
    updates = values.broadcast_to([count]) if values.rank == 0 else values
    full = call.at.op(graph.FullOp(call.tensor("filler").reshape([]).ssa, shape))
    return call.at.op(graph.ScatterNdOp(full.ssa, indices.ssa, updates.ssa))


@converts("dynamic_update_slice")
def dynamic_update_slice(call: Call) -> Value:
    """A part overwritten from positions on, which are moved so that the part is inside."""
    x, update, starts = call.tensor(), call.tensor("update"), call.codes("starts")
    room = [dim - part for dim, part in zip(x.dims, update.dims, strict=True)]
    if not all(each.is_static for each in room):
        raise call.unsupported("a part of an open size")
    most = call.at.array([each.value for each in room], i64)
    offsets = starts.cast(i64).clip(0, most)
    return call.at.op(graph.InsertSliceOp(x.ssa, update.ssa, offsets.ssa))


@converts("strided_slice")
def strided_slice(call: Call) -> Value:
    """Python's slices of the axes, with masks for bounds that are left out, new axes, and axes that go."""
    x = call.tensor()
    begins, ends = call.positions("begin"), call.positions("end")
    steps = call.operand_sizes("strides")
    masks = {
        name: call.integer(f"{name}_mask") for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    starts, limits, strides = [Dim.of(0)] * x.rank, list(x.dims), [1] * x.rank
    kept: list[Dim | None] = []
    """The dimensions of the result: None for the next one of the slice."""
    axis = 0
    has_ellipsis = masks["ellipsis"] != 0
    consumed = sum(
        not _bit(masks["new_axis"], i) and not _bit(masks["ellipsis"], i) for i in range(len(begins))
    )
    dropped: set[int] = set()
    for position in range(len(begins)):
        if _bit(masks["ellipsis"], position):
            skipped = x.rank - consumed
            kept += [None] * skipped
            axis += skipped
        elif _bit(masks["new_axis"], position):
            kept.append(Dim.of(1))
        else:
            step = steps[position].value if steps[position].is_static else 0
            if step == 0:
                raise call.unsupported(f"the step {steps[position]}")
            if _bit(masks["shrink_axis"], position):
                start = wrapped(begins[position], x.dims[axis])
                starts[axis], limits[axis] = start, start + 1
                dropped.add(axis)
            else:
                begin = None if _bit(masks["begin"], position) else begins[position]
                end = None if _bit(masks["end"], position) else ends[position]
                if call.flag("offset") and end is not None:
                    end = begins[position] + end
                starts[axis], limits[axis] = bounds_of(begin, end, x.dims[axis], step)
                kept.append(None)
            strides[axis] = step if axis not in dropped else 1
            axis += 1
    if not has_ellipsis:
        kept += [None] * (x.rank - axis)
    return _reshaped(call.at.op(graph.SliceOp(x.ssa, starts, limits, strides)), kept, dropped)


def _bit(mask: int, position: int) -> bool:
    return bool(mask >> position & 1)


def _reshaped(sliced: Value, kept: Sequence[Dim | None], dropped: set[int]) -> Value:
    """A slice with new axes, and without the dropped ones."""
    dims = iter([dim for axis, dim in enumerate(sliced.dims) if axis not in dropped])
    return sliced.reshape([next(dims) if dim is None else dim for dim in kept])


on_codes("gather gather_nd embedding_lookup one_hot sparse_to_dense dynamic_update_slice strided_slice")
