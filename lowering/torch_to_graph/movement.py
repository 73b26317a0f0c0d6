"""Views and copies: shapes, orders of dimensions, element types."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from stepwell.dialects import graph
from stepwell.lowering.to_graph import Value, pixel_shuffle, pixel_unshuffle
from stepwell.lowering.torch_to_graph.support import Call, converts
from stepwell.runtime.dims import Dim


@converts("view.default", "reshape.default", "_unsafe_view.default", "flatten.using_ints", "unflatten.int")
@converts("view_as.default", "reshape_as.default", "ravel.default")
@converts("atleast_1d.default", "atleast_2d.default", "atleast_3d.default")
def reshaped(call: Call) -> Value:
    """The elements in the shape that the program records."""
    return call.tensor().reshape(call.dims)


@converts("squeeze.default", "squeeze.dim", "squeeze.dims")
def squeeze(call: Call) -> Value:
    """The value without all axes of size 1, or without the named ones of size 1."""
    x = call.tensor()
    title = call.op.SIGNATURE.name
    axes = (
        range(x.rank)
        if title == "aten.squeeze.default"
        else {axis % max(x.rank, 1) for axis in call.integers("dim")}
    )
    dropped = [axis for axis in axes if axis < x.rank and x.dims[axis] == 1]
    return x.squeeze(*dropped)


@converts("unsqueeze.default")
def unsqueeze(call: Call) -> Value:
    """A new dimension of size 1."""
    x = call.tensor()
    return x.unsqueeze(call.axis(rank=x.rank + 1))


@converts("expand.default", "broadcast_to.default", "expand_as.default")
def expand(call: Call) -> Value:
    """Dimensions of size 1 stretched to the shape that the program records."""
    return call.tensor().broadcast_to(call.dims)


@converts("permute.default")
def permute(call: Call) -> Value:
    """The dimensions in another order."""
    x = call.tensor()
    return x.transpose([axis % x.rank for axis in call.integers("dims")])


@converts("transpose.int", "swapaxes.default", "swapdims.default")
def transpose(call: Call) -> Value:
    """Two dimensions exchanged."""
    x = call.tensor()
    names = ("axis0", "axis1") if call.has("axis0") else ("dim0", "dim1")
    return _swapped(x, *(call.axis(name) for name in names))


def _swapped(x: Value, a: int, b: int) -> Value:
    perm = list(range(x.rank))
    if x.rank:
        perm[a], perm[b] = b, a
    return x.transpose(perm)


@converts("t.default", "numpy_T.default")
def t(call: Call) -> Value:
    """The dimensions in the opposite order."""
    x = call.tensor()
    return x.transpose(list(reversed(range(x.rank))))


@converts("mT.default", "mH.default", "adjoint.default", "matrix_H.default")
def matrix_transpose(call: Call) -> Value:
    """The last two dimensions exchanged."""
    return call.tensor().matrix_transpose()


@converts("movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist")
def movedim(call: Call) -> Value:
    """Some dimensions moved to other positions, the others in their order."""
    x = call.tensor()
    sources = [axis % x.rank for axis in call.integers("source")]
    targets = [axis % x.rank for axis in call.integers("destination")]
    others = iter(axis for axis in range(x.rank) if axis not in sources)
    placed = dict(zip(targets, sources, strict=True))
    return x.transpose([placed[axis] if axis in placed else next(others) for axis in range(x.rank)])


@converts("clone.default", "contiguous.default", "detach.default", "alias.default", "lift_fresh_copy.default")
@converts(
    "lift_fresh.default", "lift.default", "positive.default", "resolve_conj.default", "resolve_neg.default"
)
@converts("conj.default", "conj_physical.default", "real.default", "data.default", "cpu.default")
def same(call: Call) -> Value:
    """The value itself."""
    return call.tensor()


@converts("dropout.default", "feature_dropout.default", "alpha_dropout.default", "native_dropout.default")
def dropout(call: Call) -> Value | list[Value | None]:
    """The value itself, in inference."""
    if call.flag("train") and call.number("p") != 0:
        raise call.unsupported("dropout in training", "call .eval() on the module before it is exported")
    x = call.tensor("input")
    return x if len(call.op.results) == 1 else [x, None]


@converts("to.dtype", "to.dtype_layout", "to.device", "to.other", "_to_copy.default", "type_as.default")
def to(call: Call) -> Value:
    """The value in another element type."""
    return cast_to(call.tensor(), call.element)


def cast_to(x: Value, element: Attribute) -> Value:
    """A value in another element type; out-of-range numbers wrap where torch wraps them."""
    if element == x.element:
        return x
    return x.formula.op(graph.CastOp(x.ssa, element, saturate=False))


@converts("select.int")
def select(call: Call) -> Value:
    """The part at one position of an axis, without the axis."""
    x, axis = call.tensor(), call.axis()
    (index,) = call.sizes("index")
    start = index + x.dims[axis] if index.is_static and index.value < 0 else index
    return x.slice(axis, start, start + 1).squeeze(axis)


@converts("slice.Tensor")
def slice_tensor(call: Call) -> Value:
    """Python's slice of one axis."""
    x, axis, step = call.tensor(), call.axis(), call.integer("step")
    start, end = (None if call.value(name) is None else call.sizes(name)[0] for name in ("start", "end"))
    begin, limit = bounds(start, end, x.dims[axis])
    starts, limits, steps = [Dim.of(0)] * x.rank, list(x.dims), [1] * x.rank
    starts[axis], limits[axis], steps[axis] = begin, limit, step
    if (begin, limit, step) == (Dim.of(0), x.dims[axis], 1):
        return x
    return call.at.op(graph.SliceOp(x.ssa, starts, limits, steps))


