"""Activations of the graph level → operators of ONNX."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.graph_to_onnx.nodes import insert_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport


class LeakyReluExport(OnnxExport):
    """`graph.leaky_relu` → `LeakyRelu`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LeakyReluOp, rewriter: PatternRewriter) -> None:
        """Copy the slope `alpha`."""
        alpha = op.alpha.value.data
        result = insert_node(rewriter, onnx.LeakyReluOp, op.operands, op.result.type, alpha=alpha)
        rewriter.replace(op, [], [result])


class EluExport(OnnxExport):
    """`graph.elu` → `Elu`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.EluOp, rewriter: PatternRewriter) -> None:
        """Copy the coefficient `alpha`."""
        alpha = op.alpha.value.data
        rewriter.replace(
            op, [], [insert_node(rewriter, onnx.EluOp, op.operands, op.result.type, alpha=alpha)]
        )


class SiluExport(OnnxExport):
    """`graph.silu` → x · `Sigmoid`(alpha · x)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SiluOp, rewriter: PatternRewriter) -> None:
        """Multiply by the sigmoid, whose argument is scaled unless alpha is 1."""
        inner, type = op.input, op.result.type
        if (alpha := op.alpha.value.data) != 1:
            inner = insert_node(rewriter, onnx.MulOp, [inner, self.scalar(alpha, inner, rewriter)], type)
        gate = insert_node(rewriter, onnx.SigmoidOp, [inner], type)
        rewriter.replace(op, [], [insert_node(rewriter, onnx.MulOp, [op.input, gate], type)])


class GeluExport(OnnxExport):
    """`graph.gelu` → `Gelu`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.GeluOp, rewriter: PatternRewriter) -> None:
        """Copy the approximation."""
        how = op.approximate.data
        result = insert_node(rewriter, onnx.GeluOp, op.operands, op.result.type, approximate=how)
        rewriter.replace(op, [], [result])


class ClipExport(OnnxExport):
    """`graph.clip` → `Clip`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ClipOp, rewriter: PatternRewriter) -> None:
        """Pass both bounds as inputs; an absent bound is an absent input."""
        bounds = [op.input, op.lo, op.hi]
        rewriter.replace(op, [], [insert_node(rewriter, onnx.ClipOp, bounds, op.result.type)])


PATTERNS: list[type[OnnxExport]] = [LeakyReluExport, EluExport, SiluExport, GeluExport, ClipExport]
