"""Gathers and scatters at positions that are data."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_bool
from stepwell.lowering.stablehlo_to_graph.support import Call, converts, product
from stepwell.lowering.to_graph import Value
from stepwell.runtime.dims import Dim

_COMBINES = {"none": "none", "add": "add", "mul": "mul", "max": "max", "min": "min"}


def _positions(
    call: Call, indices: Value, batching: Sequence[int], dims: Sequence[Dim]
) -> tuple[list[Value], list[Dim]]:
    """
    The positions along each mapped dimension, one array of all places each, and the shape of the places.

    Dimensions of batches, `batching` of the indices, are positions of their own, after the others.
    """
    axis = call.integer("index_vector_dim")
    if axis == indices.rank:
        indices = indices.unsqueeze(axis)
    order = [i for i in range(indices.rank) if i != axis]
    places = [indices.dims[i] for i in order]
    vectors = indices.transpose([*order, axis]).cast(i64)
    columns = [
        vectors.slice(vectors.rank - 1, i, i + 1).reshape(places) for i in range(indices.dims[axis].value)
    ]
    for each in batching:
        own = order.index(each)
        columns.append(call.at.op(graph.IotaOp(places, own, i64)))
    return columns, places


@converts("gather")
def gather(call: Call) -> Value:
    """Slices at positions, which are moved so that each slice is inside."""
    x, sizes = call.tensor(), call.integers("slice_sizes")
    batched = call.integers("operand_batching_dims")
    mapped = [*call.integers("start_index_map"), *batched]
    columns, places = _positions(
        call, call.tensor("indices"), call.integers("start_indices_batching_dims"), x.dims
    )
    rest = [axis for axis in range(x.rank) if axis not in mapped]
    if any(sizes[axis] != 1 for axis in mapped) and len(mapped) > 1:
        raise call.unsupported(f"slices of {list(sizes)} at positions of several dimensions")
    if any(x.dims[axis] != sizes[axis] for axis in rest):
        raise call.unsupported(f"slices of {list(sizes)} of {', '.join(map(str, x.dims))}")
    columns = [
        column.maximum(0).minimum(call.at.extent(x.dims[axis] - sizes[axis], i64))
        for column, axis in zip(columns, mapped, strict=True)
    ]
    window = sizes[mapped[0]] if len(mapped) == 1 else 1
    flat = x.transpose([*mapped, *rest]).reshape(
        [product([x.dims[axis] for axis in mapped]), *(x.dims[axis] for axis in rest)]
    )
    at = _linear(call, columns, [x.dims[axis] for axis in mapped])
    if window != 1:
        at = at.unsqueeze(at.rank) + call.at.iota(window, i64)
    taken = flat.gather(at, 0)
    return _placed(call, taken, places, mapped, rest, window)


def _placed(
    call: Call, taken: Value, places: Sequence[Dim], mapped: Sequence[int], rest: Sequence[int], window: int
) -> Value:
    """Slices [places, window?, rest] with the dimensions where the program wants them."""
    collapsed = {*call.integers("collapsed_slice_dims"), *call.integers("operand_batching_dims")}
    sizes = call.integers("slice_sizes")
    kept = [axis for axis in range(len(sizes)) if axis not in collapsed]
    count = len(places)
    if window == 1:
        dims = iter(taken.dims[count:])
        own = {axis: next(dims) for axis in rest}
        taken = taken.reshape([*places, *(own.get(axis, Dim.of(1)) for axis in kept)])
    else:
        stored = [mapped[0], *rest]
        taken = taken.transpose([*range(count), *(count + stored.index(axis) for axis in kept)])
    offsets = call.integers("offset_dims")
    outer, inner = iter(range(count)), iter(range(count, taken.rank))
    return taken.transpose([next(inner) if i in offsets else next(outer) for i in range(taken.rank)])


def _linear(call: Call, columns: Sequence[Value], dims: Sequence[Dim]) -> Value:
    """Positions of several dimensions as positions of one that has them all."""
    result = columns[0]
    for column, dim in zip(columns[1:], dims[1:], strict=True):
        result = result * call.at.extent(dim, i64) + column
    return result


@converts("scatter")
def scatter(call: Call) -> Value:
    """Slices combined with those at positions; what is outside is left out."""
    x, updates, kind = call.tensor(), call.tensor("updates"), str(call.value("kind"))
    if is_bool(x.element) and kind in ("or", "and"):
        kind = "max" if kind == "or" else "min"
    if kind not in _COMBINES:
        raise call.unsupported(f"a scatter by {kind}")
    batched = call.integers("input_batching_dims")
    mapped = [*call.integers("scatter_dims_to_operand_dims"), *batched]
    columns, places = _positions(
        call, call.tensor("indices"), call.integers("scatter_indices_batching_dims"), x.dims
    )
    rest = [axis for axis in range(x.rank) if axis not in mapped]
    windows = call.integers("update_window_dims")
    inserted = {*call.integers("inserted_window_dims"), *batched}
    kept = [axis for axis in range(x.rank) if axis not in inserted]
    if {*mapped} & {*kept} and any(
        updates.dims[windows[kept.index(axis)]] != 1 for axis in mapped if axis in kept
    ):
        raise call.unsupported("windows along a dimension with positions")
    outer = [axis for axis in range(updates.rank) if axis not in windows]
    inner = [windows[kept.index(axis)] for axis in rest]
    extra = [windows[kept.index(axis)] for axis in kept if axis in mapped]
    if any(updates.dims[a] != x.dims[b] for a, b in zip(inner, rest, strict=True)):
        raise call.unsupported("windows that are a part of a dimension")
    moved = updates.transpose([*outer, *extra, *inner])
    return _scattered(call, x, (mapped, rest), (columns, places), moved, kind)


def _scattered(
    call: Call,
    x: Value,
    axes: tuple[Sequence[int], Sequence[int]],
    positions: tuple[Sequence[Value], Sequence[Dim]],
    updates: Value,
    kind: str,
) -> Value:
    """A scatter into rows [mapped, rest], with one more row for what is outside."""
    mapped, rest = axes
    columns, places = positions
    sizes, inner = [x.dims[axis] for axis in mapped], [x.dims[axis] for axis in rest]
    count = product(sizes)
    is_inside = None
    for column, size in zip(columns, sizes, strict=True):
        fits = (column >= 0) & (column < call.at.extent(size, i64))
        is_inside = fits if is_inside is None else is_inside & fits
    at = _linear(call, columns, sizes)
    assert is_inside is not None
    at = call.at.where(is_inside, at, at * 0 + call.at.extent(count, i64))
    order = [*mapped, *rest]
    flat = x.transpose(order).reshape([count, *inner])
    wide = call.at.op(graph.PadOp(flat.ssa, _one_more_row(flat.rank), "constant"))
    total = product(places)
    values = updates.reshape([total, *inner])
    made = call.at.op(graph.ScatterNdOp(wide.ssa, at.reshape([total, 1]).ssa, values.ssa, _COMBINES[kind]))
    back = made.slice(0, 0, count).reshape([*sizes, *inner])
    return back.transpose([order.index(axis) for axis in range(x.rank)])


def _one_more_row(rank: int) -> list[Dim]:
    pads = [Dim.of(0)] * (2 * rank)
    pads[rank] = Dim.of(1)
    return pads
