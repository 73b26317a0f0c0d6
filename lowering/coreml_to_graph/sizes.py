"""Shapes as values, and values made from shapes."""

from __future__ import annotations

from xdsl.dialects.builtin import i64

from stepwell.dialects import graph
from stepwell.lowering.coreml_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value


@converts("shape")
def shape(call: Call) -> Value:
    """The dimensions."""
    return call.at.op(graph.ShapeOfOp(call.tensor().ssa)).cast(call.element)


@converts("fill")
def fill(call: Call) -> Value:
    """A tensor of equal numbers."""
    value = call.optional("value")
    number = call.at.number(0, call.element) if value is None else value.reshape([])
    return call.at.op(graph.FullOp(number.ssa, call.operand_sizes("shape")))


@converts("fill_like")
def fill_like(call: Call) -> Value:
    """A tensor of equal numbers in the shape of another."""
    value = call.optional("value")
    number = call.at.number(0, call.element) if value is None else value.reshape([])
    return call.at.op(graph.FullOp(number.ssa, call.tensor("ref_tensor").dims))


@converts("range_1d")
def range_1d(call: Call) -> Value:
    """Numbers from a start on, in equal steps, below a limit, which may be a size."""
    return call.counted(*(call.tensor(name).reshape([]) for name in ("start", "end", "step")))


@converts("band_part")
def band_part(call: Call) -> Value:
    """Matrices with zeros outside of some diagonals; -1 keeps all of a side."""
    x = call.tensor()
    rows, columns = x.dims[-2:]
    distance = call.at.iota(rows, i64).unsqueeze(1) - call.at.iota(columns, i64).unsqueeze(0)
    kept = x
    for name, side in (("lower", distance), ("upper", -distance)):
        if (most := call.integer(name)) >= 0:
            kept = call.at.where(side <= most, kept, 0)
    return kept
