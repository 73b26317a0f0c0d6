"""Gathers and scatters at positions that are data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i64

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_bool
from stepwell.lowering.stablehlo_to_graph.support import Call, converts, product
from stepwell.lowering.to_graph import Value
from stepwell.runtime.dims import Dim

_COMBINES = ("none", "add", "mul", "max", "min")


@dataclass(frozen=True)
class Windows:
    """
    The windows of a tensor at places: the axes with positions, each with an array of one for each place.

    An axis of which a window has a part only has positions, too: zeros, unless the program gives others.
    """

    call: Call
    x: Value
    sizes: Sequence[Dim]
    """The size of a window along each axis."""
    columns: Mapping[int, Value]
    """The positions by axis."""
    places: Sequence[Dim]

    @property
    def wide(self) -> list[int]:
        """The axes with positions along which a window has more than one element."""
        return [axis for axis in self.columns if self.sizes[axis] != 1]

    @property
    def whole(self) -> list[int]:
        """The axes that windows have from end to end."""
        return [axis for axis in range(self.x.rank) if axis not in self.columns]

    @property
    def extents(self) -> list[Dim]:
        """The dimensions with positions."""
        return [self.x.dims[axis] for axis in self.columns]

    def rows(self) -> Value:
        """The tensor as rows: all axes with positions as the first one, then the whole ones."""
        inner = [self.x.dims[axis] for axis in self.whole]
        return self.x.transpose([*self.columns, *self.whole]).reshape([product(self.extents), *inner])

    def numbers(self) -> Value:
        """The numbers of the rows of all windows, in the shape of the places and then the wide axes."""
        result: Value | None = None
        for axis, column in self.columns.items():
            at = column.reshape([*self.places, *[1] * len(self.wide)])
            if axis in self.wide:
                size, after = self.sizes[axis], len(self.wide) - self.wide.index(axis) - 1
                at = at + self.call.at.iota(size, i64).reshape([size, *[1] * after])
            result = at if result is None else result * self.call.at.extent(self.x.dims[axis], i64) + at
        assert result is not None
        return result.broadcast_to([*self.places, *(self.sizes[axis] for axis in self.wide)])

    def last_start(self, axis: int) -> Value:
        """The greatest position along an axis at which a window is inside."""
        return self.call.at.extent(self.x.dims[axis] - self.sizes[axis], i64)


def _columns(
    call: Call, indexed: Sequence[int], batched: tuple[Sequence[int], Sequence[int]]
) -> tuple[dict[int, Value], list[Dim]]:
    """
    The positions by axis, and the dimensions of the indexed locations.

    Args: `indexed` are the tensor's axes for the components of an index; `batched` are pairs of axes of the
    tensor and of the indices, along which both have the same position.
    """
    indices, axis = call.tensor("indices"), call.integer("index_vector_dim")
    if axis == indices.rank:
        indices = indices.unsqueeze(axis)
    order = [i for i in range(indices.rank) if i != axis]
    places = [indices.dims[i] for i in order]
    vectors = indices.transpose([*order, axis]).cast(i64)
    last = vectors.rank - 1
    columns = {own: vectors.slice(last, i, i + 1).reshape(places) for i, own in enumerate(indexed)}
    for own, place in zip(*batched, strict=True):
        columns[own] = call.at.op(graph.IotaOp(places, order.index(place), i64))
    return columns, places


def _windows(
    call: Call, x: Value, sizes: Sequence[Dim], columns: dict[int, Value], places: Sequence[Dim]
) -> Windows:
    """Windows of some sizes; an axis of which they have a part gets positions."""
    for axis, size in enumerate(sizes):
        if axis not in columns and x.dims[axis] != size:
            columns[axis] = call.at.full(0, places, i64)
    if not columns:
        columns[0] = call.at.full(0, places, i64)
    return Windows(call, x, sizes, columns, places)


@converts("gather")
def gather(call: Call) -> Value:
    """Windows at positions, which are moved so that each window is inside."""
    x, sizes = call.tensor(), [Dim.of(size) for size in call.integers("slice_sizes")]
    batched = call.integers("operand_batching_dims"), call.integers("start_indices_batching_dims")
    found = _windows(call, x, sizes, *_columns(call, call.integers("start_index_map"), batched))
    inside = {
        axis: column.maximum(0).minimum(found.last_start(axis)) for axis, column in found.columns.items()
    }
    found = Windows(call, x, sizes, inside, found.places)
    taken = found.rows().gather(found.numbers(), 0)
    count, stored = len(found.places), [*found.wide, *found.whole]
    taken = taken.transpose([*range(count), *(count + stored.index(axis) for axis in sorted(stored))])
    dropped = {*call.integers("collapsed_slice_dims"), *batched[0]}
    kept = [sizes[axis] for axis in range(x.rank) if axis not in dropped]
    taken = taken.reshape([*found.places, *kept])
    offsets = call.integers("offset_dims")
    outer, inner = iter(range(count)), iter(range(count, taken.rank))
    return taken.transpose([next(inner) if i in offsets else next(outer) for i in range(taken.rank)])


@converts("scatter")
def scatter(call: Call) -> Value:
    """Windows combined with those at positions; a window that is not inside is left out."""
    x, updates, kind = call.tensor(), call.tensor("updates"), str(call.value("kind"))
    if is_bool(x.element) and kind in ("or", "and"):
        kind = "max" if kind == "or" else "min"
    if kind not in _COMBINES or x.rank == 0:
        raise call.unsupported(f"a scatter by {kind} into {x.ssa.type}")
    batched = call.integers("input_batching_dims"), call.integers("scatter_indices_batching_dims")
    axes, dropped = call.integers("update_window_dims"), {*call.integers("inserted_window_dims"), *batched[0]}
    kept = [axis for axis in range(x.rank) if axis not in dropped]
    own = dict(zip(kept, axes, strict=True))
    sizes = [updates.dims[own[axis]] if axis in own else Dim.of(1) for axis in range(x.rank)]
    indexed = call.integers("scatter_dims_to_operand_dims")
    found = _windows(call, x, sizes, *_columns(call, indexed, batched))
    outer = [axis for axis in range(updates.rank) if axis not in axes]
    inner = [own[axis] for axis in (*found.wide, *found.whole)]
    single = [own[axis] for axis in found.columns if axis in own and axis not in found.wide]
    return _scattered(found, updates.transpose([*outer, *single, *inner]), kind)


def _scattered(found: Windows, updates: Value, kind: str) -> Value:
    """A scatter into rows, with one more row for the windows that are not inside."""
    call, x = found.call, found.x
    is_inside: Value | None = None
    for axis, column in found.columns.items():
        fits = (column >= 0) & (column <= found.last_start(axis))
        is_inside = fits if is_inside is None else is_inside & fits
    assert is_inside is not None
    rows, numbers = found.rows(), found.numbers()
    flags = is_inside.reshape([*found.places, *[1] * len(found.wide)])
    at = call.at.where(flags, numbers, call.at.extent(rows.dims[0], i64))
    pads = [Dim.of(0)] * (2 * rows.rank)
    pads[rows.rank] = Dim.of(1)
    wide = call.at.op(graph.PadOp(rows.ssa, pads, "constant"))
    total = product(at.dims)
    values = updates.reshape([total, *rows.dims[1:]])
    made = call.at.op(graph.ScatterNdOp(wide.ssa, at.reshape([total, 1]).ssa, values.ssa, kind))
    order = [*found.columns, *found.whole]
    back = made.slice(0, 0, rows.dims[0]).reshape([x.dims[axis] for axis in order])
    return back.transpose([order.index(axis) for axis in range(x.rank)])
