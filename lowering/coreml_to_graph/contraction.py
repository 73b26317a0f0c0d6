"""Fully connected layers, products of matrices, sums by an equation, attention."""

from __future__ import annotations

from math import sqrt

from xdsl.dialects.builtin import i1

from stepwell.dialects import graph
from stepwell.lowering.coreml_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value


@converts("linear")
def linear(call: Call) -> Value:
    """The product with the transpose of the weight, and a bias."""
    x, weight = call.tensor(), call.tensor("weight")
    if weight.rank != 2:
        raise call.invalid(f"`weight` must have rank 2, found {weight.rank}")
    product, bias = x.matmul(weight.transpose([1, 0])), call.optional("bias")
    if bias is None or bias.rank == 0:
        return product if bias is None else product + bias
    return call.at.op(graph.BiasAddOp(product.ssa, bias.ssa, product.rank - 1))


@converts("matmul")
def matmul(call: Call) -> Value:
    """The products of matrices, either of which may be transposed."""
    x, y = call.tensor(), call.tensor("y")
    return x.matrix_transpose(call.flag("transpose_x")).matmul(y.matrix_transpose(call.flag("transpose_y")))


@converts("einsum")
def einsum(call: Call) -> Value:
    """Sums of products by an equation."""
    return call.at.op(graph.EinsumOp([each.ssa for each in call.tensors("values")], call.text("equation")))


@converts("scaled_dot_product_attention")
def attention(call: Call) -> Value:
    """The softmax of scaled products of queries and keys, times values."""
    q, k, v = (call.tensor(name) for name in ("query", "key", "value"))
    if not q.dims[-1].is_static:
        raise call.unsupported(f"queries of the open size {q.dims[-1]}")
    scores = (q * (1.0 / sqrt(q.dims[-1].value))).matmul(k.matrix_transpose())
    if (mask := call.optional("attn_mask")) is not None:
        lowest = call.at.number(-1e4 if str(q.element) == "f16" else -1e30, scores.element)
        scores = call.at.where(mask, scores, lowest) if mask.element == i1 else scores + mask
    return call.at.op(graph.SoftmaxOp(scores.ssa, scores.rank - 1)).matmul(v)
