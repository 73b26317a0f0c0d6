"""`flatten-atrous-conv`: convolutions between space-to-batch and batch-to-space become dilated ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.types import dims_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.graph.simplify.fold_explicit_padding import padding_patterns
from stepwell.patterns.driver.greedy import apply_patterns
from stepwell.runtime.dims import Dim
from stepwell.runtime.layout import Layout, parse_layout


@dataclass(frozen=True)
class FlattenAtrousConvPass(FunctionPass):
    """
    Replace a convolution between space-to-batch and batch-to-space by a dilated one.

    Frameworks without dilation write dilated convolutions like this: pad, make an image of every d-th pixel
    (space to batch), convolve, interleave the pixels again (batch to space), crop. The padding and cropping
    merge into the pads of the convolution where that is possible.

    Class: rounding (sums may be taken in another order). Runs before `simplify-expr`, which merges views.
    Source: TVM's FlattenAtrousConv.
    """

    name = "flatten-atrous-conv"
    opt_level = 1
    numerics = Numerics.ROUNDING

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        apply_patterns(func.body, [FlattenAtrousConv()])
        apply_patterns(func.body, [*padding_patterns(weights_of(ctx)), CropConv()])


class FlattenAtrousConv(RewritePattern):
    """
    Replace reshape-transpose-reshape before and after a convolution by dilation, where they undo each other.

    ```mlir
    %0 = graph.reshape %x shape <[1, 3, 4, 2, 4, 2]> : tensor<1x3x8x8xf32> -> tensor<1x3x4x2x4x2xf32>
    %1 = graph.transpose %0 perm [3, 5, 0, 1, 2, 4] : tensor<1x3x4x2x4x2xf32> -> tensor<2x2x1x3x4x4xf32>
    %2 = graph.reshape %1 shape <[4, 3, 4, 4]> : tensor<2x2x1x3x4x4xf32> -> tensor<4x3x4x4xf32>
    %3 = graph.conv %2, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
      : (tensor<4x3x4x4xf32>, tensor<5x3x3x3xf32>) -> tensor<4x5x2x2xf32>
    %4 = graph.reshape %3 shape <[2, 2, 1, 5, 2, 2]> : tensor<4x5x2x2xf32> -> tensor<2x2x1x5x2x2xf32>
    %5 = graph.transpose %4 perm [2, 3, 4, 0, 5, 1] : tensor<2x2x1x5x2x2xf32> -> tensor<1x5x2x2x2x2xf32>
    %y = graph.reshape %5 shape <[1, 5, 4, 4]> : tensor<1x5x2x2x2x2xf32> -> tensor<1x5x4x4xf32>
    // ->
    %y = graph.conv %x, %w strides [1, 1] dilations [2, 2] pads [0, 0, 0, 0]
      : (tensor<1x3x8x8xf32>, tensor<5x3x3x3xf32>) -> tensor<1x5x4x4xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReshapeOp, rewriter: PatternRewriter) -> None:
        between = _moved_views(op.result)
        if between is None or not isinstance(conv := between[0].owner, graph.ConvOp):
            return
        layout = parse_layout(conv.data_layout.data)
        pixels = _moved_views(conv.x)
        if pixels is None or layout.letters[:1] != ("N",) or layout.rank != len(layout.letters):
            return
        if conv.out_layout is not None or any(stride != 1 for stride in conv.strides.get_values()):
            return
        source, split, perm = pixels
        blocks = _blocks(dims_of(source.type), split, layout)
        if blocks is None or not _takes_apart(perm, layout) or not _puts_together(between[2], layout):
            return
        result, rank = dims_of(conv.result.type), len(layout.spatial)
        images = dims_of(source.type)[0]
        if between[1] != (*map(Dim.of, blocks), images, *result[1:]) or not _is_interleaved(
            op, result, blocks, layout
        ):
            return
        dilated = graph.ConvOp(
            source,
            conv.w,
            dilations=[d * b for d, b in zip(conv.dilations.get_values(), blocks, strict=True)],
            pads=[pad * blocks[i % rank] for i, pad in enumerate(conv.pads.get_values())],
            groups=conv.groups.value.data,
            data_layout=conv.data_layout.data,
            kernel_layout=conv.kernel_layout.data,
        )
        if dilated.result.type == op.result.type:
            rewriter.replace(op, dilated)


def _moved_views(value: SSAValue) -> tuple[SSAValue, tuple[Dim, ...], Sequence[int]] | None:
    """The input, transposed shape and permutation of a value made by reshape-transpose-reshape, or None."""
    if not isinstance(outer := value.owner, graph.ReshapeOp):
        return None
    if not isinstance(moved := outer.input.owner, graph.TransposeOp):
        return None
    if not isinstance(inner := moved.input.owner, graph.ReshapeOp):
        return None
    return inner.input, dims_of(inner.result.type), moved.perm.get_values()


def _blocks(dims: Sequence[Dim], split: Sequence[Dim], layout: Layout) -> list[int] | None:
    """The block size of each spatial axis, if `split` is `dims` with those axes split in [cells, block]."""
    blocks: list[int] = []
    expected: list[Dim] = []
    for letter, dim in zip(layout.letters, dims, strict=True):
        if letter not in layout.spatial:
            expected.append(dim)
            continue
        if len(split) <= len(expected) + 1 or not (block := split[len(expected) + 1]).is_static:
            return None
        if block.value < 1 or not (dim // block) * block == dim:
            return None
        blocks.append(block.value)
        expected += [dim // block, block]
    return blocks if tuple(expected) == tuple(split) else None


def _takes_apart(perm: Sequence[int], layout: Layout) -> bool:
    """Whether a permutation is space-to-batch: the pixels of blocks first, other dimensions in order."""
    cells: list[int] = []
    pixels: list[int] = []
    for letter in layout.letters:
        axis = len(cells) + len(pixels)
        cells.append(axis)
        pixels += [axis + 1] if letter in layout.spatial else []
    return list(perm) == [*pixels, *cells]


def _puts_together(perm: Sequence[int], layout: Layout) -> bool:
    """Whether a permutation is batch-to-space: the leading axes of pixels move after their axes of cells."""
    rank = len(layout.spatial)
    expected: list[int] = []
    for axis, letter in enumerate(layout.letters):
        expected.append(rank + axis)
        expected += [layout.spatial.index(letter)] if letter in layout.spatial else []
    return list(perm) == expected


def _is_interleaved(op: graph.ReshapeOp, cells: Sequence[Dim], blocks: Sequence[int], layout: Layout) -> bool:
    """Whether a reshape merges each spatial axis of `cells` with its block of pixels, and nothing else."""
    joined = [
        cell * blocks[layout.spatial.index(letter)] if letter in layout.spatial else cell
        for letter, cell in zip(layout.letters, cells, strict=True)
    ]
    return dims_of(op.result.type)[1:] == tuple(joined[1:])


class CropConv(RewritePattern):
    """
    Merge a slice that crops a convolution's result into its pads, if the pads cover the crop.

    ```mlir
    %0 = graph.conv %x, %w strides [1] dilations [1] pads [2, 2] data_layout "NCW" kernel_layout "OIW"
      : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x10xf32>
    %y = graph.slice %0 starts <[0, 0, 1]> limits <[1, 4, 8]> steps [1, 1, 1]
      : tensor<1x4x10xf32> -> tensor<1x4x7xf32>
    // ->
    %y = graph.conv %x, %w strides [1] dilations [1] pads [1, 0] data_layout "NCW" kernel_layout "OIW"
      : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x7xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SliceOp, rewriter: PatternRewriter) -> None:
        conv = op.input.owner
        if not isinstance(conv, graph.ConvOp) or not op.input.has_one_use() or conv.out_layout is not None:
            return
        crops = _crops(op)
        layout = parse_layout(conv.data_layout.data)
        if crops is None or layout.rank != len(layout.letters):
            return
        begins, ends = crops
        axes = [layout.axis(letter) for letter in layout.spatial]
        if any(begins[i] or ends[i] for i in range(layout.rank) if i not in axes):
            return
        strides = [*conv.strides.get_values()] * 2
        cut = [begins[axis] for axis in axes] + [ends[axis] for axis in axes]
        pads = [pad - c * s for pad, c, s in zip(conv.pads.get_values(), cut, strides, strict=True)]
        if min(pads) < 0:
            return
        smaller = conv.on(conv.operands, pads=DenseArrayBase.from_list(i64, pads))
        if smaller.result.type == op.result.type:
            rewriter.replace(op, smaller)


def _crops(op: graph.SliceOp) -> tuple[list[int], list[int]] | None:
    """The number of elements that a slice crops from the begin and end of each dimension; None if unknown."""
    if op.starts is None or op.limits is None or any(step != 1 for step in op.steps.get_values()):
        return None
    begins = list(op.starts.get())
    ends = [dim - limit for dim, limit in zip(dims_of(op.input.type), op.limits.get(), strict=True)]
    if not all(crop.is_static and crop.value >= 0 for crop in (*begins, *ends)):
        return None
    return [crop.value for crop in begins], [crop.value for crop in ends]
