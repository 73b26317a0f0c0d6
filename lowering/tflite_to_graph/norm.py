"""Normalizations along the last axis."""

from __future__ import annotations

from stepwell.dialects import graph
from stepwell.lowering.tflite_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value


@converts("softmax")
def softmax(call: Call) -> Value:
    """Exponentials of the last axis, their sum 1; `beta` multiplies the exponents."""
    x, beta = call.tensor(), call.number("beta")
    return call.at.op(graph.SoftmaxOp((x if beta == 1.0 else x * beta).ssa, x.rank - 1))


@converts("log_softmax")
def log_softmax(call: Call) -> Value:
    """The logarithms of the softmax of the last axis."""
    x = call.tensor()
    return call.at.op(graph.LogSoftmaxOp(x.ssa, x.rank - 1))


@converts("l2_normalization")
def l2_normalization(call: Call) -> Value:
    """The last axis divided by its norm, which is at least 1e-3."""
    x = call.tensor()
    norm = (x * x).reduce("sum", [x.rank - 1], keep_dims=True).apply(graph.SqrtOp)
    return x / norm.maximum(1e-3)


@converts("local_response_normalization")
def local_response_normalization(call: Call) -> Value:
    """Elements divided by a power of the squares of `radius` channels before and, with the own one, after."""
    x, radius = call.tensor(), call.integer("radius")
    if x.rank != 4 or radius < 1:
        raise call.unsupported(f"the input must have rank 4, found {x.rank}, and radius {radius} be positive")
    size = 2 * radius
    # The window of `graph.lrn` has the channel more after than before: the channels are taken backwards.
    channels_first = call.at.op(graph.ReverseOp(x.transpose([0, 3, 1, 2]).ssa, [1]))
    op = graph.LrnOp(
        channels_first.ssa,
        size,
        alpha=call.number("alpha") * size,
        beta=call.number("beta"),
        bias=call.number("bias"),
    )
    return call.at.op(graph.ReverseOp(call.at.op(op).ssa, [1])).transpose([0, 2, 3, 1])
