"""The legalization sets `wide-floats` and `wide-convs`: arithmetic on 16-bit floats is done in f32."""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, TensorType, f32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.types import tensor_of
from stepwell.passes.graph.legalize.legalizations import legalization

_ARITHMETIC = (Kind.ELEMENTWISE, Kind.BROADCAST, Kind.REDUCTION, Kind.CONTRACTION, Kind.ROW)


@legalization("wide-floats")
class ComputeInF32(RewritePattern):
    """
    Cast 16-bit operands of arithmetic to f32, and the results back; ops that only move elements stay.

    ```mlir
    %y = graph.exp %x : tensor<4xbf16> -> tensor<4xbf16>
    // ->
    %0 = graph.cast %x to f32 saturate true round "nearest" : tensor<4xbf16> -> tensor<4xf32>
    %1 = graph.exp %0 : tensor<4xf32> -> tensor<4xf32>
    %y = graph.cast %1 to bf16 saturate true round "nearest" : tensor<4xf32> -> tensor<4xbf16>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: GraphOp, rewriter: PatternRewriter) -> None:
        if op.KIND not in _ARITHMETIC or isinstance(op, graph.CastOp | graph.BitcastOp):
            return
        if not any(_is_narrow(operand) for operand in op.operands):
            return
        compute_in_f32(op, rewriter)


@legalization("wide-convs")
class ConvInF32(RewritePattern):
    """
    Compute convolutions of 16-bit floats in f32, for which there are blocked layouts and packed filters.

    Narrow convolutions sum in f32 and round once anyway, so the results are the same.

    ```mlir
    %y = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
      : (tensor<1x2x1x5xf16>, tensor<4x2x1x3xf16>) -> tensor<1x4x1x3xf16>
    // ->
    %0 = graph.cast %x to f32 saturate true round "nearest" : tensor<1x2x1x5xf16> -> tensor<1x2x1x5xf32>
    %1 = graph.cast %w to f32 saturate true round "nearest" : tensor<4x2x1x3xf16> -> tensor<4x2x1x3xf32>
    %2 = graph.conv %0, %1 strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
      : (tensor<1x2x1x5xf32>, tensor<4x2x1x3xf32>) -> tensor<1x4x1x3xf32>
    %y = graph.cast %2 to f16 saturate true round "nearest" : tensor<1x4x1x3xf32> -> tensor<1x4x1x3xf16>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvOp | graph.ConvTransposeOp, rewriter: PatternRewriter) -> None:
        if _is_narrow(op.results[0]):
            compute_in_f32(op, rewriter)


def compute_in_f32(op: GraphOp, rewriter: PatternRewriter) -> None:
    """Replace an op by the same op on operands cast to f32, with the results cast back."""
    wide = [
        rewriter.insert(graph.CastOp(operand, f32)).result if _is_narrow(operand) else operand
        for operand in op.operands
    ]
    made = rewriter.insert(op.on(wide))
    results = [
        new
        if new.type == old.type
        else rewriter.insert(graph.CastOp(new, tensor_of(old).element_type)).result
        for old, new in zip(op.results, made.results, strict=True)
    ]
    rewriter.replace(op, [], results)


def _is_narrow(value: SSAValue) -> bool:
    if not isinstance(value.type, TensorType):
        return False
    return isinstance(tensor_of(value).element_type, Float16Type | BFloat16Type)
