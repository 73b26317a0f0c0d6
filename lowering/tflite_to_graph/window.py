"""Convolutions and pools, on feature maps with channels last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32

from stepwell.dialects import graph
from stepwell.lowering.tflite_to_graph.support import Call, converts, on_codes
from stepwell.lowering.to_graph import Value, same_pad
from stepwell.runtime.dims import Dim

_LAYOUTS = {2: ("NHWC", "OHWI"), 3: ("NDHWC", "DHWIO")}
"""The layouts of feature maps and of filters by the number of spatial axes."""


@dataclass(frozen=True)
class Windows:
    """The windows of a call, one number for each spatial axis."""

    kernel: Sequence[Dim]
    strides: Sequence[int]
    dilations: Sequence[int]

    def pads(self, call: Call, sizes: Sequence[Dim]) -> list[int]:
        """The pads, all begins and then all ends; of an odd number more at the end."""
        if call.value("padding") == "VALID":
            return [0] * (2 * len(sizes))
        totals = [
            same_pad(call, *each)
            for each in zip(sizes, self.kernel, self.strides, self.dilations, strict=True)
        ]
        return [total // 2 for total in totals] + [total - total // 2 for total in totals]


def _windows(call: Call, kernel: Sequence[Dim], letters: str) -> Windows:
    strides = [call.integer(f"stride_{letter}") for letter in letters]
    has_dilation = call.has("dilation_h_factor")
    dilations = [call.integer(f"dilation_{each}_factor") if has_dilation else 1 for each in letters]
    if min(*strides, *dilations) < 1:
        raise call.unsupported(f"strides {strides} and dilations {dilations} must be positive")
    return Windows(kernel, strides, dilations)


def biased(call: Call, x: Value) -> Value:
    """A value with the bias of the call, if it has one, along the last axis."""
    bias = call.optional("bias")
    return x if bias is None else call.at.op(graph.BiasAddOp(x.ssa, bias.ssa, x.rank - 1))


@converts("conv_2d")
def conv_2d(call: Call) -> Value:
    """A convolution, in groups where the filters see fewer channels."""
    x, filters = call.tensor(), call.tensor("filter")
    _expect_rank(call, x, filters, 4)
    windows = _windows(call, filters.dims[1:3], "hw")
    depth = filters.dims[3]
    is_grouped = x.dims[3].is_static and depth.is_static and depth.value > 0
    groups = x.dims[3].value // depth.value if is_grouped else 1
    return biased(call, _convolved(call, x, filters, windows, max(groups, 1), _LAYOUTS[2]))


def _convolved(
    call: Call, x: Value, filters: Value, windows: Windows, groups: int, layouts: tuple[str, str]
) -> Value:
    op = graph.ConvOp(
        x.ssa,
        filters.ssa,
        strides=windows.strides,
        dilations=windows.dilations,
        pads=windows.pads(call, x.dims[1:-1]),
        groups=groups,
        data_layout=layouts[0],
        kernel_layout=layouts[1],
    )
    return call.at.op(op)


def _expect_rank(call: Call, x: Value, filters: Value, rank: int) -> None:
    if x.rank != rank or filters.rank != rank:
        raise call.unsupported(
            f"the input must have rank {rank}, and the filters, found {x.rank}, {filters.rank}"
        )


@converts("depthwise_conv_2d")
def depthwise_conv_2d(call: Call) -> Value:
    """A convolution whose filters see one channel each."""
    x, filters = call.tensor(), call.tensor("filter")
    _expect_rank(call, x, filters, 4)
    if not x.dims[3].is_static:
        raise call.unsupported(f"the number of channels must be known, found {x.dims[3]}")
    windows = _windows(call, filters.dims[1:3], "hw")
    return biased(call, _convolved(call, x, filters, windows, x.dims[3].value, ("NHWC", "IHWO")))


@converts("conv_3d")
def conv_3d(call: Call) -> Value:
    """A convolution over three axes."""
    x, filters = call.tensor(), call.tensor("filter")
    _expect_rank(call, x, filters, 5)
    windows = _windows(call, filters.dims[:3], "dhw")
    return biased(call, _convolved(call, x, filters, windows, 1, _LAYOUTS[3]))


@converts("transpose_conv")
def transpose_conv(call: Call) -> Value:
    """The transpose of a convolution, into the shape of an operand."""
    x, filters = call.tensor(), call.tensor("filter")
    _expect_rank(call, x, filters, 4)
    sizes = call.operand_sizes("shape")[1:3]
    windows = _windows(call, filters.dims[1:3], "hw")
    channels_first = x.transpose([0, 3, 1, 2])
    kernel = filters.transpose([3, 0, 1, 2])
    return biased(call, _transposed(call, channels_first, kernel, windows, sizes).transpose([0, 2, 3, 1]))


@converts("conv_3d_transpose")
def conv_3d_transpose(call: Call) -> Value:
    """The transpose of a convolution over three axes, into the shape of an operand."""
    x, filters = call.tensor(), call.tensor("filter")
    _expect_rank(call, x, filters, 5)
    sizes = call.operand_sizes("shape")[1:4]
    windows = _windows(call, filters.dims[:3], "dhw")
    channels_first = x.transpose([0, 4, 1, 2, 3])
    kernel = filters.transpose([4, 3, 0, 1, 2])
    return biased(call, _transposed(call, channels_first, kernel, windows, sizes).transpose([0, 2, 3, 4, 1]))


def _transposed(call: Call, x: Value, kernel: Value, windows: Windows, sizes: Sequence[Dim]) -> Value:
    """A transposed convolution of channels first; the pads are those of the convolution of the result."""
    pads, rank = windows.pads(call, sizes), len(sizes)
    extra: list[int] = []
    for axis, size in enumerate(sizes):
        span = (kernel.dims[2 + axis] - 1) * windows.dilations[axis] + 1
        cells = (x.dims[2 + axis] - 1) * windows.strides[axis] + span - pads[axis] - pads[rank + axis]
        rest = size - cells
        if not rest.is_static:
            raise call.unsupported(f"a transposed convolution into the open size {size}")
        extra.append(rest.value)
    # What the result has more than the windows reach is zeros, and fewer cells are cut off.
    ends = [pads[rank + axis] - min(more, 0) for axis, more in enumerate(extra)]
    op = graph.ConvTransposeOp(
        x.ssa,
        kernel.ssa,
        strides=windows.strides,
        dilations=windows.dilations,
        pads=[*pads[:rank], *ends],
        output_padding=[max(more, 0) for more in extra],
    )
    return call.at.op(op)


@converts("average_pool_2d", "max_pool_2d", "l2_pool_2d")
def pool_2d(call: Call) -> Value:
    """The mean, the maximum, or the root of the mean of squares, of windows."""
    x, name = call.tensor(), call.op.SIGNATURE.name
    kernel = [call.integer("filter_height"), call.integer("filter_width")]
    if x.rank != 4 or min(kernel) < 1:
        raise call.unsupported(f"the input must have rank 4, and the windows {kernel} be positive")
    windows = _windows(call, list(map(Dim.of, kernel)), "hw")
    is_mean_of_codes = call.scales[0] is not None and call.on_codes and name.startswith("average")
    value = x * x if name.startswith("l2") else x.cast(f32) if is_mean_of_codes else x
    op = graph.PoolOp(
        value.ssa,
        "max" if name.startswith("max") else "avg",
        kernel,
        strides=windows.strides,
        pads=windows.pads(call, x.dims[1:3]),
        data_layout="NHWC",
    )
    pooled = call.at.op(op)
    if is_mean_of_codes:
        return _nearest(pooled, kernel[0] * kernel[1]).cast(x.element)
    return pooled.apply(graph.SqrtOp) if name.startswith("l2") else pooled


def _nearest(mean: Value, count: int) -> Value:
    """
    Means of at most `count` codes as whole numbers, halves away from zero, as integer division rounds them.

    A mean that is no half is more than a quarter of 1 / count away from one: that much is added, because the
    quotient itself is rounded.
    """
    size = (abs(mean) + (0.5 + 0.25 / count)).apply(graph.FloorOp)
    return mean.formula.where(mean < 0.0, -size, size)


on_codes("average_pool_2d max_pool_2d")
