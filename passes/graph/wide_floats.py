"""The legalizations `wide-floats`: arithmetic on 16-bit floats in f32, for targets that have no other."""

from __future__ import annotations

from xdsl.dialects.builtin import BFloat16Type, Float16Type, TensorType, f32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.types import tensor_of
from stepwell.passes.graph.legalizations import legalization

_ARITHMETIC = (Kind.ELEMENTWISE, Kind.BROADCAST, Kind.REDUCTION, Kind.CONTRACTION, Kind.ROW)


@legalization("wide-floats")
class ComputeInF32(RewritePattern):
    """
    Cast the operands to f32, and the results back; ops that only move elements stay.

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
        wide = [
            rewriter.insert(graph.CastOp(operand, f32)).result if _is_narrow(operand) else operand
            for operand in op.operands
        ]
        made = type(op).create(
            operands=wide,
            properties=dict(op.properties),
            attributes=dict(op.attributes),
            result_types=list(op.result_types),
        )
        made.set_result_types()
        rewriter.insert(made)
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
