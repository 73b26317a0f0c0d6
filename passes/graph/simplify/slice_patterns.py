"""Patterns of `simplify-expr` on slices: they merge, and move before reshapes and transposes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore


class ComposeSlices(RewritePattern):
    """
    Merge a slice of a slice into one slice; both have constant bounds and positive steps.

    ```mlir
    %t = graph.slice %x starts <[2]> limits <[9]> steps [2] : tensor<9xf32> -> tensor<4xf32>
    %y = graph.slice %t starts <[1]> limits <[3]> steps [1] : tensor<4xf32> -> tensor<2xf32>
    // ->
    %y = graph.slice %x starts <[4]> limits <[7]> steps [2] : tensor<9xf32> -> tensor<2xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SliceOp, rewriter: PatternRewriter) -> None:
        if not isinstance(inner := op.input.owner, graph.SliceOp):
            return
        if op.starts is None or op.limits is None or inner.starts is None:
            return
        pairs = zip(inner.steps.get_values(), op.steps.get_values(), strict=True)
        steps = [a * b if a > 0 and b > 0 else 0 for a, b in pairs]
        sizes = dims_of(op.result.type)
        if any(step != 1 and not (step and size.is_static) for step, size in zip(steps, sizes, strict=True)):
            return
        moves = zip(op.starts.get(), inner.steps.get_values(), strict=True)
        starts = [a + b * k for a, (b, k) in zip(inner.starts.get(), moves, strict=True)]
        # One after the last element, so that the limit is within the tensor.
        limits = [
            start + (size if step == 1 or size == 0 else (size - 1) * step + 1)
            for start, size, step in zip(starts, sizes, steps, strict=True)
        ]
        rewriter.replace(op, graph.SliceOp(inner.input, starts, limits, steps))


class SplitAsSlices(RewritePattern):
    """
    Replace a split by a slice for each piece, which can fuse with the users of that piece.

    ```mlir
    %a, %b = graph.split %x axis 0 sizes <[2, 3]> : tensor<5xf32> -> (tensor<2xf32>, tensor<3xf32>)
    // ->
    %a = graph.slice %x starts <[0]> limits <[2]> steps [1] : tensor<5xf32> -> tensor<2xf32>
    %b = graph.slice %x starts <[2]> limits <[5]> steps [1] : tensor<5xf32> -> tensor<3xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SplitOp, rewriter: PatternRewriter) -> None:
        if op.sizes is None or any(dim.is_unknown for dim in op.sizes.get()):
            return
        ends = list(accumulate(op.sizes.get()))
        slices: list[graph.SliceOp] = []
        for start, end in zip([Dim.of(0), *ends[:-1]], ends, strict=True):
            slices.append(_slice_along(op.input, op.axis.value.data, start, end))
        rewriter.replace(op, slices, [piece.result for piece in slices])


def _slice_along(value: SSAValue, axis: int, start: Dim, end: Dim) -> graph.SliceOp:
    """A slice from `start` to `end` along one axis, with all of the other axes."""
    dims = dims_of(value.type)
    starts = [start if i == axis else Dim.of(0) for i in range(len(dims))]
    limits = [end if i == axis else dim for i, dim in enumerate(dims)]
    return graph.SliceOp(value, starts, limits, [1] * len(dims))


