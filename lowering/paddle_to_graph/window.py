"""Convolutions, pools, and feature maps of other sizes, with channels first."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from typing import cast

from stepwell.dialects import graph
from stepwell.lowering.paddle_to_graph.support import Call, alternating, converts
from stepwell.lowering.to_graph import Value, same_pad
from stepwell.runtime.dims import Dim


def _pads(call: Call, sizes: Sequence[Dim], kernel: Sequence[Dim], strides: Sequence[int]) -> list[int]:
    """The pads of windows, all begins and then all ends."""
    kind, count, given = call.text("padding_algorithm"), len(sizes), call.integers("paddings")
    if kind == "VALID":
        return [0] * (2 * count)
    dilations = call.integers("dilations") if call.has("dilations") else [1] * count
    if kind == "SAME":
        totals = [same_pad(call, *each) for each in zip(sizes, kernel, strides, dilations, strict=True)]
        return [total // 2 for total in totals] + [total - total // 2 for total in totals]
    if len(given) == count:
        return [*given, *given]
    if len(given) != 2 * count:
        raise call.invalid(f"`paddings` must have {count} or {2 * count} numbers, found {list(given)}")
    begins, ends = alternating(given)
    return begins + ends


def _strides(call: Call, count: int) -> list[int]:
    strides = list(call.integers("strides"))
    if len(strides) != count or min(strides, default=0) < 1:
        raise call.invalid(f"`strides` must be {count} positive numbers, found {strides}")
    return strides


@converts("conv2d", "depthwise_conv2d", "conv3d")
def conv(call: Call) -> Value:
    """A convolution in groups."""
    call.expect_channels_first()
    x, kernel = call.tensor("input"), call.tensor("filter")
    strides = _strides(call, x.rank - 2)
    op = graph.ConvOp(
        x.ssa,
        kernel.ssa,
        strides=strides,
        dilations=call.integers("dilations"),
        pads=_pads(call, x.dims[2:], kernel.dims[2:], strides),
        groups=call.integer("groups"),
    )
    return call.at.op(op)


@converts("conv2d_transpose")
def conv_transpose(call: Call) -> Value:
    """The transpose of a convolution, which crops its result by the pads."""
    call.expect_channels_first()
    x, kernel = call.tensor(), call.tensor("filter")
    count = x.rank - 2
    has_size = call.op.tensor("output_size") is not None and call.constants("output_size")
    if call.text("padding_algorithm") == "SAME" or has_size:
        raise call.unsupported("padding SAME or a size of the result")
    op = graph.ConvTransposeOp(
        x.ssa,
        kernel.ssa,
        strides=_strides(call, count),
        dilations=call.integers("dilations"),
        pads=_pads(call, x.dims[2:], kernel.dims[2:], _strides(call, count)),
        output_padding=list(call.integers("output_padding")) or [0] * count,
        groups=call.integer("groups"),
    )
    return call.at.op(op)


@converts("pool2d")
def pool2d(call: Call) -> Value:
    """The mean or the maximum of windows, of the whole map, or of so many windows as are asked for."""
    call.expect_channels_first()
    x, kind, kernel = call.tensor(), call.text("pooling_type"), call.constants("kernel_size")
    if kind not in ("avg", "max"):
        raise call.unsupported(f"the pool {kind!r}")
    if call.flag("global_pooling") or (call.flag("adaptive") and set(kernel) == {1}):
        return x.reduce("mean" if kind == "avg" else "max", [2, 3], keep_dims=True)
    kernel = kernel * 2 if len(kernel) == 1 else kernel
    if call.flag("adaptive"):
        return _adaptive(call, x, kind, kernel)
    strides = _strides(call, 2)
    op = graph.PoolOp(
        x.ssa,
        kind,
        kernel,
        strides=strides,
        pads=_pads(call, x.dims[2:], list(map(Dim.of, kernel)), strides),
        ceil=call.flag("ceil_mode"),
        count_include_pad=kind == "avg" and not call.flag("exclusive"),
    )
    return call.at.op(op)


def _adaptive(call: Call, x: Value, kind: str, counts: Sequence[int]) -> Value:
    """Equal windows, where the counts divide the sizes."""
    sizes = x.dims[2:]
    if not all(dim.is_static and dim.value % count == 0 for dim, count in zip(sizes, counts, strict=True)):
        raise call.unsupported(f"{list(counts)} windows of the sizes {', '.join(map(str, sizes))}")
    kernel = [dim.value // count for dim, count in zip(sizes, counts, strict=True)]
    return call.at.op(graph.PoolOp(x.ssa, kind, kernel, strides=kernel))


@converts("bilinear_interp", "nearest_interp")
def interpolate(call: Call) -> Value:
    """Feature maps of another size."""
    call.expect_channels_first()
    x, scales = call.tensor(), [float(each) for each in cast("Sequence[float]", call.value("scale"))]
    if (
        call.op.tensor("out_size") is not None
        or call.op.tensors("size_tensor")
        or call.op.tensor("scale_tensor")
    ):
        raise call.unsupported("sizes that are tensors")
    given = [call.integer("out_h"), call.integer("out_w")]
    if min(given) > 0 and not scales:
        sizes = list(map(Dim.of, given))
    else:
        sizes = [_scaled(call, dim, scale) for dim, scale in zip(x.dims[2:], scales, strict=True)]
    linear = call.op.SIGNATURE.name == "bilinear_interp"
    coordinate = "align_corners" if call.flag("align_corners") else "asymmetric"
    if linear and not call.flag("align_corners") and call.integer("align_mode") == 0:
        coordinate = "half_pixel"
    nearest = "round_prefer_ceil" if call.flag("align_corners") else "floor"
    shape, mode = [*x.dims[:2], *sizes], "linear" if linear else "nearest"
    factors = None if call.flag("align_corners") or not scales else [1.0, 1.0, *scales]
    return call.at.op(
        graph.ResizeOp(x.ssa, shape, factors, mode=mode, coordinate=coordinate, nearest=nearest)
    )


def _scaled(call: Call, dim: Dim, scale: float) -> Dim:
    """A size times a factor, of which a fraction needs a known size."""
    if scale == int(scale):
        return dim * int(scale)
    if not dim.is_static:
        raise call.unsupported(f"the open size {dim} times {scale}")
    return Dim.of(floor(dim.value * scale))
