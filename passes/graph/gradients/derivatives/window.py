"""Derivatives of convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul

import numpy as np
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.types import dtype_of, tensor_of
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, derivative
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


@derivative(graph.ConvOp)
def conv(op: graph.ConvOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """
    dx is the transposed convolution of dy; dw the convolution of x by dy, with batch and channels exchanged,
    strides and dilations too.

    Source: Dumoulin and Visin, "A guide to convolution arithmetic for deep learning" (2016), chapter 4.
    """
    rank = len(b.dims(op.x)) - 2
    if not _is_plain(op, rank):
        raise StepwellError("no-derivative", op, "a convolution has a derivative in the plain layout")
    return [_conv_input(op, dy, b), _conv_weights(op, dy, b)]


def _is_plain(op: graph.ConvOp, rank: int) -> bool:
    return len(op.data_layout.data) == rank + 2 and op.data_layout.data.startswith("NC")


def _conv_input(op: graph.ConvOp, dy: SSAValue, b: GradientBuilder) -> SSAValue:
    return _transposed(op.x, op.w, dy, op, b, int(op.groups.value.data))


def _transposed(
    x: SSAValue, w: SSAValue, dy: SSAValue, op: graph.ConvOp | graph.PoolOp, b: GradientBuilder, groups: int
) -> SSAValue:
    """The transposed convolution that has the shape of x."""
    strides, dilations = list(op.strides.get_values()), list(op.dilations.get_values())
    pads = list(op.pads.get_values())
    rank = len(strides)
    sizes = b.static(b.dims(x)[2:], "the input's spatial sizes", op)
    kernel = b.static(b.dims(w)[2:], "the kernel's sizes", op)
    outputs = b.static(b.dims(dy)[2:], "the output's spatial sizes", op)
    padding = [
        sizes[i]
        - ((outputs[i] - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 - pads[i] - pads[i + rank])
        for i in range(rank)
    ]
    return b.insert(
        graph.ConvTransposeOp(
            dy, w, strides=strides, dilations=dilations, pads=pads, output_padding=padding, groups=groups
        )
    )


def _conv_weights(op: graph.ConvOp, dy: SSAValue, b: GradientBuilder) -> SSAValue:
    groups, rank = int(op.groups.value.data), len(b.dims(op.x)) - 2
    exchanged = [1, 0, *range(2, rank + 2)]
    if groups == 1:
        return b.transpose(_weights_of(op.x, dy, op, b), exchanged)
    # Each group alone; of a depthwise convolution, each channel.
    depth = b.static(b.dims(op.x)[1:2], "the number of channels", op)[0] // groups
    width = b.static(b.dims(dy)[1:2], "the number of channels", op)[0] // groups
    parts: list[SSAValue] = []
    for group in range(groups):
        x = _channels(op.x, group * depth, (group + 1) * depth, b)
        d = _channels(dy, group * width, (group + 1) * width, b)
        parts.append(b.transpose(_weights_of(x, d, op, b), exchanged))
    return b.insert(graph.ConcatOp(parts, 0))


def _weights_of(x: SSAValue, dy: SSAValue, op: graph.ConvOp, b: GradientBuilder) -> SSAValue:
    """The derivative for weights [input channels, output channels, kernel…], of one group."""
    rank = len(b.dims(x)) - 2
    exchanged = [1, 0, *range(2, rank + 2)]
    found = b.insert(
        graph.ConvOp(
            b.transpose(x, exchanged),
            b.transpose(dy, exchanged),
            strides=list(op.dilations.get_values()),
            dilations=list(op.strides.get_values()),
            pads=list(op.pads.get_values()),
        )
    )
    # Strides may leave input at the end that no window reaches: rows beyond the kernel.
    kernel = b.dims(op.w)[2:]
    if all(a.proves_equal(k) for a, k in zip(b.dims(found)[2:], kernel, strict=True)):
        return found
    return b.slice(found, [0] * (rank + 2), [*b.dims(found)[:2], *kernel])


def _channels(value: SSAValue, start: int, end: int, b: GradientBuilder) -> SSAValue:
    dims = b.dims(value)
    return b.slice(value, [0, start, *[0] * (len(dims) - 2)], [dims[0], end, *dims[2:]])


@derivative(graph.PoolOp)
def pool(op: graph.PoolOp, dy: SSAValue | Sequence[SSAValue | None], b: GradientBuilder) -> Cotangents:
    """
    Of a maximum, dy added where the first of the largest elements was; of a mean, shares for all cells.

    Raises: StepwellError `no-derivative` for other pools.
    """
    kind = op.kind.data
    if not isinstance(dy, SSAValue):
        dy = next(iter(dy)) or b.full(0.0, op.outputs[0])
    if kind == "max":
        return [_of_maximum(op, dy, b)]
    if kind == "avg" and not bool(op.ceil):
        return [_of_mean(op, dy, b)]
    raise StepwellError("no-derivative", op, f"graph.pool of kind {kind} has no derivative yet")


def _of_maximum(op: graph.PoolOp, dy: SSAValue, b: GradientBuilder) -> SSAValue:
    """The positions, flat in the whole tensor, are made by the same pool."""
    again = graph.PoolOp(
        op.x,
        "max",
        list(op.kernel.get_values()),
        strides=list(op.strides.get_values()),
        dilations=list(op.dilations.get_values()),
        pads=list(op.pads.get_values()),
        ceil=bool(op.ceil),
        indices="row",
    )
    b.rewriter.insert(again)
    flat = b.reshape(b.full(0.0, op.x), [_count(op.x, b)])
    places = b.reshape(again.outputs[1], [_count(dy, b)])
    added = graph.ScatterElementsOp(flat, places, b.reshape(dy, [_count(dy, b)]), 0, "add")
    return b.reshape(b.insert(added), b.dims(op.x))


def _count(value: SSAValue, b: GradientBuilder) -> Dim:
    """The number of elements of a tensor."""
    return reduce(mul, b.dims(value), Dim.of(1))


def _of_mean(op: graph.PoolOp, dy: SSAValue, b: GradientBuilder) -> SSAValue:
    """A transposed depthwise convolution of dy over the number of cells, by ones."""
    kernel = list(op.kernel.get_values())
    channels = b.static(b.dims(op.x)[1:2], "the number of channels", op)[0]
    dtype = dtype_of(tensor_of(op.x).element_type)
    ones = b.insert(graph.ConstantOp.of(np.ones([channels, 1, *kernel], dtype), b.weights))
    if bool(op.count_include_pad):
        share = b.scaled(dy, 1.0 / float(np.prod(kernel)))
    else:
        cells = graph.ConvOp(
            b.full(1.0, op.x),
            ones,
            strides=list(op.strides.get_values()),
            dilations=list(op.dilations.get_values()),
            pads=list(op.pads.get_values()),
            groups=channels,
        )
        share = b.divide(dy, b.insert(cells))
    return _transposed(op.x, ones, share, op, b, channels)
