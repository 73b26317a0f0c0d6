"""Products of matrices, sums by an equation, rows of a table."""

from __future__ import annotations

from stepwell.dialects import graph
from stepwell.lowering.paddle_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value


@converts("matmul")
def matmul(call: Call) -> Value:
    """The products of matrices, either of which may be transposed."""
    x, y = call.tensor(), call.tensor("y")
    return x.matrix_transpose(call.flag("transpose_x")).matmul(y.matrix_transpose(call.flag("transpose_y")))


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
