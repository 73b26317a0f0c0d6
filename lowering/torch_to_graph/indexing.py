"""Reading at indices."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import broadcast, is_bool
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.movement import bounds, prod_of
from stepwell.lowering.torch_to_graph.norm import norm_of
from stepwell.lowering.torch_to_graph.promotion import rounded_once
from stepwell.lowering.torch_to_graph.selection import true_positions
from stepwell.lowering.torch_to_graph.support import Call, converts
from stepwell.runtime.dims import Dim


@converts("embedding.default")
def embedding(call: Call) -> Value:
    """The rows of a table at indices."""
    return call.at.op(graph.GatherOp(call.tensor("weight").ssa, call.tensor("indices").ssa, 0))


@converts("embedding_renorm.default")
@rounded_once
def embedding_renorm(call: Call) -> Value:
    """A table whose rows at indices are scaled down to a norm, where theirs is greater."""
    table, indices, bound = call.tensor(), call.tensor("indices"), call.number("max_norm")
    norm = norm_of(table, call.number("norm_type"), [1], keep_dims=True)
    rows = indices.reshape([prod_of(indices.dims)])
    at, shape = call.at, [table.dims[0], Dim.of(1)]
    ones = at.full(1, rows.dims, table.element)
    none = at.full(0, shape[:1], table.element)
    named = at.op(graph.ScatterElementsOp(none.ssa, rows.ssa, ones.ssa, 0)).reshape(shape) > 0
    return at.where(named & (norm > bound), table * (bound / (norm + 1e-7)), table)


@converts("index_select.default")
def index_select(call: Call) -> Value:
    """The slices at indices of one axis."""
    x, indices = call.tensor(), call.tensor("index")
    if x.rank == 0:
        return x
    return call.at.op(graph.GatherOp(x.ssa, indices.reshape([prod_of(indices.dims)]).ssa, call.axis()))


@converts("gather.default", "take_along_dim.default")
def gather(call: Call) -> Value:
    """An element for each index, from the same place but for one axis."""
    x, indices = call.tensor(), call.tensor("index" if call.has("index") else "indices")
    if call.has("indices"):
        if call.value("dim") is None:
            return _take(call, x, indices)
        shape = broadcast([x.dims, indices.dims])
        axis = call.axis()
        x = x.broadcast_to([*shape[:axis], x.dims[axis], *shape[axis + 1 :]])
        indices = indices.broadcast_to([*shape[:axis], indices.dims[axis], *shape[axis + 1 :]])
    if x.rank == 0:
        return x.broadcast_to(indices.dims)
    if indices.rank == 0:
        indices = indices.reshape([1])
    for axis, (own, wanted) in enumerate(zip(x.dims, indices.dims, strict=True)):
        if axis != call.axis() and own != wanted:
            x = x.slice(axis, 0, wanted)
    return call.at.op(graph.GatherElementsOp(x.ssa, indices.ssa, call.axis())).reshape(call.dims)


@converts("take.default")
def take(call: Call) -> Value:
    """The elements at indices into the flattened value."""
    return _take(call, call.tensor(), call.tensor("index"))


def _take(call: Call, x: Value, indices: Value) -> Value:
    return call.at.op(graph.GatherOp(x.reshape([prod_of(x.dims)]).ssa, indices.ssa, 0)).reshape(call.dims)


@converts("masked_select.default")
def masked_select(call: Call) -> Value:
    """The elements where a mask is true, in order."""
    x, mask = _broadcast_pair(call)
    (positions,) = true_positions(call, mask.reshape([prod_of(mask.dims)]))
    return call.at.op(graph.GatherOp(x.reshape([prod_of(x.dims)]).ssa, positions.ssa, 0))


@converts("masked_scatter.default")
def masked_scatter(call: Call) -> Value:
    """A copy with the elements where a mask is true replaced by those of another tensor, in order."""
    (x, mask), source = _broadcast_pair(call), call.tensor("source")
    flags = mask.reshape([prod_of(mask.dims)]).cast(i64)
    number = (call.at.op(graph.ScanOp(flags.ssa, "sum", 0)) - 1).maximum(0)
    count = prod_of(source.dims)
    number = number.minimum(call.at.extent(count, i64) - 1)
    picked = call.at.op(graph.GatherOp(source.reshape([count]).ssa, number.ssa, 0))
    return call.at.where(mask, picked.reshape(x.dims), x)


def _broadcast_pair(call: Call) -> tuple[Value, Value]:
    """A value and its mask in the shape of both."""
    x, mask = call.tensor(), call.tensor("mask")
    shape = broadcast([x.dims, mask.dims])
    return x.broadcast_to(shape), mask.broadcast_to(shape)


@converts("index.Tensor", "_unsafe_index.Tensor")
def index(call: Call) -> Value:
    """
    The elements at indices of some axes, which broadcast.

    The indexed dimensions stay where they are if the axes are neighbours, else they come first.
    """
    x, indices = spread_masks(call, call.tensor())
    axes = [axis for axis, each in enumerate(indices) if each is not None]
    given = [each for each in indices if each is not None]
    if len(given) == 1:
        return call.at.op(graph.GatherOp(x.ssa, given[0].ssa, axes[0]))
    flat, positions, others = flattened(x, axes, given)
    picked = call.at.op(graph.GatherOp(flat.ssa, positions.ssa, 0))
    if axes != list(range(axes[0], axes[-1] + 1)):
        return picked
    rank = positions.rank
    front = len([axis for axis in others if axis < axes[0]])
    return picked.transpose([*range(rank, rank + front), *range(rank), *range(rank + front, picked.rank)])


def spread_masks(call: Call, x: Value) -> tuple[Value, list[Value | None]]:
    """The indices of a call by axis; a mask is the positions of its true elements, an index an axis."""
    indices: list[Value | None] = []
    for each in call.op.tensors("indices"):
        if each is None:
            indices.append(None)
            continue
        value = call.at.value(each)
        if is_bool(value.element):
            positions = true_positions(call, value)
            indices += positions
        else:
            indices.append(value.cast(i64))
    return x, indices


def flattened(x: Value, axes: Sequence[int], indices: Sequence[Value]) -> tuple[Value, Value, Sequence[int]]:
    """
    A value with some axes first, joined, and the positions along them by indices.

    Negative indices count from the end of their own axis.
    Returns: the value, the positions in the shape to which the indices broadcast, the other axes.
    """
    others = [axis for axis in range(x.rank) if axis not in axes]
    moved = x.transpose([*axes, *others])
    sizes = [x.dims[axis] for axis in axes]
    flat = moved.reshape([prod_of(sizes), *(x.dims[axis] for axis in others)])
    shape = broadcast([each.dims for each in indices])
    positions: Value | None = None
    for each, size in zip(indices, sizes, strict=True):
        extent = x.formula.extent(size, i64)
        wrapped = x.formula.where(each < 0, each + extent, each)
        positions = wrapped if positions is None else positions * extent + wrapped
    assert positions is not None
    return flat, positions.broadcast_to(shape), others


@converts("select_scatter.default", "slice_scatter.default")
def insert(call: Call) -> Value:
    """A copy with a part replaced."""
    x, part, axis = call.tensor(), call.tensor("src").cast(call.element), call.axis()
    if call.has("index"):
        (start,) = call.sizes("index")
        start = start + x.dims[axis] if start.is_static and start.value < 0 else start
        part = part.unsqueeze(axis)
    else:
        first, last = (None if call.value(n) is None else call.sizes(n)[0] for n in ("start", "end"))
        start, _ = bounds(first, last, x.dims[axis])
        if call.integer("step") != 1:
            raise call.unsupported("a step other than 1")
    offsets = [Dim.of(0)] * x.rank
    offsets[axis] = start
    wanted = [part.dims[axis] if i == axis else dim for i, dim in enumerate(x.dims)]
    return call.at.op(graph.InsertSliceOp(x.ssa, part.broadcast_to(wanted).ssa, offsets))
