"""Products of matrices, sums by an equation, rows of a table."""

from __future__ import annotations

from stepwell.dialects import graph
from stepwell.lowering.paddle_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value


@converts("matmul")
def matmul(call: Call) -> Value:
    """The products of matrices, either of which may be transposed."""
    x, y = call.tensor(), call.tensor("y")
    return _turned(x, call.flag("transpose_x")).matmul(_turned(y, call.flag("transpose_y")))


def _turned(x: Value, is_transposed: bool) -> Value:
    order = list(range(x.rank))
    return x.transpose([*order[:-2], order[-1], order[-2]]) if is_transposed and x.rank > 1 else x


@converts("bmm")
def bmm(call: Call) -> Value:
    """The products of matrices in pairs."""
    return call.tensor().matmul(call.tensor("y"))


@converts("einsum")
def einsum(call: Call) -> Value:
    """Sums of products by an equation."""
    return call.at.op(graph.EinsumOp([each.ssa for each in call.tensors("x")], call.text("equation")))


@converts("embedding")
def embedding(call: Call) -> Value:
    """Rows of a table, and zeros for one number."""
    ids, none = call.tensor(), call.integer("padding_idx")
    rows = call.at.op(graph.GatherOp(call.tensor("weight").ssa, ids.ssa, 0))
    return rows if none < 0 else call.at.where(ids.equals(none).unsqueeze(ids.rank), 0.0, rows)
