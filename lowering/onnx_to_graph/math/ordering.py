"""ONNX operators that order elements → `graph`."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.shape_values import ShapeLowering, renamed
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, normalized_axis, rank_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


class TopKLowering(ShapeLowering):
    """`TopK` → `graph.top_k`; results are sorted even if the model asks for unsorted ones."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.TopKOp, rewriter: PatternRewriter) -> None:
        """Read k from attribute or input, as a number or a symbol bound at run time."""
        given = op.K
        if given is not None and rank_of(given, op) == 1:
            given = renamed(op, given, [Dim.of(1)], "K is one number", rewriter)
        k = self.sizes(op, "k", given, rewriter) if given is not None else None
        count = op.integer("k") if k is None else k[0]
        axis = normalized_axis(op.integer("axis"), rank_of(op.X, op), op)
        largest = not op.has("largest") or op.integer("largest") == 1
        rewriter.replace(op, graph.TopKOp(op.X, count, axis, largest))


class ReverseSequenceLowering(OnnxLowering):
    """`ReverseSequence` → `graph.reverse_sequence`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ReverseSequenceOp, rewriter: PatternRewriter) -> None:
        """Check that the axes are 0 and 1 in any order."""
        axes = op.integer("batch_axis"), op.integer("time_axis")
        if sorted(axes) != [0, 1]:
            raise StepwellError(
                "invalid-model",
                op,
                f"ReverseSequence: its axes must be 0 and 1, found {axes[0]} and {axes[1]}",
            )
        rewriter.replace(op, graph.ReverseSequenceOp(op.input, op.sequence_lens, *axes))
