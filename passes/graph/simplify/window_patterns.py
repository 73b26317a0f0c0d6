"""Patterns of `simplify-expr` on windows: unused filter points are cut off, resizes to half become pools."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_float
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.runtime.layout import parse_layout


class DropPointsOnPads(RewritePattern):
    """
    Cut off the outer points of a filter that are only ever multiplied by padding.

    Atrous pyramids have them: with a dilation as large as the feature map only the middle point is left.

    ```mlir
    %y = graph.conv %x, %w strides [1, 1] dilations [8, 8] pads [8, 8, 8, 8]
      : (tensor<1x4x8x8xf32>, tensor<6x4x3x3xf32>) -> tensor<1x6x8x8xf32>
    // ->
    %v = graph.slice %w starts <[0, 0, 1, 1]> limits <[6, 4, 2, 2]> steps [1, 1, 1, 1]
      : tensor<6x4x3x3xf32> -> tensor<6x4x1x1xf32>
    %y = graph.conv %x, %v strides [1, 1] dilations [8, 8] pads [0, 0, 0, 0]
      : (tensor<1x4x8x8xf32>, tensor<6x4x1x1xf32>) -> tensor<1x6x8x8xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvOp, rewriter: PatternRewriter) -> None:
        kernel = parse_layout(op.kernel_layout.data)
        filters = dims_of(op.w.type)
        if not all(dim.is_static for dim in filters):
            return
        sizes = parse_layout(op.data_layout.data).logical(dims_of(op.x.type))
        windows = op.output_layout.logical(dims_of(op.result.type))
        pads, rank = list(op.pads.get_values()), len(kernel.spatial)
        starts, limits = [0] * kernel.rank, [dim.value for dim in filters]
        for axis, letter in enumerate(kernel.spatial):
            if not (sizes[letter].is_static and windows[letter].is_static):
                continue
            begin, end, kernel_axis = pads[axis], pads[rank + axis], kernel.axis(letter)
            step, dilation, points = (
                op.strides.get_values()[axis],
                op.dilations.get_values()[axis],
                limits[kernel_axis],
            )
            offsets = [point * dilation - begin for point in range(points)]
            reads = [_reads(at, step, windows[letter].value, sizes[letter].value) for at in offsets]
            if not any(reads):
                continue
            # Each dropped point removes `dilation` pads; where there are fewer pads, the point stays.
            first = min(reads.index(True), begin // dilation)
            dropped = min(reads[::-1].index(True), end // dilation)
            starts[kernel_axis], limits[kernel_axis] = first, points - dropped
            pads[axis], pads[rank + axis] = begin - first * dilation, end - dropped * dilation
        if pads == list(op.pads.get_values()):
            return
        rewriter.insert(cut := graph.SliceOp(op.w, starts, limits, [1] * kernel.rank))
        op.operands[1] = cut.result
        op.pads = DenseArrayBase.from_list(i64, pads)
        rewriter.notify_op_modified(op)


class HalveByMeans(RewritePattern):
    """
    Replace a linear half-pixel resize to half the size by an average pool of 2 x 2.

    Each sampled point is the centre of four elements, so it is their mean. Class: rounding.

    ```mlir
    %y = graph.resize %x shape <[1, 2, 3, 4]> mode "linear" coordinate "half_pixel" nearest "floor"
      cubic_a 0.0 extrapolation 0.0 : tensor<1x2x6x8xf32> -> tensor<1x2x3x4xf32>
    // ->
    %y = graph.pool %x kind "avg" kernel [2, 2] strides [2, 2] dilations [1, 1] pads [0, 0, 0, 0]
      : tensor<1x2x6x8xf32> -> tensor<1x2x3x4xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ResizeOp, rewriter: PatternRewriter) -> None:
        before, after = dims_of(op.input.type), dims_of(op.result.type)
        if op.mode.data != "linear" or op.coordinate.data != "half_pixel" or len(before) != 4:
            return
        if op.antialias is not None or not is_float(tensor_of(op.input).element_type):
            return
        scales = [1, 1, 0.5, 0.5] if op.scales is None else list(op.scales.get_values())
        if before[:2] != after[:2] or scales != [1, 1, 0.5, 0.5]:
            return
        if all(
            small.is_static and large == small * 2 for large, small in zip(before[2:], after[2:], strict=True)
        ):
            rewriter.replace(op, graph.PoolOp(op.input, "avg", [2, 2], strides=[2, 2]))


def _reads(offset: int, step: int, count: int, size: int) -> bool:
    """Whether any of the `count` indices offset, offset + step, … is within 0 to size - 1."""
    first = max(0, -(offset // step))
    return first < count and first * step + offset < size
