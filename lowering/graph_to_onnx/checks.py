"""Run-time checks of the graph level, for which ONNX has no operators."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.lowering.graph_to_onnx.support import OnnxExport


class CheckExport(OnnxExport):
    """`graph.assert`, `graph.check_indices`, `graph.check_offsets` → nothing: operators check themselves."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.AssertOp | graph.CheckIndicesOp | graph.CheckOffsetsOp, rewriter: PatternRewriter
    ) -> None:
        """Erase the check. The engine that runs the model checks sizes and indices where it uses them."""
        rewriter.erase(op)
