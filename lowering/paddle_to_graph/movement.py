"""Shapes and orders of elements: reshapes, transposes, pads, copies."""

from __future__ import annotations

from stepwell.dialects import graph
from stepwell.lowering.paddle_to_graph.support import Call, alternating, converts
from stepwell.lowering.to_graph import Value, pixel_shuffle, size_of
from stepwell.runtime.dims import Dim


@converts("reshape")
def reshape(call: Call) -> Value:
    """The elements in another shape; 0 keeps the size of the axis."""
    x = call.tensor()
    sizes = [
        x.dims[axis] if size == 0 and axis < x.rank else size
        for axis, size in enumerate(call.operand_sizes("shape"))
    ]
    return call.reshaped_to(x, sizes)


@converts("flatten")
def flatten(call: Call) -> Value:
    """Some axes, one after the other, as one."""
    x = call.tensor()
    if not x.rank:
        return x.reshape([1])
    first, last = call.axis(name="start_axis"), call.axis(name="stop_axis")
    return x.reshape([*x.dims[:first], size_of(x.dims[first : last + 1]), *x.dims[last + 1 :]])


@converts("squeeze")
def squeeze(call: Call) -> Value:
    """Without those of some axes that have size 1, or without all of size 1."""
    x = call.tensor()
    axes = call.operand_axes(x)
    return x.reshape([dim for axis, dim in enumerate(x.dims) if axis not in axes or dim != 1])


@converts("unsqueeze")
def unsqueeze(call: Call) -> Value:
    """New dimensions of size 1, one after the other."""
    x = call.tensor()
    for axis in call.constants("axis"):
        x = x.unsqueeze(call.checked_axis(axis, x.rank + 1))
    return x


@converts("transpose")
def transpose(call: Call) -> Value:
    """The dimensions in another order."""
    x = call.tensor()
    return x.transpose([call.checked_axis(axis, x.rank) for axis in call.integers("perm")])


@converts("concat")
def concat(call: Call) -> Value:
    """Values joined along an axis."""
    parts = call.tensors("x")
    if not parts:
        raise call.invalid("no values")
    return call.at.concat(parts, call.operand_axis(parts[0].rank))


@converts("stack")
def stack(call: Call) -> Value:
    """Values joined along a new axis."""
    parts = call.tensors("x")
    if not parts:
        raise call.invalid("no values")
    axis = call.axis(parts[0].rank + 1)
    return call.at.concat([part.unsqueeze(axis) for part in parts], axis)


@converts("unstack")
def unstack(call: Call) -> list[Value | None]:
    """The parts at each position of an axis, without it."""
    x, axis = call.tensor(), call.axis()
    return [x.at(axis, position) for position in range(len(call.op.results))]


@converts("split_with_num")
def split_with_num(call: Call) -> list[Value | None]:
    """Equal parts along an axis."""
    x, axis, count = call.tensor(), call.operand_axis(), len(call.op.results)
    return _parts(x, axis, [x.dims[axis] // count] * count)


@converts("split")
def split(call: Call) -> list[Value | None]:
    """Parts of given sizes along an axis; one size may be -1."""
    x, axis = call.tensor(), call.operand_axis()
    sizes = list(map(Dim.of, call.constants("sections")))
    if Dim.of(-1) in sizes:
        rest = x.dims[axis]
        for size in sizes:
            rest = rest - (0 if size == -1 else size)
        sizes[sizes.index(Dim.of(-1))] = rest
    return _parts(x, axis, sizes)


def _parts(x: Value, axis: int, sizes: list[Dim]) -> list[Value | None]:
    parts, start = list[Value | None](), Dim.of(0)
    for size in sizes:
        parts.append(x.slice(axis, start, start + size))
        start = start + size
    return parts


@converts("tile")
def tile(call: Call) -> Value:
    """Copies along each axis."""
    x, counts = call.tensor(), call.operand_sizes("repeat_times")
    x = x.unsqueeze(*range(len(counts) - x.rank)) if len(counts) > x.rank else x
    return call.at.op(graph.TileOp(x.ssa, [*[Dim.of(1)] * (x.rank - len(counts)), *counts]))


@converts("expand")
def expand(call: Call) -> Value:
    """A larger shape, in which -1 keeps a size."""
    x, sizes = call.tensor(), list(call.operand_sizes("shape"))
    offset = len(sizes) - x.rank
    wanted = [x.dims[i - offset] if size == -1 and i >= offset else size for i, size in enumerate(sizes)]
    return x.broadcast_to(wanted)


@converts("flip")
def flip(call: Call) -> Value:
    """The elements along some axes in the opposite order."""
    x = call.tensor()
    axes = call.checked_axes(call.integers("axis"), x.rank)
    return call.at.op(graph.ReverseOp(x.ssa, axes)) if axes else x


@converts("roll")
def roll(call: Call) -> Value:
    """The elements along some axes moved on, those at the end to the front."""
    x, shifts, axes = call.tensor(), call.constants("shifts"), call.integers("axis")
    if len(shifts) != len(axes):
        raise call.unsupported("a shift over all elements")
    for shift, given in zip(shifts, axes, strict=True):
        axis = call.checked_axis(given, x.rank)
        size = x.dims[axis]
        if not size.is_static:
            raise call.unsupported(f"a shift of the open size {size}")
        if count := shift % max(size.value, 1):
            cut = size.value - count
            x = call.at.concat([x.slice(axis, cut, size), x.slice(axis, 0, cut)], axis)
    return x


@converts("pad3d")
def pad3d(call: Call) -> Value:
    """Elements around the last three axes, given from the last one on."""
    call.expect_channels_first()
    x, modes = (
        call.tensor(),
        {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"},
    )
    begins, ends = alternating(call.constants("paddings"))
    if (mode := call.text("mode")) not in modes or x.rank != 5 or len(begins) != 3:
        raise call.unsupported(f"the mode {mode!r} and {len(begins)} axes of {x.rank}")
    pads = [0, 0, *begins[::-1], 0, 0, *ends[::-1]]
    filler = call.at.number(call.number("pad_value"), x.element).ssa if mode == "constant" else None
    return call.at.op(graph.PadOp(x.ssa, list(map(Dim.of, pads)), modes[mode], filler))


@converts("pixel_shuffle")
def shuffle(call: Call) -> Value:
    """Groups of channels as finer feature maps."""
    call.expect_channels_first()
    return pixel_shuffle(call.tensor(), call.integer("upscale_factor"))
