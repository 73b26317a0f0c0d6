"""Shapes and orders of elements: reshapes, transposes, slices, pads, copies."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from stepwell.dialects import graph
from stepwell.lowering.coreml_to_graph.support import Call, converts, pairs
from stepwell.lowering.to_graph import Value, pixel_shuffle, pixel_unshuffle, size_of
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


@converts("flatten2d")
def flatten2d(call: Call) -> Value:
    """The axes before an axis as a single axis, and the axes from there on."""
    x, axis = call.tensor(), call.integer("axis")
    axis += x.rank if axis < 0 else 0
    return x.reshape([size_of(x.dims[:axis]), size_of(x.dims[axis:])])


@converts("squeeze")
def squeeze(call: Call) -> Value:
    """Without some dimensions of size 1, or without all."""
    x = call.tensor()
    axes = call.axes() if call.value("axes") is not None else [i for i, dim in enumerate(x.dims) if dim == 1]
    return call.at.op(graph.SqueezeOp(x.ssa, axes)) if axes else x


@converts("expand_dims")
def expand_dims(call: Call) -> Value:
    """New dimensions of size 1."""
    x, axes = call.tensor(), call.integers("axes")
    return x.unsqueeze(*call.checked_axes(axes, x.rank + len(axes)))


@converts("transpose")
def transpose(call: Call) -> Value:
    """The dimensions in another order."""
    x = call.tensor()
    return x.transpose([call.checked_axis(axis, x.rank) for axis in call.integers("perm")])


@converts("concat")
def concat(call: Call) -> Value:
    """Values joined along an axis; those of rank 0 are rows of one element."""
    parts = [part if part.rank else part.reshape([1]) for part in call.tensors("values")]
    if call.flag("interleave"):
        raise call.unsupported("interleaved values")
    if not parts:
        raise call.invalid("no values")
    return call.at.concat(parts, call.axis(parts[0].rank))


@converts("stack")
def stack(call: Call) -> Value:
    """Values joined along a new axis."""
    parts = call.tensors("values")
    if not parts:
        raise call.invalid("no values")
    axis = call.axis(parts[0].rank + 1)
    return call.at.concat([part.unsqueeze(axis) for part in parts], axis)


@converts("split")
def split(call: Call) -> list[Value | None]:
    """Parts along an axis, equal ones or of given sizes."""
    x, axis = call.tensor(), call.axis()
    count = len(call.op.results)
    sizes = [x.dims[axis] // count] * count
    if call.value("split_sizes") is not None:
        sizes = list(call.sizes("split_sizes"))
    parts, start = list[Value | None](), Dim.of(0)
    for size in sizes:
        parts.append(x.slice(axis, start, start + size))
        start = start + size
    return parts


@converts("pad")
def pad(call: Call) -> Value:
    """Elements around the last axes: of one number, mirrored, or of the edge."""
    x, around = call.tensor(), call.operand_sizes("pad")
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}
    if (mode := call.text("mode")) not in modes:
        raise call.unsupported(f"the mode {mode!r}")
    if len(around) % 2 or len(around) > 2 * x.rank:
        raise call.invalid(f"`pad` must have two numbers for some of {x.rank} axes, found {len(around)}")
    none = [Dim.of(0)] * (x.rank - len(around) // 2)
    pads = [*none, *around[::2], *none, *around[1::2]]
    filler = call.scalar("constant_val", 0, x).cast(x.element).ssa if mode == "constant" else None
    return call.at.op(graph.PadOp(x.ssa, pads, modes[mode], filler))


@converts("crop")
def crop(call: Call) -> Value:
    """Feature maps without some rows and columns at their sides."""
    x = call.tensor()
    for axis, name in ((x.rank - 2, "crop_height"), (x.rank - 1, "crop_width")):
        begin, end = call.numbers(name, 2, 0)
        x = x.slice(axis, begin, x.dims[axis] - end)
    return x


@converts("tile")
def tile(call: Call) -> Value:
    """Copies along each axis."""
    return call.at.op(graph.TileOp(call.tensor().ssa, call.operand_sizes("reps")))


@converts("reverse")
def reverse(call: Call) -> Value:
    """The elements along some axes in the opposite order."""
    axes = call.axes()
    return call.at.op(graph.ReverseOp(call.tensor().ssa, axes)) if axes else call.tensor()


@converts("reverse_sequence")
def reverse_sequence(call: Call) -> Value:
    """The first elements along an axis in the opposite order, as many as an operand says."""
    time, batch = call.axis(name="seq_axis"), call.axis(name="batch_axis")
    return call.at.op(graph.ReverseSequenceOp(call.tensor().ssa, call.tensor("lengths").ssa, batch, time))


def _blocks(call: Call, name: str) -> tuple[Value, int]:
    x, block = call.tensor(), call.integer(name)
    if x.rank != 4 or block < 1:
        raise call.invalid(f"the input must have rank 4, found {x.rank}, and `{name}` be positive")
    return x, block


@converts("depth_to_space")
def depth_to_space(call: Call) -> Value:
    """Groups of channels as finer feature maps; the position in a block comes first in a channel's number."""
    x, block = _blocks(call, "block_size")
    batch, channels, height, width = x.dims
    depth = channels // (block * block)
    parts = x.reshape([batch, block, block, depth, height, width]).transpose([0, 3, 4, 1, 5, 2])
    return parts.reshape([batch, depth, height * block, width * block])