@dataclass
class GatherAsSlice(RewritePattern):
    """
    Replace a gather at a constant scalar index by a slice of one element, with the axis squeezed.

    ```mlir
    %i = graph.constant dense<-1> : tensor<i64>
    %y = graph.gather %x, %i axis 0 batch_dims 0 bounds "check"
      : (tensor<5x3xf32>, tensor<i64>) -> tensor<3xf32>
    // ->
    %0 = graph.slice %x starts <[4, 0]> limits <[5, 3]> steps [1, 1] : tensor<5x3xf32> -> tensor<1x3xf32>
    %y = graph.squeeze %0 axes [0] : tensor<1x3xf32> -> tensor<3xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.GatherOp, rewriter: PatternRewriter) -> None:
        index, axis = constant_of(op.indices, self.weights), op.axis.value.data
        dims = dims_of(op.input.type)
        if index is None or index.ndim or not dims[axis].is_static or any(dim.is_unknown for dim in dims):
            return
        size, at = dims[axis].value, int(index)
        if -size <= at < size:
            piece = rewriter.insert(_slice_along(op.input, axis, Dim.of(at % size), Dim.of(at % size + 1)))
            rewriter.replace(op, graph.SqueezeOp(piece.result, [axis]))


class SliceBeforeTranspose(RewritePattern):
    """
    Slice before a transpose whose only users are slices, so that fewer elements are moved.

    ```mlir
    %t = graph.transpose %x perm [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>
    %y = graph.slice %t starts <[1, 0]> limits <[2, 2]> steps [1, 1] : tensor<3x2xf32> -> tensor<1x2xf32>
    // ->
    %s = graph.slice %x starts <[0, 1]> limits <[2, 2]> steps [1, 1] : tensor<2x3xf32> -> tensor<2x1xf32>
    %y = graph.transpose %s perm [1, 0] : tensor<2x1xf32> -> tensor<1x2xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SliceOp, rewriter: PatternRewriter) -> None:
        if (
            not isinstance(inner := op.input.owner, graph.TransposeOp)
            or op.starts is None
            or op.limits is None
        ):
            return
        if not all(isinstance(use.operation, graph.SliceOp) for use in inner.result.uses):
            return
        perm = inner.perm.get_values()
        order = [perm.index(i) for i in range(len(perm))]
        starts, limits, steps = op.starts.get(), op.limits.get(), op.steps.get_values()
        cut = graph.SliceOp(
            inner.input, [starts[i] for i in order], [limits[i] for i in order], [steps[i] for i in order]
        )
        rewriter.replace(op, graph.TransposeOp(rewriter.insert(cut).result, perm))


class SliceBeforeSqueeze(RewritePattern):
    """
    Slice before a squeeze of a transpose, where slices are the only users of the squeeze.

    ```mlir
    %t = graph.transpose %x perm [2, 1, 0] : tensor<2x3x1xf32> -> tensor<1x3x2xf32>
    %s = graph.squeeze %t axes [0] : tensor<1x3x2xf32> -> tensor<3x2xf32>
    %y = graph.slice %s starts <[1, 0]> limits <[2, 2]> steps [1, 1] : tensor<3x2xf32> -> tensor<1x2xf32>
    // ->
    %t = graph.transpose %x perm [2, 1, 0] : tensor<2x3x1xf32> -> tensor<1x3x2xf32>
    %u = graph.slice %t starts <[0, 1, 0]> limits <[1, 2, 2]> steps [1, 1, 1]
      : tensor<1x3x2xf32> -> tensor<1x1x2xf32>
    %y = graph.squeeze %u axes [0] : tensor<1x1x2xf32> -> tensor<1x2xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SliceOp, rewriter: PatternRewriter) -> None:
        squeeze = op.input.owner
        if not isinstance(squeeze, graph.SqueezeOp) or op.starts is None or op.limits is None:
            return
        if not isinstance(squeeze.input.owner, graph.TransposeOp):
            return
        if not all(isinstance(use.operation, graph.SliceOp) for use in squeeze.result.uses):
            return
        starts, limits, steps = list(op.starts.get()), list(op.limits.get()), list(op.steps.get_values())
        axes = squeeze.axes.get_values()
        for axis in axes:
            starts.insert(axis, Dim.of(0))
            limits.insert(axis, Dim.of(1))
            steps.insert(axis, 1)
        cut = rewriter.insert(graph.SliceOp(squeeze.input, starts, limits, steps)).result
        rewriter.replace(op, graph.SqueezeOp(cut, axes))


