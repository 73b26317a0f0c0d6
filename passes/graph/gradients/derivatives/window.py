"""Derivatives of convolutions and pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue

from stepwell.dialects import graph
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
    strides, dilations = list(op.strides.get_values()), list(op.dilations.get_values())
    sliding = _Sliding(strides, dilations, list(op.pads.get_values()), int(op.groups.value.data))
    return [_transposed(op.x, op.w, dy, op, b, sliding.groups), _weights(op.x, dy, op.w, sliding, b)]


def _is_plain(op: graph.ConvOp, rank: int) -> bool:
    return len(op.data_layout.data) == rank + 2 and op.data_layout.data.startswith("NC")


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
    extra = [
        sizes[i]
        - ((outputs[i] - 1) * strides[i] + dilations[i] * (kernel[i] - 1) + 1 - pads[i] - pads[i + rank])
        for i in range(rank)
    ]
    # A last window of a pool that rounds up reaches beyond the pads: its cells there are cut away.
    pads[rank:] = [pad - min(more, 0) for pad, more in zip(pads[rank:], extra, strict=True)]
    padding = [max(more, 0) for more in extra]
    return b.insert(
        graph.ConvTransposeOp(
            dy, w, strides=strides, dilations=dilations, pads=pads, output_padding=padding, groups=groups
        )
    )


@derivative(graph.ConvTransposeOp)
def conv_transpose(op: graph.ConvTransposeOp, dy: SSAValue, b: GradientBuilder) -> Cotangents:
    """dx is the convolution of dy by the same weights; dw that of this convolution with the cotangent x."""
    rank = len(b.dims(op.x)) - 2
    if not op.data_layout.data.startswith("NC") or len(op.data_layout.data) != rank + 2:
        raise StepwellError("no-derivative", op, "a convolution has a derivative in the plain layout")
    pads = list(op.pads.get_values())
    if any(pad < 0 for pad in pads):  # padding of the result, which nothing depends on
        cut = [0, 0, *(min(p, 0) for p in pads[:rank]), 0, 0, *(min(p, 0) for p in pads[rank:])]
        dy = b.insert(graph.PadOp(dy, cut))
        pads = [max(pad, 0) for pad in pads]
    sliding = _Sliding(
        list(op.strides.get_values()), list(op.dilations.get_values()), pads, int(op.groups.value.data)
    )
    dx = b.insert(
        graph.ConvOp(
            dy, op.w, strides=sliding.strides, dilations=sliding.dilations, pads=pads, groups=sliding.groups
        )
    )
    return [_cut(dx, b.dims(op.x), b), _weights(dy, op.x, op.w, sliding, b)]


@dataclass(frozen=True)
class _Sliding:
    """The parameters of a convolution."""

    strides: Sequence[int]
    dilations: Sequence[int]
    pads: Sequence[int]
    groups: int


def _weights(x: SSAValue, dy: SSAValue, w: SSAValue, sliding: _Sliding, b: GradientBuilder) -> SSAValue:
    """
    The cotangent of the weights of a convolution of x: dy slid over x, with batch and channels exchanged.

    Of several groups the batches are the channels of one convolution by groups: depthwise 3x3 of 32 channels
    at 28x28 compile in 1.2 s and run in 0.09 ms, a convolution a group in 2.9 s and 0.19 ms.
    """
    rank, groups = len(b.dims(x)) - 2, sliding.groups
    exchanged = [1, 0, *range(2, rank + 2)]
    if groups == 1:
        moved = b.transpose(x, exchanged)
    else:
        batch, channels, *sizes = b.dims(x)
        depth = channels // groups
        split = b.reshape(x, [batch, groups, depth, *sizes])
        moved = b.transpose(split, [2, 1, 0, *range(3, rank + 3)])
        moved = b.reshape(moved, [depth, batch * groups, *sizes])
    found = b.insert(
        graph.ConvOp(
            moved,
            b.transpose(dy, exchanged),
            groups=groups,
            strides=list(sliding.dilations),
            dilations=list(sliding.strides),
            pads=list(sliding.pads),
        )
    )
    # Strides may leave input at the end that no window reaches: rows beyond the kernel.
    return b.transpose(_cut(found, [*b.dims(found)[:2], *b.dims(w)[2:]], b), exchanged)


def _cut(value: SSAValue, dims: Sequence[Dim], b: GradientBuilder) -> SSAValue:
    """The first elements along each axis, as many as `dims` say."""
    if all(have.proves_equal(want) for have, want in zip(b.dims(value), dims, strict=True)):
        return value
    return b.slice(value, [0] * len(dims), dims)


@derivative(graph.PoolOp)
def pool(op: graph.PoolOp, dy: SSAValue | Sequence[SSAValue | None], b: GradientBuilder) -> Cotangents:
    """
    Of a maximum, dy added where the first of the largest elements was; of a mean, shares for all cells; of a
    p-norm, dy x |x|^(p - 2) / y^(p - 1), 0 where y is 0.
    """
    if not isinstance(dy, SSAValue):
        dy = next(iter(dy)) or b.zeros(op.outputs[0])
    if not op.data_layout.data.startswith("NC") or len(op.data_layout.data) != len(b.dims(op.x)):
        raise StepwellError("no-derivative", op, "a pool has a derivative in the plain layout")
    match op.kind.data:
        case "max":
            return [_of_maximum(op, dy, b)]
        case "avg":
            share = b.divide(dy, b.array(_cells(op, b), dy))
            return [_to_all_cells(op, share, b)]
        case _:
            return [_of_norm(op, dy, b)]


def _of_norm(op: graph.PoolOp, dy: SSAValue, b: GradientBuilder) -> SSAValue:
    x, y, p = op.x, op.outputs[0], op.p.value.data
    is_zero = b.equal(y, b.scalar(0.0, y))
    size = b.where(is_zero, b.scalar(1.0, y), y)
    share = b.where(is_zero, b.scalar(0.0, y), b.divide(dy, _power(size, p - 1, b)))
    slope = b.multiply(b.insert(graph.SignOp(x)), _power(b.insert(graph.AbsOp(x)), p - 1, b))
    return b.multiply(slope, _to_all_cells(op, share, b))


def _power(x: SSAValue, exponent: int, b: GradientBuilder) -> SSAValue:
    return b.insert(graph.PowerOp(x, b.scalar(float(exponent), x)))


def _cells(op: graph.PoolOp, b: GradientBuilder) -> npt.NDArray[np.float64]:
    """The number of cells that each window's mean is of, [1, 1, windows…]."""
    rank = len(op.kernel)
    sizes = b.static(b.dims(op.x)[2:], "the input's spatial sizes", op)
    windows = b.static(b.dims(op.outputs[0])[2:], "the output's spatial sizes", op)
    pads, cells = op.pads.get_values(), np.ones((1, 1))
    for axis in range(rank):
        begin = np.arange(windows[axis])[:, None] * op.strides.get_values()[axis] - pads[axis]
        places = begin + np.arange(op.kernel.get_values()[axis]) * op.dilations.get_values()[axis]
        low, high = 0, sizes[axis]
        if op.count_include_pad:
            low, high = -pads[axis], high + pads[axis + rank]
        count = ((places >= low) & (places < high)).sum(axis=1)
        cells = cells[..., None] * count
    return cells


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
    return b.added_at(op.x, again.outputs[1], dy)


def _to_all_cells(op: graph.PoolOp, share: SSAValue, b: GradientBuilder) -> SSAValue:
    """The sum of the shares of the windows over each cell: a transposed depthwise convolution by ones."""
    kernel = list(op.kernel.get_values())
    channels = b.static(b.dims(op.x)[1:2], "the number of channels", op)[0]
    return _transposed(op.x, b.array(np.ones([channels, 1, *kernel]), op.x), share, op, b, channels)
