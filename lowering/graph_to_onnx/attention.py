"""Attention of the graph level → several operators of ONNX; `Attention` itself comes with a later opset."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import tensor_type
from stepwell.lowering.graph_to_onnx.contraction import transposed
from stepwell.lowering.graph_to_onnx.nodes import insert_node, replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport, element_of


class AttentionExport(OnnxExport):
    """
    `graph.attention` → `Transpose`, `MatMul`, `Mul`, `Add`, `Softmax`, `MatMul`; not with `zero_masked`.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AttentionOp, rewriter: PatternRewriter) -> None:
        """Emit scores, scale, mask, softmax and the product with the values."""
        if op.zero_masked:
            return
        dims = op.scores_dims()
        type = tensor_type(element_of(op.q), dims)
        scores = insert_node(rewriter, onnx.MatMulOp, [op.q, transposed(op.k, rewriter)], type)
        scale = self.scalar(op.scale.value.data, op.q, rewriter)
        scores = insert_node(rewriter, onnx.MulOp, [scores, scale], type)
        if op.mask is not None:
            scores = insert_node(rewriter, onnx.AddOp, [scores, op.mask], type)
        weights = insert_node(rewriter, onnx.SoftmaxOp, [scores], type, axis=len(dims) - 1)
        replace_by_node(rewriter, op, onnx.MatMulOp, [weights, op.v])
