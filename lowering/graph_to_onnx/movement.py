"""Graph ops that move elements → operators of ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import tensor_type
from stepwell.lowering.graph_to_onnx.extents import dims_vector
from stepwell.lowering.graph_to_onnx.nodes import insert_integers, insert_node, replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport, is_known, mixed_vector

BEFORE_THE_START = -(2**63)
"""A limit of ONNX's `Slice` that a negative step never reaches; -1 would mean the last element."""


class SplitExport(OnnxExport):
    """`graph.split` → `Split`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SplitOp, rewriter: PatternRewriter) -> None:
        """Pass the sizes as an input; decline unknown sizes."""
        if not is_known(op.sizes):
            return
        sizes = mixed_vector(op.sizes, op.sizes_value, rewriter)
        replace_by_node(rewriter, op, onnx.SplitOp, [op.input, sizes], axis=op.axis.value.data)


class SliceExport(OnnxExport):
    """`graph.slice` → `Slice`, where a negative limit counts from the end."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SliceOp, rewriter: PatternRewriter) -> None:
        """Pass starts, limits, axes and steps as inputs; decline unknown bounds."""
        if not is_known(op.starts) or not is_known(op.limits):
            return
        steps = op.steps.get_values()
        starts = mixed_vector(op.starts, op.starts_value, rewriter)
        limits = _limits(op, steps, rewriter)
        axes = insert_integers(rewriter, range(len(steps)))
        operands = [op.input, starts, limits, axes, insert_integers(rewriter, steps)]
        replace_by_node(rewriter, op, onnx.SliceOp, operands)


def _limits(op: graph.SliceOp, steps: Sequence[int], rewriter: PatternRewriter) -> SSAValue:
    """The limits of a slice, negative ones replaced by `BEFORE_THE_START`, in the graph or at run time."""
    if op.limits is not None and all(dim.is_static for dim in op.limits.get()):
        numbers = [dim.value for dim in op.limits.get()]
        return insert_integers(rewriter, [n if n >= 0 else BEFORE_THE_START for n in numbers])
    limits = mixed_vector(op.limits, op.limits_value, rewriter)
    if min(steps, default=1) > 0:
        return limits
    zero, low = insert_integers(rewriter, [0]), insert_integers(rewriter, [BEFORE_THE_START])
    below = insert_node(rewriter, onnx.LessOp, [limits, zero], tensor_type(i1, [len(steps)]))
    return insert_node(rewriter, onnx.WhereOp, [below, low, limits], limits.type)


class ReverseExport(OnnxExport):
    """`graph.reverse` → `Slice` with steps of -1."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReverseOp, rewriter: PatternRewriter) -> None:
        """Slice each axis from the last element to before the first."""
        axes = op.axes.get_values()
        bounds = ([-1] * len(axes), [BEFORE_THE_START] * len(axes), axes, [-1] * len(axes))
        operands = [op.input, *(insert_integers(rewriter, numbers) for numbers in bounds)]
        replace_by_node(rewriter, op, onnx.SliceOp, operands)


class PadExport(OnnxExport):
    """
    `graph.pad` → `Pad`; except in constant mode, `Pad` does not crop first, so negative pads have no
    counterpart.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PadOp, rewriter: PatternRewriter) -> None:
        """
        Pass the pads as an input; decline unknown pads, and negative ones in modes other than `constant`.
        """
        mode = op.mode.data
        if not is_known(op.pads) or (mode != "constant" and not _never_crops(op)):
            return
        pads = mixed_vector(op.pads, op.pads_value, rewriter)
        replace_by_node(rewriter, op, onnx.PadOp, [op.input, pads, op.value], mode=mode)


def _never_crops(op: graph.PadOp) -> bool:
    """Whether all pads are known not to be negative."""
    return op.pads is not None and all(dim.is_nonnegative for dim in op.pads.get())


class TileExport(OnnxExport):
    """`graph.tile` → `Tile`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TileOp, rewriter: PatternRewriter) -> None:
        """Pass the repeats as an input; decline unknown ones."""
        if not is_known(op.repeats):
            return
        repeats = mixed_vector(op.repeats, op.repeats_value, rewriter)
        replace_by_node(rewriter, op, onnx.TileOp, [op.input, repeats])


class ReverseSequenceExport(OnnxExport):
    """`graph.reverse_sequence` of the first two axes → `ReverseSequence`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReverseSequenceOp, rewriter: PatternRewriter) -> None:
        """Copy the axes; decline others than 0 and 1."""
        batch, time = op.batch_axis.value.data, op.time_axis.value.data
        if {batch, time} != {0, 1}:
            return
        replace_by_node(rewriter, op, onnx.ReverseSequenceOp, op.operands, batch_axis=batch, time_axis=time)


class TopKExport(OnnxExport):
    """`graph.top_k` → `TopK`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TopKOp, rewriter: PatternRewriter) -> None:
        """Pass k as an input, copy axis and order; decline an unknown k."""
        if not is_known(op.k):
            return
        replace_by_node(
            rewriter,
            op,
            onnx.TopKOp,
            [op.input, dims_vector(op.k.get(), rewriter)],
            axis=op.axis.value.data,
            largest=bool(op.largest.value.data),
        )
