"""Fully connected layers, products of matrices, rows of a table."""

from __future__ import annotations

from stepwell.dialects import graph
from stepwell.lowering.mxnet_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value, size_of


@converts("FullyConnected")
def fully_connected(call: Call) -> Value:
    """The product with the transpose of the weight, and a bias; all axes but the first are one."""
    x, weight = call.tensor(), call.tensor("weight")
    if weight.rank != 2 or not x.rank:
        raise call.invalid(f"the input has rank {x.rank}, the weight {weight.rank}")
    if call.flag("flatten") and x.rank != 2:
        x = x.reshape([x.dims[0], size_of(x.dims[1:])])
    product = x.matmul(weight.transpose([1, 0]))
    bias = None if call.flag("no_bias") else call.optional("bias")
    return product if bias is None else call.at.op(graph.BiasAddOp(product.ssa, bias.ssa, product.rank - 1))


@converts("batch_dot")
def batch_dot(call: Call) -> Value:
    """The products of matrices in pairs, either of which may be transposed."""
    x, y = call.tensor("lhs"), call.tensor("rhs")
    return x.matrix_transpose(call.flag("transpose_a")).matmul(y.matrix_transpose(call.flag("transpose_b")))


@converts("dot")
def dot(call: Call) -> Value:
    """The sum of products over the last axis of one and the first axis of the other."""
    x, y = call.tensor("lhs"), call.tensor("rhs")
    if call.flag("transpose_a") or call.flag("transpose_b"):
        if max(x.rank, y.rank) > 2:
            raise call.unsupported(f"transposed operands of the ranks {x.rank} and {y.rank}")
        x, y = x.matrix_transpose(call.flag("transpose_a")), y.matrix_transpose(call.flag("transpose_b"))
    if not x.rank or not y.rank:
        raise call.invalid("an operand has rank 0")
    rows = x.reshape([size_of(x.dims[:-1]), x.dims[-1]])
    columns = y.reshape([y.dims[0], size_of(y.dims[1:])])
    return rows.matmul(columns).reshape([*x.dims[:-1], *y.dims[1:]])


@converts("Embedding")
def embedding(call: Call) -> Value:
    """Rows of a table; an index outside takes the nearest row."""
    return call.tensor("weight").gather(call.indices("data").maximum(0), 0)
