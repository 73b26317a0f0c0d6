"""Normalizations and softmax."""

from __future__ import annotations

from stepwell.dialects import graph
from stepwell.lowering.coreml_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value


@converts("softmax")
def softmax(call: Call) -> Value:
    """Exponentials along an axis, their sum 1."""
    x = call.tensor()
    return call.at.op(graph.SoftmaxOp(x.ssa, call.axis()))


@converts("batch_norm")
def batch_norm(call: Call) -> Value:
    """Channels moved and scaled by recorded statistics."""
    x, scale, bias = call.tensor(), call.optional("gamma"), call.optional("beta")
    op = graph.BatchNormOp(
        x.ssa,
        call.tensor("mean").ssa,
        call.tensor("variance").ssa,
        None if scale is None else scale.ssa,
        None if bias is None else bias.ssa,
        eps=call.number("epsilon"),
    )
    return call.at.op(op)


@converts("instance_norm")
def instance_norm(call: Call) -> Value:
    """Each channel of each image with mean 0 and variance 1, then scaled."""
    x, scale, bias = call.tensor(), call.optional("gamma"), call.optional("beta")
    made = [None if each is None else each.ssa for each in (scale, bias)]
    return call.at.op(graph.InstanceNormOp(x.ssa, *made, eps=call.number("epsilon")))


@converts("layer_norm")
def layer_norm(call: Call) -> Value:
    """Rows with mean 0 and variance 1, then scaled; a row is some axes."""
    x, axes, scale, bias = call.tensor(), call.axes(), call.optional("gamma"), call.optional("beta")
    if axes == list(range(x.rank - len(axes), x.rank)):
        made = [None if each is None else each.ssa for each in (scale, bias)]
        return call.at.op(graph.LayerNormOp(x.ssa, *made, axis=axes[0], eps=call.number("epsilon")))
    moved = x - x.reduce("mean", axes, keep_dims=True)
    variance = (moved * moved).reduce("mean", axes, keep_dims=True)
    result = moved * (variance + call.number("epsilon")).apply(graph.RsqrtOp)
    shape = [dim if axis in axes else 1 for axis, dim in enumerate(x.dims)]
    result = result if scale is None else result * scale.reshape(shape)
    return result if bias is None else result + bias.reshape(shape)


@converts("l2_norm")
def l2_norm(call: Call) -> Value:
    """The last three axes divided by their norm."""
    x = call.tensor()
    axes = list(range(max(x.rank - 3, 0), x.rank))
    return x * ((x * x).reduce("sum", axes, keep_dims=True) + call.number("epsilon")).apply(graph.RsqrtOp)


@converts("local_response_norm")
def local_response_norm(call: Call) -> Value:
    """Elements divided by a power of the squares of channels around."""
    op = graph.LrnOp(
        call.tensor().ssa,
        call.integer("size"),
        alpha=call.number("alpha"),
        beta=call.number("beta"),
        bias=call.number("k"),
    )
    return call.at.op(op)
