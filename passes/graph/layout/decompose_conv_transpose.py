"""`decompose-conv-transpose`: transposed convolutions as convolutions with result pixels as channels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.costs.layouts import LAYOUTS
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.structure import constant_array
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.types import WeightAttr, dims_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.layout import parse_layout


@dataclass(frozen=True)
class DecomposeConvTransposePass(FunctionPass):
    """
    Replace a transposed convolution with constant filters by a convolution and a reordering of its channels.

    With stride s a result cell depends on every s-th kernel point only. The points for cells at one phase of
    the stride are a small kernel: all s of them give channels of one convolution, which are then interleaved
    as pixels. The direct computation inserts zeros into the input, and most of its products are with them.

    ```mlir
    %y = graph.conv_transpose %x, %w strides [2] dilations [1] pads [0, 0] output_padding [0] …
      : (tensor<1x8x5xf32>, tensor<8x4x2xf32>) -> tensor<1x4x10xf32>
    // ->
    %0 = graph.conv %x, %v strides [1] dilations [1] pads [0, 0] …
      : (tensor<1x8x5xf32>, tensor<8x8x1xf32>) -> tensor<1x8x5xf32>
    %1 = graph.reshape %0 shape <[1, 4, 2, 5]> : tensor<1x8x5xf32> -> tensor<1x4x2x5xf32>
    %2 = graph.transpose %1 perm [0, 1, 3, 2] : tensor<1x4x2x5xf32> -> tensor<1x4x5x2xf32>
    %y = graph.reshape %2 shape <[1, 4, 10]> : tensor<1x4x5x2xf32> -> tensor<1x4x10xf32>
    ```
    Where small kernels differ much in size (3x3 with stride 2: 4, 2, 2 and 1 points), each is a convolution
    of its own, without cells outside the result, and their channels are concatenated (129 to 64 channels at
    16x16: 0.43 to 0.93 of peak).
    Class: rounding. Dilated ones stay.
    Source: Shi et al. 2016, "Is the deconvolution layer the same as a convolutional layer?".
    """

    name = "decompose-conv-transpose"
    opt_level = 1
    numerics = Numerics.ROUNDING

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        for op in list(func.walk()):
            if isinstance(op, graph.ConvTransposeOp) and _applies(op):
                _decompose(op, weights_of(ctx))


def _applies(op: graph.ConvTransposeOp) -> bool:
    if any(dim == 0 for dim in dims_of(op.result.type)):
        return False  # there is nothing to compute, and the small kernels may be larger than the padded input
    plain = all(
        parse_layout(text.data).axes[:2] == axes
        for text, axes in ((op.data_layout, (("N", 0), ("C", 0))), (op.kernel_layout, (("I", 0), ("O", 0))))
    )
    return (
        plain and isinstance(op.w.owner, graph.ConstantOp) and all(d == 1 for d in op.dilations.get_values())
    )


@dataclass(frozen=True)
class _Axis:
    """The geometry of a spatial axis: the sizes of the small kernels, and the range of result cells."""

    kernel: int
    stride: int
    begin: int
    tail: int
    """The result cells after the first one of the last input cell: K + output_padding - end pad - 1."""

    @property
    def points(self) -> int:
        """The points of each small kernel, with zeros for those that the kernel does not have."""
        return -(-self.kernel // self.stride)

    @property
    def more(self) -> int:
        """The strides of the result past the last input cell; negative when the result ends before it."""
        return self.tail // self.stride

    def taps(self, phase: int) -> list[tuple[int, int]]:
        """Pairs of a small kernel's point, in reverse order, and the kernel's point, for a stride's phase."""
        points = [(self.points - 1 - t, phase + t * self.stride) for t in range(self.points)]
        return [(at, point) for at, point in points if point < self.kernel]

    @property
    def growth(self) -> int:
        """The number of strides in the result less the number of input cells."""
        return (self.tail - self.begin) // self.stride

    def cells(self, rest: int) -> _Cells:
        """The small convolution for the result's cells `rest` after the begin of a stride."""
        before, phase = divmod(self.begin + rest, self.stride)
        points = range(phase, self.kernel, self.stride)[::-1]
        pad = len(points) - 1 - before
        return _Cells(points, pad, self.growth - pad + len(points) - 1)


@dataclass(frozen=True)
class _Cells:
    """A convolution by a small kernel along an axis, which gives every s-th cell of the result."""

    points: range
    """The points of the full kernel, in reverse order."""
    begin: int
    end: int
    """The pads `begin` and `end`."""


def _decompose(op: graph.ConvTransposeOp, weights: WeightStore) -> None:
    """Replace a transposed convolution by one convolution for all phases, or by one for each phase."""
    constant = op.w.owner
    assert isinstance(constant, graph.ConstantOp)
    groups, pads = op.groups.value.data, op.pads.get_values()
    kernel = constant_array(constant, weights)
    rank = kernel.ndim - 2
    axes = [
        _Axis(size, stride, begin, size + extra - end - 1)
        for size, stride, begin, extra, end in zip(
            kernel.shape[2:],
            op.strides.get_values(),
            pads[:rank],
            op.output_padding.get_values(),
            pads[rank:],
            strict=True,
        )
    ]
    name = constant.value.weight_name.data if isinstance(constant.value, WeightAttr) else ""
    if _is_uneven(axes):
        _by_cells(op, kernel, axes, weights, name)
        return
    filters = graph.ConstantOp.of(_small_kernels(kernel, groups, axes), weights, f"{name}:places")
    conv = graph.ConvOp(
        op.x,
        _insert(filters, op),
        pads=[*(a.points - 1 for a in axes), *(max(0, a.more) for a in axes)],
        groups=groups,
        data_layout=op.data_layout.data,
    )
    Rewriter.replace_op(op, [], [_cropped(_side_by_side(_insert(conv, op), op, axes), op, axes)])


