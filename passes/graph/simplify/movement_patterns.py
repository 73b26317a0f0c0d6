"""Patterns of `simplify-expr` on ops that move elements: pairs cancel or merge, identities are dropped."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of, tensor_of


class ComposeTransposes(RewritePattern):
    """
    Merge two transposes in a row; the inner one dies when nothing else uses it.

    ```mlir
    %t = graph.transpose %x perm [1, 2, 0] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
    %y = graph.transpose %t perm [0, 2, 1] : tensor<3x4x2xf32> -> tensor<3x2x4xf32>
    // ->
    %y = graph.transpose %x perm [1, 0, 2] : tensor<2x3x4xf32> -> tensor<3x2x4xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TransposeOp, rewriter: PatternRewriter) -> None:
        if not isinstance(inner := op.input.owner, graph.TransposeOp):
            return
        p, q = inner.perm.get_values(), op.perm.get_values()
        rewriter.replace(op, graph.TransposeOp(inner.input, [p[i] for i in q]))


class ComposeLayoutChanges(RewritePattern):
    """
    Merge two changes of layout in a row; none is left where they undo each other. A padded block stays.

    ```mlir
    %t = graph.layout_transform %x from "NCHW" to "NHWC" : tensor<1x2x3x4xf32> -> tensor<1x3x4x2xf32>
    %y = graph.layout_transform %t from "NHWC" to "CHWN" : tensor<1x3x4x2xf32> -> tensor<2x3x4x1xf32>
    // ->
    %y = graph.layout_transform %x from "NCHW" to "CHWN" : tensor<1x2x3x4xf32> -> tensor<2x3x4x1xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LayoutTransformOp, rewriter: PatternRewriter) -> None:
        source, kept = op.source.data, op.input
        inner = kept.owner
        if isinstance(inner, graph.LayoutTransformOp) and inner.target == op.source:
            source, kept = inner.source.data, inner.input
        if source == op.target.data:
            if kept.type == op.result.type:
                rewriter.replace(op, [], [kept])
        elif kept is not op.input:
            merged = graph.LayoutTransformOp(kept, source, op.target.data)
            if merged.result.type == op.result.type:
                rewriter.replace(op, merged)


class TransposeAsView(RewritePattern):
    """
    Replace a transpose that only moves dimensions of size 1, so that no element moves, by a reshape.

    ```mlir
    %t = graph.transpose %x perm [2, 0, 1] : tensor<3x4x1xf32> -> tensor<1x3x4xf32>
    // ->
    %t = graph.reshape %x shape <[1, 3, 4]> : tensor<3x4x1xf32> -> tensor<1x3x4xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TransposeOp, rewriter: PatternRewriter) -> None:
        dims, perm = dims_of(op.input.type), op.perm.get_values()
        moved = [axis for axis in perm if dims[axis] != 1]
        if moved != sorted(moved) or any(dim.is_unknown for dim in dims):
            return
        rewriter.replace(op, graph.ReshapeOp(op.input, dims_of(op.result.type)))


class ComposeViews(RewritePattern):
    """
    Merge a view (reshape, expand_dims, squeeze) of a view into one reshape of the inner view's input.

    ```mlir
    %t = graph.expand_dims %x axes [0] : tensor<6xf32> -> tensor<1x6xf32>
    %y = graph.reshape %t shape <[2, 3]> : tensor<1x6xf32> -> tensor<2x3xf32>
    // ->
    %y = graph.reshape %x shape <[2, 3]> : tensor<6xf32> -> tensor<2x3xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.ReshapeOp | graph.ExpandDimsOp | graph.SqueezeOp, rewriter: PatternRewriter
    ) -> None:
        inner = op.input.owner
        if not isinstance(inner, graph.ReshapeOp | graph.ExpandDimsOp | graph.SqueezeOp):
            return
        dims = dims_of(op.result.type)
        if not any(dim.is_unknown for dim in dims):
            rewriter.replace(op, graph.ReshapeOp(inner.input, dims))


class DropIdentity(RewritePattern):
    """
    Drop a view, broadcast, cast or tile whose result type is its input type: it changes no element.

    ```mlir
    %t = graph.reshape %x shape <[2, 3]> : tensor<2x3xf32> -> tensor<2x3xf32>
    %y = graph.neg %t : tensor<2x3xf32> -> tensor<2x3xf32>
    // ->
    %y = graph.neg %x : tensor<2x3xf32> -> tensor<2x3xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self,
        op: graph.ReshapeOp
        | graph.ExpandDimsOp
        | graph.SqueezeOp
        | graph.BroadcastToOp
        | graph.CastOp
        | graph.TileOp,
        rewriter: PatternRewriter,
    ) -> None:
        if op.result.type == op.input.type and not _has_unknown(op.result):
            rewriter.replace(op, [], [op.input])


