"""Activations of the graph level → operators of ONNX."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.graph_to_onnx.nodes import insert_node, replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport


class SiluExport(OnnxExport):
    """`graph.silu` → x · `Sigmoid`(alpha · x)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SiluOp, rewriter: PatternRewriter) -> None:
        """Multiply by the sigmoid, whose argument is scaled unless alpha is 1."""
        inner, type = op.input, op.result.type
        if (alpha := op.alpha.value.data) != 1:
            inner = insert_node(rewriter, onnx.MulOp, [inner, self.scalar(alpha, inner, rewriter)], type)
        gate = insert_node(rewriter, onnx.SigmoidOp, [inner], type)
        replace_by_node(rewriter, op, onnx.MulOp, [op.input, gate])


class ClipExport(OnnxExport):
    """`graph.clip` → `Clip`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ClipOp, rewriter: PatternRewriter) -> None:
        """Pass both bounds as inputs; an absent bound is an absent input."""
        bounds = [op.input, op.lo, op.hi]
        replace_by_node(rewriter, op, onnx.ClipOp, bounds)
