"""Convolutions, pools, and feature maps of other sizes, with channels first."""

from __future__ import annotations

from stepwell.dialects import graph
from stepwell.lowering.mxnet_to_graph.support import Call, both_sides, converts
from stepwell.lowering.to_graph import Value

_LAYOUTS = ("NCW", "NCHW", "NCDHW")


def _biased(call: Call, x: Value) -> Value:
    bias = None if call.flag("no_bias") else call.optional("bias")
    return x if bias is None else call.at.op(graph.BiasAddOp(x.ssa, bias.ssa, 1))


@converts("Convolution")
def convolution(call: Call) -> Value:
    """A convolution in groups."""
    call.expect_layout(*_LAYOUTS)
    x, weight = call.tensor(), call.tensor("weight")
    count = weight.rank - 2
    op = graph.ConvOp(
        x.ssa,
        weight.ssa,
        strides=call.numbers("stride", count, 1),
        dilations=call.numbers("dilate", count, 1),
        pads=both_sides(call.numbers("pad", count, 0)),
        groups=call.integer("num_group"),
    )
    return _biased(call, call.at.op(op))


@converts("Deconvolution")
def deconvolution(call: Call) -> Value:
    """The transpose of a convolution, which crops its result by the pads."""
    call.expect_layout(*_LAYOUTS)
    x, weight = call.tensor(), call.tensor("weight")
    count = weight.rank - 2
    if call.integers("target_shape"):
        raise call.unsupported("a shape of the result")
    op = graph.ConvTransposeOp(
        x.ssa,
        weight.ssa,
        strides=call.numbers("stride", count, 1),
        dilations=call.numbers("dilate", count, 1),
        pads=both_sides(call.numbers("pad", count, 0)),
        output_padding=call.numbers("adj", count, 0),
        groups=call.integer("num_group"),
    )
    return _biased(call, call.at.op(op))


@converts("Pooling")
def pooling(call: Call) -> Value:
    """The mean, the maximum or the sum of windows, or of the whole map."""
    call.expect_layout(*_LAYOUTS)
    x, kind, rounding = call.tensor(), call.text("pool_type"), call.text("pooling_convention")
    if kind not in ("avg", "max") or rounding not in ("valid", "full"):
        raise call.unsupported(f"the pool {kind!r} with the convention {rounding!r}")
    count = x.rank - 2
    if call.flag("global_pool"):
        return x.reduce("mean" if kind == "avg" else "max", list(range(2, x.rank)), keep_dims=True)
    op = graph.PoolOp(
        x.ssa,
        kind,
        call.numbers("kernel", count, 1),
        strides=call.numbers("stride", count, 1),
        pads=both_sides(call.numbers("pad", count, 0)),
        ceil=rounding == "full",
        count_include_pad=kind == "avg" and call.flag("count_include_pad"),
    )
    return call.at.op(op)


@converts("UpSampling")
def up_sampling(call: Call) -> Value:
    """Each pixel several times."""
    parts, scale = call.tensors("data"), call.integer("scale")
    if call.text("sample_type") != "nearest" or len(parts) != 1 or scale < 1:
        raise call.unsupported("other than the nearest pixel of one feature map")
    x = parts[0]
    shape = [*x.dims[:2], *(dim * scale for dim in x.dims[2:])]
    op = graph.ResizeOp(x.ssa, shape, mode="nearest", coordinate="asymmetric", nearest="floor")
    return call.at.op(op)