class DropZeroPad(RewritePattern):
    """
    Drop a `graph.pad` whose pads are all 0.

    ```mlir
    %t = graph.pad %x pads <[0, 0]> mode "edge" : tensor<6xf32> -> tensor<6xf32>
    %y = graph.neg %t : tensor<6xf32> -> tensor<6xf32>
    // ->
    %y = graph.neg %x : tensor<6xf32> -> tensor<6xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PadOp, rewriter: PatternRewriter) -> None:
        if op.pads is not None and all(pad == 0 for pad in op.pads.get()):
            rewriter.replace(op, [], [op.input])


class DropWholeSlice(RewritePattern):
    """
    Drop a slice of all elements in their order.

    ```mlir
    %t = graph.slice %x starts <[0]> limits <[6]> steps [1] : tensor<6xf32> -> tensor<6xf32>
    %y = graph.neg %t : tensor<6xf32> -> tensor<6xf32>
    // ->
    %y = graph.neg %x : tensor<6xf32> -> tensor<6xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SliceOp, rewriter: PatternRewriter) -> None:
        walks_down = any(step < 0 for step in op.steps.get_values())
        if op.result.type == op.input.type and not walks_down and not _has_unknown(op.result):
            rewriter.replace(op, [], [op.input])


class DropSingleConcat(RewritePattern):
    """
    Drop pieces without elements from a concat, and the concat if one piece is left.

    ```mlir
    %t = graph.concat %a, %b axis 0 : (tensor<2xf32>, tensor<0xf32>) -> tensor<2xf32>
    %y = graph.neg %t : tensor<2xf32> -> tensor<2xf32>
    // ->
    %y = graph.neg %a : tensor<2xf32> -> tensor<2xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConcatOp, rewriter: PatternRewriter) -> None:
        axis = op.axis.value.data
        kept = [value for value in op.inputs if dims_of(value.type)[axis] != 0]
        if len(kept) == 1 and kept[0].type == op.result.type:
            rewriter.replace(op, [], kept)
        elif kept and len(kept) < len(op.inputs):
            rewriter.replace(op, graph.ConcatOp(kept, axis))


class FlattenConcat(RewritePattern):
    """
    Merge a concat into the concat along the same axis that is its only user.

    ```mlir
    %t = graph.concat %a, %b axis 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
    %y = graph.concat %t, %c axis 0 : (tensor<5xf32>, tensor<4xf32>) -> tensor<9xf32>
    // ->
    %y = graph.concat %a, %b, %c axis 0 : (tensor<2xf32>, tensor<3xf32>, tensor<4xf32>) -> tensor<9xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConcatOp, rewriter: PatternRewriter) -> None:
        pieces: list[SSAValue] = []
        for value in op.inputs:
            inner = value.owner
            joins = isinstance(inner, graph.ConcatOp) and inner.axis == op.axis and value.has_one_use()
            pieces += inner.inputs if isinstance(inner, graph.ConcatOp) and joins else [value]
        if len(pieces) > len(op.inputs):
            rewriter.replace(op, graph.ConcatOp(pieces, op.axis.value.data))


MOVEMENT_PATTERNS: list[RewritePattern] = [
    ComposeTransposes(),
    ComposeLayoutChanges(),
    TransposeAsView(),
    ComposeViews(),
    DropIdentity(),
    DropZeroPad(),
    DropWholeSlice(),
    DropSingleConcat(),
    FlattenConcat(),
]
"""The patterns on movement in the order in which they are tried, those first that leave the fewest ops."""


def _has_unknown(value: SSAValue) -> bool:
    return any(dim.is_unknown for dim in dims_of(tensor_of(value)))