class ReshapeBeforeSlice(RewritePattern):
    """
    Split a sliced dimension before the slice, not after it, so that the slice can join the following ops.

    ```mlir
    %s = graph.slice %x starts <[0, 4]> limits <[2, 8]> steps [1, 1] : tensor<2x8xf32> -> tensor<2x4xf32>
    %y = graph.reshape %s shape <[2, 2, 2]> : tensor<2x4xf32> -> tensor<2x2x2xf32>
    // ->
    %r = graph.reshape %x shape <[2, 4, 2]> : tensor<2x8xf32> -> tensor<2x4x2xf32>
    %y = graph.slice %r starts <[0, 2, 0]> limits <[2, 4, 2]> steps [1, 1, 1]
      : tensor<2x4x2xf32> -> tensor<2x2x2xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReshapeOp, rewriter: PatternRewriter) -> None:
        found = _slice_of_one_axis(op.input)
        if found is None:
            return
        inner, axis, start, limit = found
        before, cut, after = dims_of(inner.input.type), dims_of(op.input.type), dims_of(op.result.type)
        trailing = len(cut) - axis - 1
        inside = after[axis + 1 : len(after) - trailing]
        if after[:axis] != cut[:axis] or after[len(after) - trailing :] != cut[axis + 1 :] or not inside:
            return
        unit = prod(inside, start=Dim.of(1))
        if not all(_divides(unit, dim) for dim in (before[axis], start, limit)):
            return
        shape = [*before[:axis], before[axis] // unit, *inside, *before[axis + 1 :]]
        split = rewriter.insert(graph.ReshapeOp(inner.input, shape)).result
        rewriter.replace(op, _slice_along(split, axis, start // unit, limit // unit))


def _slice_of_one_axis(value: SSAValue) -> tuple[graph.SliceOp, int, Dim, Dim] | None:
    """The op, axis, start and limit of a slice of exactly one axis, whose result has one use; else None."""
    op = value.owner
    if not isinstance(op, graph.SliceOp) or not value.has_one_use():
        return None
    if op.starts is None or op.limits is None or any(step != 1 for step in op.steps.get_values()):
        return None
    pairs = zip(dims_of(op.input.type), dims_of(value.type), strict=True)
    axes = [axis for axis, (whole, part) in enumerate(pairs) if whole != part]
    if len(axes) != 1:
        return None
    return op, axes[0], op.starts.get()[axes[0]], op.limits.get()[axes[0]]


def _divides(unit: Dim, dim: Dim) -> bool:
    return unit.is_static and dim.is_static and unit.value > 0 and dim.value % unit.value == 0


class ReshapeBeforeUnitSlice(RewritePattern):
    """
    Move a reshape before a slice to one element of an axis, if a transpose reads the reshape.

    ```mlir
    %s = graph.slice %x starts <[0, 1, 0]> limits <[2, 2, 6]> steps [1, 1, 1]
      : tensor<2x3x6xf32> -> tensor<2x1x6xf32>
    %r = graph.reshape %s shape <[2, 2, 3]> : tensor<2x1x6xf32> -> tensor<2x2x3xf32>
    %y = graph.transpose %r perm [0, 2, 1] : tensor<2x2x3xf32> -> tensor<2x3x2xf32>
    // ->
    %u = graph.reshape %x shape <[2, 3, 2, 3]> : tensor<2x3x6xf32> -> tensor<2x3x2x3xf32>
    %t = graph.slice %u starts <[0, 1, 0, 0]> limits <[2, 2, 2, 3]> steps [1, 1, 1, 1]
      : tensor<2x3x2x3xf32> -> tensor<2x1x2x3xf32>
    %r = graph.squeeze %t axes [1] : tensor<2x1x2x3xf32> -> tensor<2x2x3xf32>
    %y = graph.transpose %r perm [0, 2, 1] : tensor<2x2x3xf32> -> tensor<2x3x2xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReshapeOp, rewriter: PatternRewriter) -> None:
        found = _slice_of_one_axis(op.input)
        if found is None or not any(isinstance(use.operation, graph.TransposeOp) for use in op.result.uses):
            return
        inner, axis, start, limit = found
        if limit - start != 1:
            return
        cut, after = dims_of(op.input.type), dims_of(op.result.type)
        leading = prod(cut[:axis], start=Dim.of(1))
        prefixes = [prod(after[:count], start=Dim.of(1)) for count in range(len(after) + 1)]
        if leading not in prefixes or any(dim.is_unknown for dim in (*cut, *after)):
            return
        at = prefixes.index(leading)
        shape = [*after[:at], dims_of(inner.input.type)[axis], *after[at:]]
        split = rewriter.insert(graph.ReshapeOp(inner.input, shape)).result
        piece = rewriter.insert(_slice_along(split, at, start, limit)).result
        rewriter.replace(op, graph.SqueezeOp(piece, [at]))


class TransposeBeforeSqueeze(RewritePattern):
    """
    Move a squeeze between a transpose or slice and a transpose after both, so that those can merge.

    ```mlir
    %t = graph.transpose %x perm [2, 1, 0] : tensor<2x3x1xf32> -> tensor<1x3x2xf32>
    %s = graph.squeeze %t axes [0] : tensor<1x3x2xf32> -> tensor<3x2xf32>
    %y = graph.transpose %s perm [1, 0] : tensor<3x2xf32> -> tensor<2x3xf32>
    // ->
    %t = graph.transpose %x perm [2, 1, 0] : tensor<2x3x1xf32> -> tensor<1x3x2xf32>
    %u = graph.transpose %t perm [0, 2, 1] : tensor<1x3x2xf32> -> tensor<1x2x3xf32>
    %y = graph.squeeze %u axes [0] : tensor<1x2x3xf32> -> tensor<2x3xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TransposeOp, rewriter: PatternRewriter) -> None:
        squeeze = op.input.owner
        if not isinstance(squeeze, graph.SqueezeOp):
            return
        if not isinstance(squeeze.input.owner, graph.TransposeOp | graph.SliceOp):
            return
        dropped = squeeze.axes.get_values()
        kept = [i for i in range(len(dims_of(squeeze.input.type))) if i not in dropped]
        perm = [*dropped, *(kept[i] for i in op.perm.get_values())]
        moved = rewriter.insert(graph.TransposeOp(squeeze.input, perm)).result
        rewriter.replace(op, graph.SqueezeOp(moved, range(len(dropped))))


def slice_patterns(weights: WeightStore) -> Sequence[RewritePattern]:
    """The patterns on slices, in the order in which they are tried."""
    return [
        ComposeSlices(),
        SplitAsSlices(),
        GatherAsSlice(weights),
        SliceBeforeTranspose(),
        SliceBeforeSqueeze(),
        ReshapeBeforeSlice(),
        ReshapeBeforeUnitSlice(),
        TransposeBeforeSqueeze(),
    ]