@converts("space_to_depth")
def space_to_depth(call: Call) -> Value:
    """Blocks of pixels as channels; the position in a block comes first in a channel's number."""
    x, block = _blocks(call, "block_size")
    batch, channels, height, width = x.dims
    parts = x.reshape([batch, channels, height // block, block, width // block, block])
    shape = [batch, channels * (block * block), height // block, width // block]
    return parts.transpose([0, 3, 5, 1, 2, 4]).reshape(shape)


@converts("pixel_shuffle")
def shuffle(call: Call) -> Value:
    """Groups of channels as finer feature maps; the position in a block comes last in a channel's number."""
    return pixel_shuffle(*_blocks(call, "upscale_factor"))


@converts("pixel_unshuffle")
def unshuffle(call: Call) -> Value:
    """Blocks of pixels as channels; the position in a block comes last in a channel's number."""
    return pixel_unshuffle(*_blocks(call, "downscale_factor"))


@converts("space_to_batch")
def space_to_batch(call: Call) -> Value:
    """Blocks of the two spatial axes, after padding, as further batches."""
    x, block = call.tensor(), call.numbers("block_shape", 2, 1)
    begins, ends = pairs(call.numbers("paddings", 4, 0))
    x = call.at.op(graph.PadOp(x.ssa, [Dim.of(n) for n in (0, 0, *begins, 0, 0, *ends)], "constant"))
    batch, channels, *sizes = x.dims
    parts = [dim for size, step in zip(sizes, block, strict=True) for dim in (size // step, Dim.of(step))]
    split_up = x.reshape([batch, channels, *parts]).transpose([3, 5, 0, 1, 2, 4])
    return split_up.reshape([batch * prod(block), channels, *parts[::2]])


@converts("batch_to_space")
def batch_to_space(call: Call) -> Value:
    """Batches as finer feature maps, which are then cropped."""
    x, block = call.tensor(), call.numbers("block_shape", 2, 1)
    begins, ends = pairs(call.numbers("crops", 4, 0))
    batch, channels, *sizes = x.dims
    split_up = x.reshape([*block, batch // prod(block), channels, *sizes]).transpose([2, 3, 4, 0, 5, 1])
    wide = [size * step for size, step in zip(sizes, block, strict=True)]
    return _cropped(split_up.reshape([batch // prod(block), channels, *wide]), begins, ends)


def _cropped(x: Value, begins: Sequence[int], ends: Sequence[int]) -> Value:
    for axis, (begin, end) in enumerate(zip(begins, ends, strict=True), 2):
        x = x.slice(axis, begin, x.dims[axis] - end) if begin or end else x
    return x
