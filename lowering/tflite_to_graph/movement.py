"""Shapes and orders of elements: reshapes, transposes, slices, pads, copies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepwell.dialects import graph
from stepwell.lowering.tflite_to_graph.support import Call, converts, on_codes
from stepwell.lowering.to_graph import Value
from stepwell.runtime.dims import Dim


@converts("reshape")
def reshape(call: Call) -> Value:
    """The elements in another shape: that of the operand, of the option, or that the model records."""
    if call.op.tensor("shape") is not None:
        sizes: Sequence[Dim] = call.operand_sizes("shape")
    else:
        sizes = call.recorded or call.sizes("new_shape")
    return call.reshaped_to(call.tensor(), sizes)


@converts("squeeze")
def squeeze(call: Call) -> Value:
    """Without some dimensions of size 1, or without all."""
    x = call.tensor()
    given = [call.checked_axis(axis, x.rank) for axis in call.integers("squeeze_dims")]
    axes = given or [axis for axis, dim in enumerate(x.dims) if dim == 1]
    return x.reshape([dim for axis, dim in enumerate(x.dims) if axis not in axes])


@converts("expand_dims")
def expand_dims(call: Call) -> Value:
    """A new dimension of size 1."""
    x = call.tensor()
    (axis,) = call.operand_integers("axis")
    return x.unsqueeze(call.checked_axis(axis, x.rank + 1))


@converts("transpose")
def transpose(call: Call) -> Value:
    """The dimensions in another order."""
    x = call.tensor()
    return x.transpose([call.checked_axis(axis, x.rank) for axis in call.operand_integers("perm")])


@converts("concatenation")
def concatenation(call: Call) -> Value:
    """Values joined along an axis."""
    parts = call.tensors()
    return call.at.concat(parts, call.axis(rank=parts[0].rank))


@converts("pack")
def pack(call: Call) -> Value:
    """Values joined along a new axis."""
    parts = call.tensors()
    axis = call.axis(rank=parts[0].rank + 1)
    return call.at.concat([part.unsqueeze(axis) for part in parts], axis)


@converts("unpack")
def unpack(call: Call) -> list[Value | None]:
    """The parts at each position of an axis, without it."""
    x, axis = call.tensor(), call.axis()
    return [x.at(axis, position) for position in range(len(call.op.results))]


@converts("split")
def split(call: Call) -> list[Value | None]:
    """Equal parts along an axis."""
    x, count = call.tensor(), len(call.op.results)
    axis = call.checked_axis(call.operand_integers("axis")[0], x.rank)
    size = x.dims[axis] // count
    return [x.slice(axis, size * part, size * (part + 1)) for part in range(count)]


@converts("split_v")
def split_v(call: Call) -> list[Value | None]:
    """Parts of given sizes along an axis; one size may be -1."""
    x = call.tensor()
    axis = call.checked_axis(call.operand_integers("axis")[0], x.rank)
    sizes = list(call.operand_sizes("sizes"))
    if Dim.of(-1) in sizes:
        rest = x.dims[axis]
        for size in sizes:
            rest = rest - (0 if size == -1 else size)
        sizes[sizes.index(Dim.of(-1))] = rest
    parts, start = list[Value | None](), Dim.of(0)
    for size in sizes:
        parts.append(x.slice(axis, start, start + size))
        start = start + size
    return parts


@converts("slice")
def slice_(call: Call) -> Value:
    """A part from some positions on; a size of -1 is all the rest."""
    x = call.tensor()
    begins, sizes = call.positions("begin"), call.positions("size")
    limits = [
        dim if size == -1 else begin + size for begin, size, dim in zip(begins, sizes, x.dims, strict=True)
    ]
    return call.at.op(graph.SliceOp(x.ssa, begins, limits, [1] * x.rank))


@converts("pad", "padv2")
def pad(call: Call) -> Value:
    """Elements of one number around a tensor: 0, or an operand."""
    x = call.tensor()
    filler = call.tensor("filler").reshape([]) if call.has("filler") else None
    if filler is None and call.on_codes:
        filler = call.at.number(call.zero, x.element)
    return call.at.op(graph.PadOp(x.ssa, _pads(call), "constant", None if filler is None else filler.ssa))


def _pads(call: Call) -> list[Dim]:
    """The pads, all begins and then all ends."""
    pads = call.operand_sizes("pads")
    return [*pads[::2], *pads[1::2]]


@converts("mirror_pad")
def mirror_pad(call: Call) -> Value:
    """Mirrored elements around a tensor, with the edge or without."""
    x, pads = call.tensor(), call.operand_integers("pads")
    if call.value("mode") == "REFLECT":
        return call.at.op(graph.PadOp(x.ssa, list(map(Dim.of, [*pads[::2], *pads[1::2]])), "reflect"))
    for axis, (before, after) in enumerate(zip(pads[::2], pads[1::2], strict=True)):
        x = _mirrored(x, axis, before, after)
    return x


def _mirrored(x: Value, axis: int, before: int, after: int) -> Value:
    """An axis with mirrored elements, the edge among them."""
    size, parts = x.dims[axis], [x]
    if before:
        parts.insert(0, x.formula.op(graph.ReverseOp(x.slice(axis, 0, before).ssa, [axis])))
    if after:
        parts.append(x.formula.op(graph.ReverseOp(x.slice(axis, size - after, size).ssa, [axis])))
    return x.formula.concat(parts, axis) if len(parts) > 1 else x


@converts("tile")
def tile(call: Call) -> Value:
    """Copies along each axis."""
    return call.at.op(graph.TileOp(call.tensor().ssa, call.operand_sizes("counts")))


@converts("broadcast_to")
def broadcast_to(call: Call) -> Value:
    """A larger shape."""
    return call.tensor().broadcast_to(call.operand_sizes("shape"))


@converts("reverse_v2")
def reverse(call: Call) -> Value:
    """The elements along some axes in the opposite order."""
    axes = call.operand_axes()
    return call.at.op(graph.ReverseOp(call.tensor().ssa, axes)) if axes else call.tensor()


@converts("reverse_sequence")
def reverse_sequence(call: Call) -> Value:
    """The first elements along an axis in the opposite order, as many as an operand says."""
    x, time, batch = call.tensor(), call.integer("seq_dim"), call.integer("batch_dim")
    return call.at.op(graph.ReverseSequenceOp(x.ssa, call.codes("lengths").ssa, batch, time))


@converts("depth_to_space")
def depth_to_space(call: Call) -> Value:
    """Groups of channels as finer feature maps."""
    x, block = call.tensor(), call.integer("block_size")
    batch, height, width, channels = x.dims
    parts = x.reshape([batch, height, width, block, block, channels // (block * block)])
    shape = [batch, height * block, width * block, channels // (block * block)]
    return parts.transpose([0, 1, 3, 2, 4, 5]).reshape(shape)


@converts("space_to_depth")
def space_to_depth(call: Call) -> Value:
    """Blocks of pixels as channels."""
    x, block = call.tensor(), call.integer("block_size")
    batch, height, width, channels = x.dims
    parts = x.reshape([batch, height // block, block, width // block, block, channels])
    shape = [batch, height // block, width // block, channels * (block * block)]
    return parts.transpose([0, 1, 3, 2, 4, 5]).reshape(shape)


@converts("space_to_batch_nd")
def space_to_batch_nd(call: Call) -> Value:
    """Blocks of pixels, after padding, as further batches."""
    x, block, pads = call.tensor(), call.operand_integers("block"), call.operand_integers("pads")
    rank = len(block)
    none = [0] * (x.rank - rank - 1)
    around = [0, *pads[::2], *none, 0, *pads[1::2], *none]
    filler = call.at.number(call.zero, x.element)
    x = call.at.op(graph.PadOp(x.ssa, list(map(Dim.of, around)), "constant", filler.ssa)) if any(pads) else x
    spatial, rest = x.dims[1 : 1 + rank], x.dims[1 + rank :]
    parts = [dim for size, step in zip(spatial, block, strict=True) for dim in (size // step, Dim.of(step))]
    split_up = x.reshape([x.dims[0], *parts, *rest])
    order = [2 * i + 2 for i in range(rank)] + [0] + [2 * i + 1 for i in range(rank)]
    moved = split_up.transpose([*order, *range(2 * rank + 1, split_up.rank)])
    return moved.reshape([x.dims[0] * int(np.prod(block)), *parts[::2], *rest])


@converts("batch_to_space_nd")
def batch_to_space_nd(call: Call) -> Value:
    """Batches as finer feature maps, which are then cropped."""
    x, block, crops = call.tensor(), call.operand_integers("block"), call.operand_integers("crops")
    rank = len(block)
    batch, spatial, rest = x.dims[0] // int(np.prod(block)), x.dims[1 : 1 + rank], x.dims[1 + rank :]
    split_up = x.reshape([*map(Dim.of, block), batch, *spatial, *rest])
    order = [axis for i in range(rank) for axis in (rank + 1 + i, i)]
    moved = split_up.transpose([rank, *order, *range(2 * rank + 1, split_up.rank)])
    x = moved.reshape([batch, *(size * step for size, step in zip(spatial, block, strict=True)), *rest])
    for axis, (begin, end) in enumerate(zip(crops[::2], crops[1::2], strict=True), 1):
        x = x.slice(axis, begin, x.dims[axis] - end) if begin or end else x
    return x


on_codes("reshape squeeze expand_dims transpose concatenation pack unpack split split_v slice pad padv2")
on_codes("mirror_pad tile broadcast_to reverse_v2 reverse_sequence depth_to_space space_to_depth")
on_codes("space_to_batch_nd batch_to_space_nd")
