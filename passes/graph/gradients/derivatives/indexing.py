"""Derivatives of ops that read at indices: repeated indices add up."""

from __future__ import annotations

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, derivative


@derivative(graph.GatherOp)
def gather(op: graph.GatherOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy added into zeros at the indices."""
    if op.batch_dims.value.data or op.bounds.data != "check":
        return [_from_positions(op, dy, b), None]
    axis, rank = op.axis.value.data, len(b.dims(op.input))
    count = len(b.dims(op.indices))
    # The indexed axis first, in the input and in dy, where it is `count` axes.
    front = [axis, *(i for i in range(rank) if i != axis)]
    moved = b.transpose(b.full(0.0, op.input), front)
    places = list(range(axis, axis + count))
    updates = b.transpose(dy, [*places, *(i for i in range(len(b.dims(dy))) if i not in places)])
    indices = b.expand(op.indices, [count])
    added = b.insert(graph.ScatterNdOp(moved, indices, updates, "add"))
    return [b.transpose(added, [front.index(i) for i in range(rank)]), None]


def _from_positions(op: graph.GatherOp | graph.GatherNdOp, dy: SSAValue, b: GradientBuilder) -> SSAValue:
    """dy added at the row-major positions of what was read: the op reads those of a tensor of them."""
    places = b.insert(op.on([b.positions(op.input), op.indices]))
    return b.added_at(op.input, places, dy)


@derivative(graph.GatherNdOp)
def gather_nd(op: graph.GatherNdOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy added into zeros at the indices."""
    if op.batch_dims.value.data:
        return [_from_positions(op, dy, b), None]
    return [b.insert(graph.ScatterNdOp(b.zeros(op.input), op.indices, dy, "add")), None]


@derivative(graph.GatherElementsOp)
def gather_elements(op: graph.GatherElementsOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dy added into zeros at the indices."""
    zeros = b.full(0.0, op.input)
    added = graph.ScatterElementsOp(zeros, op.indices, dy, op.axis.value.data, "add")
    return [b.insert(added), None]
