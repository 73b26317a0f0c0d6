"""Matrix products of ONNX → `graph.matmul`, scaling and bias."""

from __future__ import annotations

from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.relations import is_float
from stepwell.dialects.types import dims_of
from stepwell.lowering.onnx_to_graph.broadcasting import agreeing_batches, fitted
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, element_of, shape_of


class MatMulLowering(OnnxLowering):
    """`onnx.MatMul` → `graph.matmul`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MatMulOp, rewriter: PatternRewriter) -> None:
        """Build the product of operands with agreeing batch dimensions."""
        rewriter.replace(op, graph.MatmulOp(*agreeing_batches(op, [op.A, op.B], self, rewriter)))


class GemmLowering(OnnxLowering):
    """
    `onnx.Gemm` → `graph.matmul`, times alpha, plus beta times C, if these are not 1.

    ```mlir
    %y = "onnx.Gemm"(%a, %b, %c) <{transB = 1 : i64}> : (tensor<8x4xf32>, tensor<3x4xf32>, tensor<3xf32>) -> …
    // ->
    %0 = graph.matmul %a, %b transpose_b true : (tensor<8x4xf32>, tensor<3x4xf32>) -> tensor<8x3xf32>
    %y = graph.bias_add %0, %c axis 1 : (tensor<8x3xf32>, tensor<3xf32>) -> tensor<8x3xf32>
    ```
    With beta = 0 nothing of C is read, not even its NaN.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.GemmOp, rewriter: PatternRewriter) -> None:
        """Build the product, scale it, and add the scaled bias unless beta is 0."""
        transpose_a, transpose_b = bool(op.integer("transA")), bool(op.integer("transB"))
        product = graph.MatmulOp(op.A, op.B, transpose_a=transpose_a, transpose_b=transpose_b)
        value = rewriter.insert(product).result
        value = self._scaled(value, op.floating("alpha"), rewriter)
        beta = op.floating("beta")
        if op.C is not None and beta != 0:
            bias = fitted(op, op.C, dims_of(value.type), self, rewriter)
            value = _add_bias(value, self._scaled(bias, beta, rewriter), op, rewriter)
        rewriter.replace(op, [], [value])

    def _scaled(self, value: SSAValue, factor: float, rewriter: PatternRewriter) -> SSAValue:
        """A tensor times a number; integers are multiplied as f64 and truncated."""
        if factor == 1:
            return value
        element = element_of(value)
        if is_float(element):
            return rewriter.insert(graph.MultiplyOp(value, self.scalar(factor, element, rewriter))).result
        wide = rewriter.insert(graph.CastOp(value, f64)).result
        wide = rewriter.insert(graph.MultiplyOp(wide, self.scalar(factor, f64, rewriter))).result
        return rewriter.insert(graph.CastOp(wide, element)).result


def _add_bias(value: SSAValue, bias: SSAValue, op: onnx.GemmOp, rewriter: PatternRewriter) -> SSAValue:
    """The product plus C: a `graph.bias_add` for one number per column, else a broadcast addition."""
    dims = shape_of(bias, op)
    if len(dims) == 1 and dims[0].proves_equal(dims_of(value.type)[1]):
        return rewriter.insert(graph.BiasAddOp(value, bias, 1)).result
    return rewriter.insert(graph.AddOp(value, bias)).result