def _is_uneven(axes: Sequence[_Axis]) -> bool:
    """Whether a convolution for each phase saves many zero points, or nothing has to be reordered."""
    cells = [axis.cells(rest) for axis in axes for rest in range(axis.stride)]
    if any(not cell.points or min(cell.begin, cell.end) < 0 for cell in cells):
        return False
    used = prod(axis.kernel / (axis.points * axis.stride) for axis in axes)
    return used <= LAYOUTS.transposed_points or all(axis.stride == 1 for axis in axes)


def _by_cells(
    op: graph.ConvTransposeOp, w: npt.NDArray[Any], axes: Sequence[_Axis], weights: WeightStore, name: str
) -> None:
    """Replace an op by a convolution for each phase of the strides, and channels [phases · O] by pixels."""
    groups = op.groups.value.data
    grouped = w.reshape(groups, w.shape[0] // groups, *w.shape[1:]).swapaxes(1, 2)
    parts: list[SSAValue] = []
    for rests in product(*(range(axis.stride) for axis in axes)):
        cells = [axis.cells(rest) for axis, rest in zip(axes, rests, strict=True)]
        small = grouped[(..., *np.ix_(*(cell.points for cell in cells)))]
        small = np.ascontiguousarray(small.reshape(-1, *small.shape[2:]))
        suffix = "".join(map(str, rests))
        filters = _insert(graph.ConstantOp.of(small, weights, f"{name}:place{suffix}"), op)
        pads = [*(cell.begin for cell in cells), *(cell.end for cell in cells)]
        conv = graph.ConvOp(op.x, filters, pads=pads, groups=groups, data_layout=op.data_layout.data)
        parts.append(_insert(conv, op))
    y = parts[0] if len(parts) == 1 else _insert(graph.ConcatOp(parts, 1), op)
    channels, phases = dims_of(parts[0].type)[1], [axis.stride for axis in axes]
    rank = len(axes)
    order = [0, rank + 1, *(i for axis in range(rank) for i in (rank + 2 + axis, 1 + axis))]
    y = _pixels(y, op, axes, [*phases, channels], order)
    ends = [out - size for out, size in zip(dims_of(op.result.type)[2:], dims_of(y.type)[2:], strict=True)]
    pads = [Dim.of(0)] * (rank + 4) + ends
    Rewriter.replace_op(op, [], [y if all(pad == 0 for pad in pads) else _insert(graph.PadOp(y, pads), op)])


def _insert(op: GraphOp, before: GraphOp) -> SSAValue:
    return IRBuilder.before(before).value(op)


def _small_kernels(w: npt.NDArray[Any], groups: int, axes: Sequence[_Axis]) -> npt.NDArray[Any]:
    """Filters [groups · O · phases, I / groups, points…] from [I, O, kernel…]; points without a tap are 0."""
    depth, width = w.shape[0] // groups, w.shape[1]
    phases = [axis.stride for axis in axes]
    points = [axis.points for axis in axes]
    grouped = w.reshape(groups, depth, width, *w.shape[2:]).swapaxes(1, 2)
    filters = np.zeros((groups, width, *phases, depth, *points), w.dtype)
    for phase in product(*(range(stride) for stride in phases)):
        for taps in product(*(axis.taps(p) for axis, p in zip(axes, phase, strict=True))):
            at, point = [t[0] for t in taps], [t[1] for t in taps]
            filters[(slice(None), slice(None), *phase, slice(None), *at)] = grouped[(..., *point)]
    return filters.reshape(-1, depth, *points)


def _side_by_side(y: SSAValue, op: graph.ConvTransposeOp, axes: Sequence[_Axis]) -> SSAValue:
    """The channels [O · phases] of one convolution interleaved as pixels: [N, O, size · stride…]."""
    rank, channels = len(axes), dims_of(op.result.type)[1]
    order = [0, 1, *(i for axis in range(rank) for i in (2 + rank + axis, 2 + axis))]
    return _pixels(y, op, axes, [channels, *(axis.stride for axis in axes)], order)


def _pixels(
    y: SSAValue,
    op: graph.ConvTransposeOp,
    axes: Sequence[_Axis],
    split: Sequence[Dim | int],
    order: Sequence[int],
) -> SSAValue:
    """A tensor with its channels split in O and phases, which `order` interleaves: [N, O, size · stride…]."""
    if all(axis.stride == 1 for axis in axes):
        return y
    dims = dims_of(y.type)
    apart = graph.ReshapeOp(y, [dims[0], *split, *dims[2:]])
    moved = graph.TransposeOp(_insert(apart, op), order)
    wide = [size * axis.stride for size, axis in zip(dims[2:], axes, strict=True)]
    channels = dims_of(op.result.type)[1]
    return _insert(graph.ReshapeOp(_insert(moved, op), [dims[0], channels, *wide]), op)


def _cropped(y: SSAValue, op: graph.ConvTransposeOp, axes: Sequence[_Axis]) -> SSAValue:
    """The cells from the begin pad on, as many as the result has, by a `graph.pad` with negative pads."""
    zero = Dim.of(0)
    ends = [
        out - size + axis.begin
        for out, size, axis in zip(dims_of(op.result.type)[2:], dims_of(y.type)[2:], axes, strict=True)
    ]
    pads = [zero, zero, *(Dim.of(-axis.begin) for axis in axes), zero, zero, *ends]
    return y if all(pad == 0 for pad in pads) else _insert(graph.PadOp(y, pads), op)
