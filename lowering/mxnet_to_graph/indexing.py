"""Parts at positions, and elements at positions that are data."""

from __future__ import annotations

from stepwell.dialects import graph
from stepwell.lowering.mxnet_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value, bounds_of
from stepwell.runtime.dims import Dim


def _bounds(call: Call, name: str, rank: int) -> list[int | None]:
    """The numbers of a text such as `(0, None)`, and None for the axes after them."""
    parts = [part.strip() for part in call.text(name).strip("()[] ").split(",") if part.strip()]
    try:
        found = [None if part == "None" else int(part) for part in parts]
    except ValueError:
        raise call.invalid(f"`{name}` must be whole numbers or None, found {call.text(name)!r}") from None
    if len(found) > rank:
        raise call.invalid(f"`{name}` has {len(found)} numbers for {rank} axes")
    return [*found, *[None] * (rank - len(found))]


@converts("slice")
def slice_(call: Call) -> Value:
    """Python's slices of the first axes."""
    x = call.tensor()
    begins, ends, steps = (_bounds(call, name, x.rank) for name in ("begin", "end", "step"))
    starts, limits, strides = list[Dim](), list[Dim](), list[int]()
    for dim, begin, end, step in zip(x.dims, begins, ends, steps, strict=True):
        strides.append(1 if step is None else step)
        if strides[-1] == 0:
            raise call.invalid("a step of 0")
        given = [None if each is None else Dim.of(each) for each in (begin, end)]
        start, limit = bounds_of(given[0], given[1], dim, strides[-1])
        starts.append(start)
        limits.append(limit)
    return call.at.op(graph.SliceOp(x.ssa, starts, limits, strides))


@converts("slice_axis")
def slice_axis(call: Call) -> Value:
    """A part of one axis."""
    x, axis = call.tensor(), call.axis()
    (end, *_) = _bounds(call, "end", 1)
    last = None if end is None else Dim.of(end)
    return x.slice(axis, *bounds_of(Dim.of(call.integer("begin")), last, x.dims[axis], 1))


@converts("take")
def take(call: Call) -> Value:
    """Slices at indices along an axis; one outside takes the nearest."""
    x, mode = call.tensor("a"), call.text("mode")
    if mode not in ("clip", "raise"):
        raise call.unsupported(f"the mode {mode!r}")
    indices, axis = call.indices("indices"), call.axis(x.rank)
    if mode == "clip":
        return x.gather(indices.maximum(0), axis)
    return call.at.op(graph.GatherOp(x.ssa, indices.ssa, axis))


@converts("one_hot")
def one_hot(call: Call) -> Value:
    """A number at each index along a new last axis, another number elsewhere."""
    indices = call.indices("indices")
    hot = call.at.op(graph.OneHotOp(indices.ssa, call.integer("depth"), indices.rank))
    on, off = (call.at.number(call.number(name), call.element) for name in ("on_value", "off_value"))
    return call.at.where(hot, on, off)