def bounds(start: Dim | None, end: Dim | None, size: Dim) -> tuple[Dim, Dim]:
    """The bounds of Python's slice inside a dimension: counted from its end if negative, and clamped."""

    def inside(bound: Dim | None, default: Dim) -> Dim:
        if bound is None:
            return default
        if bound.is_static and bound.value < 0:
            bound = (bound + size).maximum(Dim.of(0))
        if bound.is_static and bound.value >= 1 << 62:
            return size
        return bound.minimum(size)

    begin = inside(start, Dim.of(0))
    return begin, inside(end, size).maximum(begin)


@converts("narrow.default")
def narrow(call: Call) -> Value:
    """The part of some length from a position of an axis on."""
    x, axis = call.tensor(), call.axis()
    (start,), (length,) = call.sizes("start"), call.sizes("length")
    return x.slice(axis, start, start + length)


@converts("repeat.default", "tile.default")
def repeat(call: Call) -> Value:
    """Copies of the value along each axis."""
    x = call.tensor()
    counts = list(call.sizes("repeats" if call.has("repeats") else "dims"))
    counts = [Dim.of(1)] * (x.rank - len(counts)) + counts
    x = x.reshape([Dim.of(1)] * (len(counts) - x.rank) + list(x.dims))
    return x if all(count == 1 for count in counts) else call.at.op(graph.TileOp(x.ssa, counts))


@converts("flip.default", "fliplr.default", "flipud.default")
def flip(call: Call) -> Value:
    """The elements along some axes in the opposite order."""
    x = call.tensor()
    title = call.op.SIGNATURE.name
    axes = [1] if "fliplr" in title else [0] if "flipud" in title else list(call.integers("dims"))
    return call.at.op(graph.ReverseOp(x.ssa, sorted(axis % x.rank for axis in axes))) if axes else x


@converts("roll.default")
def roll(call: Call) -> Value:
    """The elements moved along axes; those that leave at the end come in at the front."""
    x, dims = call.tensor(), x_dims(call)
    if not dims:
        flat = x.reshape([prod_of(x.dims)])
        return _rolled(flat, 0, call.sizes("shifts")[0], call).reshape(x.dims)
    for axis, shift in zip(dims, call.sizes("shifts"), strict=True):
        x = _rolled(x, axis % x.rank, shift, call)
    return x


def x_dims(call: Call) -> Sequence[int]:
    """The axes of a call; none for an empty list."""
    return call.integers("dims") if call.value("dims") else ()


def prod_of(dims: Sequence[Dim]) -> Dim:
    """The number of elements."""
    return prod(dims, start=Dim.of(1))


def _rolled(x: Value, axis: int, shift: Dim, call: Call) -> Value:
    size = x.dims[axis]
    if shift.is_static and size.is_static:
        cut = size - Dim.of(shift.value % max(size.value, 1))
    else:
        cut = size - shift if not shift.is_static or shift.value > 0 else -shift
    if cut in (Dim.of(0), size):
        return x
    return call.at.concat([x.slice(axis, cut, size), x.slice(axis, 0, cut)], axis)


@converts("pixel_shuffle.default")
def shuffle(call: Call) -> Value:
    """Groups of channels as finer feature maps."""
    return pixel_shuffle(call.tensor(), call.integer("upscale_factor"))


@converts("pixel_unshuffle.default")
def unshuffle(call: Call) -> Value:
    """Blocks of pixels as channels."""
    return pixel_unshuffle(call.tensor(), call.integer("downscale_factor"))


@converts("channel_shuffle.default", "native_channel_shuffle.default")
def channel_shuffle(call: Call) -> Value:
    """The channels of groups, one after the other."""
    x, groups = call.tensor(), call.integer("groups")
    parts = [x.dims[0], groups, x.dims[1] // groups, *x.dims[2:]]
    return x.reshape(parts).transpose([0, 2, 1, *range(3, x.rank + 1)]).reshape(x.dims)


@converts("unfold.default")
def unfold(call: Call) -> Value:
    """Windows along an axis, as a last dimension."""
    x = call.tensor()
    if x.rank == 0:
        return x.reshape(call.dims)
    axis = call.axis("dimension")
    size, step = call.integer("size"), call.integer("step")
    count = call.dims[axis]
    starts = call.at.iota(count, i64) * step
    positions = starts.unsqueeze(1) + call.at.iota(size, i64)
    gathered = x.gather(positions, axis)
    return gathered.transpose([*(i for i in range(gathered.rank) if i != axis + 1), axis + 1])


@converts("as_strided.default")
def as_strided(call: Call) -> Value:
    """A view by strides of the whole value, its dimensions in any order."""
    x = call.tensor()
    sizes, strides = call.sizes("size"), call.sizes("stride")
    if call.value("storage_offset") not in (None, 0) or prod_of(sizes) != prod_of(x.dims):
        raise call.unsupported("a view of a part, by strides")
    order = sorted(range(len(sizes)), key=lambda i: -_static(strides[i], call))
    step = Dim.of(1)
    for axis in reversed(order):
        if sizes[axis] != 1 and strides[axis] != step:
            raise call.unsupported("a view by strides that are not those of a transpose")
        step = step * sizes[axis]
    inverse = [order.index(axis) for axis in range(len(sizes))]
    return x.reshape([sizes[axis] for axis in order]).transpose(inverse)


def _static(dim: Dim, call: Call) -> int:
    if not dim.is_static:
        raise call.unsupported(f"a view by the open stride {dim}")
    return dim.value
