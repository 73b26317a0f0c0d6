"""Normalizations and softmax."""

from __future__ import annotations

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.lowering.paddle_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value


@converts("softmax", "log_softmax")
def softmax(call: Call) -> Value:
    """Exponentials along an axis, their sum 1, or the logarithms of these."""
    op_type = graph.SoftmaxOp if call.op.SIGNATURE.name == "softmax" else graph.LogSoftmaxOp
    return call.at.op(op_type(call.tensor().ssa, call.axis()))


def _scale_and_bias(call: Call) -> tuple[SSAValue | None, SSAValue | None]:
    return call.op.tensor("scale"), call.op.tensor("bias")


@converts("batch_norm_")
def batch_norm(call: Call) -> Value:
    """Channels moved and scaled by recorded statistics."""
    if not (call.flag("is_test") or call.flag("use_global_stats")):
        raise call.unsupported("statistics of the batch", "export the layer after .eval()")
    call.expect_channels_first()
    x, mean, variance = (call.tensor(name).ssa for name in ("x", "mean", "variance"))
    return call.at.op(
        graph.BatchNormOp(x, mean, variance, *_scale_and_bias(call), eps=call.number("epsilon"))
    )


@converts("instance_norm")
def instance_norm(call: Call) -> Value:
    """Each channel of each image with mean 0 and variance 1, then scaled."""
    return call.at.op(
        graph.InstanceNormOp(call.tensor().ssa, *_scale_and_bias(call), eps=call.number("epsilon"))
    )


@converts("group_norm")
def group_norm(call: Call) -> Value:
    """Groups of channels with mean 0 and variance 1, then scaled."""
    call.expect_channels_first()
    op = graph.GroupNormOp(
        call.tensor().ssa, *_scale_and_bias(call), groups=call.integer("groups"), eps=call.number("epsilon")
    )
    return call.at.op(op)


@converts("layer_norm")
def layer_norm(call: Call) -> Value:
    """Rows with mean 0 and variance 1, then scaled; a row is all axes from one on."""
    x = call.tensor()
    axis = call.axis(name="begin_norm_axis")
    row = x.dims[axis:]
    made = [None if each is None else call.at.value(each).reshape(row).ssa for each in _scale_and_bias(call)]
    return call.at.op(graph.LayerNormOp(x.ssa, *made, axis=axis, eps=call.number("epsilon")))
