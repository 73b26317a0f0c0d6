"""Shapes and orders of elements: reshapes, transposes, pads, copies."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.dialects import graph
from stepwell.lowering.mxnet_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value, size_of
from stepwell.runtime.dims import Dim

_KEEP, _INFER, _REST, _JOIN, _PART = 0, -1, -2, -3, -4
"""Codes of a reshape: the size of the axis; what is left; all further axes; two axes as one; one as two."""


@converts("Reshape")
def reshape(call: Call) -> Value:
    """The elements in another shape, by sizes and codes."""
    x, codes = call.tensor(), list(call.integers("shape"))
    if call.flag("reverse"):
        raise call.unsupported("a shape that is read from its end")
    return call.reshaped_to(x, _shape(call, x.dims, codes))


def _shape(call: Call, dims: Sequence[Dim], codes: list[int]) -> list[Dim]:
    """The sizes that codes stand for, of which one may be -1."""
    left, sizes = list(dims), list[Dim]()
    while codes:
        code = codes.pop(0)
        needed = {_KEEP: 1, _JOIN: 2, _PART: 1}.get(code, 0)
        if len(left) < needed or code < _PART or (code == _PART and len(codes) < 2):
            raise call.invalid(f"the code {code} where {len(left)} axes are left")
        if code == _KEEP:
            sizes.append(left.pop(0))
        elif code == _REST:
            sizes, left = [*sizes, *left], []
        elif code == _JOIN:
            sizes.append(left.pop(0) * left.pop(0))
        elif code == _PART:
            sizes += _halves(left.pop(0), codes.pop(0), codes.pop(0))
        else:
            left = left[1:]
            sizes.append(Dim.of(code))
    return sizes


def _halves(whole: Dim, first: int, second: int) -> list[Dim]:
    """An axis as two, one of which may be -1."""
    if first == _INFER:
        return [whole // second, Dim.of(second)]
    return [Dim.of(first), whole // first if second == _INFER else Dim.of(second)]


@converts("Flatten")
def flatten(call: Call) -> Value:
    """All axes but the first as one."""
    x = call.tensor()
    return x.reshape([x.dims[0], size_of(x.dims[1:])])


@converts("squeeze")
def squeeze(call: Call) -> Value:
    """Without some dimensions of size 1, or without all."""
    x = call.tensor()
    axes = call.checked_axes(call.integers("axis"), x.rank) or [i for i, dim in enumerate(x.dims) if dim == 1]
    return call.at.op(graph.SqueezeOp(x.ssa, axes)) if axes else x


@converts("expand_dims")
def expand_dims(call: Call) -> Value:
    """A new dimension of size 1."""
    x = call.tensor()
    return x.unsqueeze(call.axis(x.rank + 1))


@converts("transpose")
def transpose(call: Call) -> Value:
    """The dimensions in another order, or backwards."""
    x = call.tensor()
    order = call.integers("axes") or range(x.rank)[::-1]
    return x.transpose([call.checked_axis(axis, x.rank) for axis in order])


@converts("SwapAxis")
def swap_axis(call: Call) -> Value:
    """Two dimensions in each other's place."""
    x = call.tensor()
    a, b = call.axis(name="dim1"), call.axis(name="dim2")
    order = list(range(x.rank))
    order[a], order[b] = b, a
    return x.transpose(order)


@converts("Concat")
def concat(call: Call) -> Value:
    """Values joined along an axis."""
    parts = call.tensors("data")
    if not parts:
        raise call.invalid("no values")
    return call.at.concat(parts, call.axis(parts[0].rank, "dim"))


@converts("stack")
def stack(call: Call) -> Value:
    """Values joined along a new axis."""
    parts = call.tensors("args")
    if not parts:
        raise call.invalid("no values")
    axis = call.axis(parts[0].rank + 1)
    return call.at.concat([part.unsqueeze(axis) for part in parts], axis)


@converts("SliceChannel")
def slice_channel(call: Call) -> list[Value | None]:
    """Equal parts along an axis, which may go."""
    x, axis, count = call.tensor(), call.axis(), len(call.op.results)
    size = x.dims[axis] // count
    parts = [x.slice(axis, size * i, size * (i + 1)) for i in range(count)]
    if call.flag("squeeze_axis"):
        return [call.at.op(graph.SqueezeOp(part.ssa, [axis])) for part in parts]
    return list(parts)


@converts("tile")
def tile(call: Call) -> Value:
    """Copies along each axis."""
    x, counts = call.tensor(), call.integers("reps")
    x = x.unsqueeze(*range(len(counts) - x.rank)) if len(counts) > x.rank else x
    whole = [*[1] * (x.rank - len(counts)), *counts]
    return call.at.op(graph.TileOp(x.ssa, list(map(Dim.of, whole))))


@converts("repeat")
def repeat(call: Call) -> Value:
    """Each element along an axis several times."""
    x, axis, count = call.tensor(), call.axis(), call.integer("repeats")
    if count < 1:
        raise call.invalid(f"`repeats` must be positive, found {count}")
    wide = x.unsqueeze(axis + 1)
    copies = wide.broadcast_to([*x.dims[: axis + 1], Dim.of(count), *x.dims[axis + 1 :]])
    return copies.reshape([*x.dims[:axis], x.dims[axis] * count, *x.dims[axis + 1 :]])


@converts("reverse")
def reverse(call: Call) -> Value:
    """The elements along some axes in the opposite order."""
    x = call.tensor()
    return call.at.op(graph.ReverseOp(x.ssa, call.checked_axes(call.integers("axis"), x.rank)))


@converts("broadcast_axis")
def broadcast_axis(call: Call) -> Value:
    """Some axes of size 1 at larger sizes."""
    x, sizes = call.tensor(), call.integers("size")
    wanted = list(x.dims)
    for axis, size in zip(call.integers("axis"), sizes, strict=True):
        wanted[call.checked_axis(axis, x.rank)] = Dim.of(size)
    return x.broadcast_to(wanted)


@converts("Pad")
def pad(call: Call) -> Value:
    """Elements around a tensor: of one number, of the edge, or mirrored."""
    x, around = call.tensor(), call.integers("pad_width")
    modes = {"constant": "constant", "edge": "edge", "reflect": "reflect"}
    if (mode := call.text("mode")) not in modes or len(around) != 2 * x.rank:
        raise call.unsupported(f"the mode {mode!r} and {len(around)} pads of rank {x.rank}")
    filler = call.at.number(call.number("constant_value"), x.element).ssa if mode == "constant" else None
    pads = list(map(Dim.of, [*around[::2], *around[1::2]]))
    return call.at.op(graph.PadOp(x.ssa, pads, modes[mode], filler))
