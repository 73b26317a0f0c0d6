"""Shapes as values, and values made from shapes."""

from __future__ import annotations

from stepwell.dialects import graph
from stepwell.lowering.tflite_to_graph.support import Call, converts, on_codes
from stepwell.lowering.to_graph import Value


@converts("shape")
def shape(call: Call) -> Value:
    """The dimensions."""
    return call.at.op(graph.ShapeOfOp(call.codes("x").ssa)).cast(call.element)


@converts("rank")
def rank(call: Call) -> Value:
    """The number of dimensions."""
    return call.at.number(call.codes("x").rank, call.element)


@converts("fill")
def fill(call: Call) -> Value:
    """A tensor of equal numbers."""
    x = call.codes("x")
    return call.at.op(graph.FullOp(x.reshape([]).ssa, call.operand_sizes("shape")))


@converts("range")
def range_(call: Call) -> Value:
    """Numbers from a start on, in equal steps, below a limit."""
    return call.counted(*(call.codes(name).reshape([]) for name in ("start", "limit", "delta")))


@converts("broadcast_args")
def broadcast_args(call: Call) -> Value:
    """The shape to which two shapes broadcast."""
    from stepwell.dialects.graph.relations import broadcast

    dims = broadcast([call.operand_sizes("x"), call.operand_sizes("y")])
    return call.at.op(graph.ExtentsOp(dims)).cast(call.element)


on_codes("fill")
