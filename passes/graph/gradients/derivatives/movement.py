"""Derivatives of ops that move elements: the transposes of the movements."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, derivative
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


@derivative(graph.TransposeOp)
def transpose(op: graph.TransposeOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy with the axes where they were."""
    perm = list(op.perm.get_values())
    return [b.transpose(dy, [perm.index(axis) for axis in range(len(perm))])]


@derivative(graph.ReshapeOp)
def reshape(op: graph.ReshapeOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy in the shape of x."""
    if any(dim.is_unknown for dim in b.dims(op.input)):
        dx = b.insert(graph.ReshapeOp(dy, b.insert(graph.ShapeOfOp(op.input))))
    else:
        dx = b.reshape(dy, b.dims(op.input))
    return [dx, *[None] * (len(op.operands) - 1)]


@derivative(graph.ExpandDimsOp)
def expand_dims(op: graph.ExpandDimsOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy without the axes."""
    return [b.squeeze(dy, op.axes.get_values())]


@derivative(graph.SqueezeOp)
def squeeze(op: graph.SqueezeOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy with the axes."""
    return [b.expand(dy, op.axes.get_values())]


@derivative(graph.BroadcastToOp)
def broadcast_to(op: graph.BroadcastToOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy summed along the axes that were repeated."""
    return [b.sum_to(dy, op.input), *[None] * (len(op.operands) - 1)]


@derivative(graph.FullOp)
def full(op: graph.FullOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """The sum of dy."""
    return [b.sum(dy, range(len(b.dims(dy)))), *[None] * (len(op.operands) - 1)]


@derivative(graph.ReverseOp)
def reverse(op: graph.ReverseOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy reversed."""
    return [b.insert(graph.ReverseOp(dy, op.axes.get_values()))]


@derivative(graph.ConcatOp)
def concat(op: graph.ConcatOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """The pieces of dy."""
    axis, dims = op.axis.value.data, b.dims(dy)
    found: list[SSAValue | None] = []
    start = Dim.of(0)
    for value in op.inputs:
        end = start + b.dims(value)[axis]
        found.append(b.slice(dy, *_along(dims, axis, start, end)))
        start = end
    return found


@derivative(graph.SplitOp)
def split(op: graph.SplitOp, dy: Sequence[SSAValue | None], b: GradientBuilder) -> Cotangents:
    """The cotangents of the pieces joined, with zeros for those that have none."""
    pieces = [
        b.full(0.0, result) if piece is None else piece for piece, result in zip(dy, op.results, strict=True)
    ]
    joined = b.insert(graph.ConcatOp(pieces, op.axis.value.data))
    return [joined, *[None] * (len(op.operands) - 1)]


@derivative(graph.SliceOp)
def slice(op: graph.SliceOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """
    dy in a tensor of zeros, where the elements were.

    Between elements a step apart zeros are put in; along an axis that was walked down dy is reversed.
    """
    steps, zeros = op.steps.get_values(), b.zeros(op.input)
    others = [None] * (len(op.operands) - 1)
    if op.starts is None:
        if any(step != 1 for step in steps):
            places = b.insert(op.on([b.positions(op.input), *op.operands[1:]]))
            return [b.added_at(op.input, places, dy), *others]
        assert op.starts_value is not None
        return [b.insert(graph.InsertSliceOp(zeros, dy, op.starts_value)), *others]
    starts = list(op.starts.get())
    for axis, step in enumerate(steps):
        if step < 0:
            dy = b.insert(graph.ReverseOp(dy, [axis]))
            starts[axis] = starts[axis] + (b.dims(dy)[axis] - 1) * step
        dy = _spread(dy, axis, abs(step), b)
    if any(dim == 0 for dim in b.dims(dy)):
        return [zeros, *others]
    return [b.insert(graph.InsertSliceOp(zeros, dy, starts)), *others]


def _spread(value: SSAValue, axis: int, step: int, b: GradientBuilder) -> SSAValue:
    """A tensor with step - 1 zeros between its elements along an axis."""
    if step == 1:
        return value
    dims = b.dims(value)
    rank = len(dims)
    pads = [0] * 2 * (rank + 1)
    pads[rank + 1 + axis + 1] = step - 1
    wide = b.insert(graph.PadOp(b.expand(value, [axis + 1]), pads))
    joined = b.reshape(wide, [*dims[:axis], dims[axis] * step, *dims[axis + 1 :]])
    limits = [*dims[:axis], dims[axis] * step - (step - 1), *dims[axis + 1 :]]
    return joined if dims[axis] == 0 else b.slice(joined, [0] * rank, limits)


@derivative(graph.InsertSliceOp)
def insert_slice(op: graph.InsertSliceOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy with zeros at the place, and its elements there."""
    if op.offsets is None:
        assert op.offsets_value is not None
        without = graph.InsertSliceOp(dy, b.zeros(op.update), op.offsets_value)
        return [b.insert(without), _read_at(dy, op.offsets_value, op.update, b), None]
    starts = op.offsets.get()
    ends = [start + dim for start, dim in zip(starts, b.dims(op.update), strict=True)]
    without = b.insert(graph.InsertSliceOp(dy, b.full(0.0, op.update), starts))
    return [without, b.slice(dy, starts, ends), *[None] * (len(op.operands) - 2)]


def _read_at(value: SSAValue, offsets: SSAValue, like: SSAValue, b: GradientBuilder) -> SSAValue:
    """The block of the shape of `like` at offsets that are data."""
    for axis, (have, want) in enumerate(zip(b.dims(value), b.dims(like), strict=True)):
        if not have.proves_equal(want):
            start = b.slice(offsets, [axis], [axis + 1])
            start = b.cast(start, i64)
            value = b.insert(graph.GatherOp(value, b.add(b.iota([want]), start), axis))
    return value


@derivative(graph.PadOp)
def pad(op: graph.PadOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """
    dy without the pads, with zeros where x was cropped; pads that repeat elements add up there.

    The value of the pads gets the sum of the rest.
    """
    if op.mode.data != "constant":
        places = b.insert(op.on([b.positions(op.input), *op.operands[1:]]))
        return [b.added_at(op.input, places, dy), *[None] * (len(op.operands) - 1)]
    if op.pads is not None:
        dx = b.insert(graph.PadOp(dy, [Dim.of(0) - pad for pad in op.pads.get()]))
    else:
        assert op.pads_value is not None
        dx = b.insert(graph.PadOp(dy, b.negate(op.pads_value)))
        dx = b.reshape(dx, b.dims(op.input))
    found: list[SSAValue | None] = [dx]
    if op.value is not None:
        zeros = b.insert(op.on([b.full(1.0, op.input), b.scalar(0.0, dy), *op.operands[2:]]))
        outside = b.multiply(dy, b.subtract(b.scalar(1.0, dy), zeros))
        found.append(b.sum(outside, range(len(b.dims(dy)))))
    return [*found, *[None] * (len(op.operands) - len(found))]


@derivative(graph.LayoutTransformOp)
def layout_transform(op: graph.LayoutTransformOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy in the layout of x, without the padding of blocks."""
    back = b.insert(graph.LayoutTransformOp(dy, op.target.data, op.source.data))
    dims = b.dims(op.input)
    if all(have.proves_equal(want) for have, want in zip(b.dims(back), dims, strict=True)):
        return [back]
    return [b.slice(back, [0] * len(dims), dims)]


@derivative(graph.RangeOp)
def range_(op: graph.RangeOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """The sum of dy for the start, that of dy times the number of the element for the step."""
    count = b.insert(graph.ShapeOfOp(op.result))
    one = b.insert(graph.FullOp(b.scalar(1.0, dy), count))
    number = b.insert(graph.ScanOp(one, "sum", 0, exclusive=True))
    return [b.sum(dy, [0]), None, b.sum(b.multiply(dy, number), [0])]


@derivative(graph.TileOp)
def tile(op: graph.TileOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """The sum of the copies."""
    if op.repeats is None:
        raise StepwellError("no-derivative", op, "tile has a derivative where its repeats are known")
    pairs = [part for pair in zip(op.repeats.get(), b.dims(op.input), strict=True) for part in pair]
    return [b.sum(b.reshape(dy, pairs), range(0, len(pairs), 2)), *[None] * (len(op.operands) - 1)]


def _along(dims: Sequence[Dim], axis: int, start: Dim, end: Dim) -> tuple[Sequence[Dim], Sequence[Dim]]:
    """Starts and limits of a piece of a tensor along an axis."""
    starts, limits = [Dim.of(0)] * len(dims), list(dims)
    starts[axis], limits[axis] = start, end
    return starts, limits
