"""Normalizations and softmax."""

from __future__ import annotations

from stepwell.dialects import graph
from stepwell.lowering.mxnet_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value, size_of


@converts("softmax", "log_softmax")
def softmax(call: Call) -> Value:
    """Exponentials along an axis, their sum 1, or the logarithms of these."""
    op_type = graph.SoftmaxOp if call.op.SIGNATURE.name == "softmax" else graph.LogSoftmaxOp
    return call.at.op(op_type(call.tensor().ssa, call.axis()))


@converts("SoftmaxOutput")
def softmax_output(call: Call) -> Value:
    """The softmax of all axes but the first as one, which training compares with labels."""
    x = call.tensor()
    rows = x if x.rank <= 2 else x.reshape([x.dims[0], size_of(x.dims[1:])])
    return call.at.op(graph.SoftmaxOp(rows.ssa, rows.rank - 1)).reshape(x.dims)


@converts("SoftmaxActivation")
def softmax_activation(call: Call) -> Value:
    """The softmax of the channels, or of all but the first axis."""
    x = call.tensor()
    if call.text("mode") != "channel" and x.rank != 2:
        raise call.unsupported(f"the softmax of all of rank {x.rank}")
    return call.at.op(graph.SoftmaxOp(x.ssa, 1))


@converts("BatchNorm")
def batch_norm(call: Call) -> Value:
    """Channels moved and scaled by recorded statistics; a fixed scale is 1."""
    x, scale = call.tensor(), call.tensor("gamma")
    names = ("moving_mean", "moving_var", "beta")
    mean, variance, bias = (call.tensor(name).ssa for name in names)
    factor = None if call.flag("fix_gamma") else scale.ssa
    op = graph.BatchNormOp(x.ssa, mean, variance, factor, bias, eps=call.number("eps"), axis=call.axis())
    return call.at.op(op)


@converts("InstanceNorm")
def instance_norm(call: Call) -> Value:
    """Each channel of each image with mean 0 and variance 1, then scaled."""
    x, scale, bias = (call.tensor(name).ssa for name in ("data", "gamma", "beta"))
    return call.at.op(graph.InstanceNormOp(x, scale, bias, eps=call.number("eps")))


@converts("LayerNorm")
def layer_norm(call: Call) -> Value:
    """Rows with mean 0 and variance 1, then scaled."""
    x, axis = call.tensor(), call.axis()
    if axis != x.rank - 1:
        raise call.unsupported(f"the axis {axis} of {x.rank}")
    scale, bias = (call.tensor(name).ssa for name in ("gamma", "beta"))
    return call.at.op(graph.LayerNormOp(x.ssa, scale, bias, axis=axis, eps=call.number("eps")))


@converts("L2Normalization")
def l2_normalization(call: Call) -> Value:
    """Images, channels or positions divided by their norms."""
    x, mode = call.tensor(), call.text("mode")
    axes = {"instance": list(range(1, x.rank)), "channel": [1], "spatial": list(range(2, x.rank))}
    if mode not in axes:
        raise call.unsupported(f"the mode {mode!r}")
    return x * ((x * x).reduce("sum", axes[mode], keep_dims=True) + call.number("eps")).apply(graph.RsqrtOp)


@converts("LRN")
def lrn(call: Call) -> Value:
    """Elements divided by a power of the squares of channels around."""
    op = graph.LrnOp(
        call.tensor().ssa,
        call.integer("nsize"),
        alpha=call.number("alpha"),
        beta=call.number("beta"),
        bias=call.number("knorm"),
    )
    return call.at.op(op)
