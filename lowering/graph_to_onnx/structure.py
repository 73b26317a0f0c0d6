"""Constants of the graph level → nodes of ONNX."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.graph_to_onnx.support import OnnxExport


class ConstantExport(OnnxExport):
    """`graph.constant` → `Constant`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConstantOp, rewriter: PatternRewriter) -> None:
        """Copy the value."""
        made = onnx.ConstantOp.build(result_types=[op.result.type], properties={"value": op.value})
        rewriter.replace(op, made)
