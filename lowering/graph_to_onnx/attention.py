"""Attention of the graph level → several operators of ONNX; `Attention` itself comes with a later opset."""

from __future__ import annotations

from math import inf

from xdsl.dialects.builtin import i1
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import tensor_type
from stepwell.lowering.graph_to_onnx.contraction import transposed
from stepwell.lowering.graph_to_onnx.nodes import insert_integers, insert_node, replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport, element_of
from stepwell.runtime.dims import Dim


class AttentionExport(OnnxExport):
    """
    `graph.attention` → `Transpose`, `MatMul`, `Mul`, `Add`, `Softmax`, `MatMul`.

    With `zero_masked` a `Where` selects zeros for the queries whose greatest score is -inf.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AttentionOp, rewriter: PatternRewriter) -> None:
        """Emit scores, scale, mask, softmax and the product with the values."""
        dims = op.scores_dims()
        type = tensor_type(element_of(op.q), dims)
        scores = insert_node(rewriter, onnx.MatMulOp, [op.q, transposed(op.k, rewriter)], type)
        scale = self.scalar(op.scale.value.data, op.q, rewriter)
        scores = insert_node(rewriter, onnx.MulOp, [scores, scale], type)
        if op.mask is not None:
            scores = insert_node(rewriter, onnx.AddOp, [scores, op.mask], type)
        weights = insert_node(rewriter, onnx.SoftmaxOp, [scores], type, axis=len(dims) - 1)
        if not op.zero_masked:
            replace_by_node(rewriter, op, onnx.MatMulOp, [weights, op.v])
            return
        result = insert_node(rewriter, onnx.MatMulOp, [weights, op.v], op.result.type)
        queries = [*dims[:-1], Dim.of(1)]
        axes = insert_integers(rewriter, [len(dims) - 1])
        row = tensor_type(element_of(op.q), queries)
        greatest = insert_node(rewriter, onnx.ReduceMaxOp, [scores, axes], row, keepdims=True)
        lowest, zero = (self.scalar(number, op.q, rewriter) for number in (-inf, 0))
        is_masked = insert_node(rewriter, onnx.EqualOp, [greatest, lowest], tensor_type(i1, queries))
        replace_by_node(rewriter, op, onnx.WhereOp, [is_masked, zero, result])
