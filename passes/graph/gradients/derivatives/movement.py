"""Derivatives of ops that move elements: the transposes of the movements."""

from __future__ import annotations

from collections.abc import Sequence

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
    return [b.reshape(dy, b.dims(op.input)), *[None] * (len(op.operands) - 1)]


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
    """dy turned around."""
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
    """dy in a tensor of zeros, where the elements were. Raises: StepwellError for steps other than 1."""
    if op.starts is None or any(step != 1 for step in op.steps.get_values()):
        message = "a slice has a derivative where its starts are known and its steps are 1"
        raise StepwellError("no-derivative", op, message)
    placed = b.insert(graph.InsertSliceOp(b.full(0.0, op.input), dy, op.starts.get()))
    return [placed, *[None] * (len(op.operands) - 1)]


@derivative(graph.InsertSliceOp)
def insert_slice(op: graph.InsertSliceOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy with zeros at the place, and its elements there."""
    if op.offsets is None:
        raise StepwellError("no-derivative", op, "insert_slice has a derivative where its place is known")
    starts = op.offsets.get()
    ends = [start + dim for start, dim in zip(starts, b.dims(op.update), strict=True)]
    without = b.insert(graph.InsertSliceOp(dy, b.full(0.0, op.update), starts))
    return [without, b.slice(dy, starts, ends), *[None] * (len(op.operands) - 2)]


@derivative(graph.PadOp)
def pad(op: graph.PadOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy without the pads. Raises: StepwellError for pads that repeat elements."""
    if op.pads is None or op.mode.data != "constant":
        raise StepwellError("no-derivative", op, "pad has a derivative for known pads of a constant")
    rank = len(b.dims(op.input))
    starts = op.pads.get()[:rank]
    limits = [start + dim for start, dim in zip(starts, b.dims(op.input), strict=True)]
    return [b.slice(dy, starts, limits), *[None] * (len(op.operands) - 1)]


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
