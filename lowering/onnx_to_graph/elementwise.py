"""Elementwise ONNX operators → the `graph` op of that meaning, or a composition."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, legacy_broadcast

UNARY: Mapping[type[onnx.OnnxOp], type[UnaryOp]] = {
    onnx.AbsOp: graph.AbsOp,
    onnx.ReluOp: graph.ReluOp,
}

BINARY: Mapping[type[onnx.OnnxOp], type[BinaryOp]] = {
    onnx.AddOp: graph.AddOp,
}


class UnaryLowering(OnnxLowering):
    """An operator on one tensor, without attributes → its row in `UNARY`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OnnxOp, rewriter: PatternRewriter) -> None:
        if (target := UNARY.get(type(op))) is not None:
            rewriter.replace(op, target(op.operands[0]))


class BinaryLowering(OnnxLowering):
    """An operator on two tensors that broadcast, without attributes → its row in `BINARY`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OnnxOp, rewriter: PatternRewriter) -> None:
        if (target := BINARY.get(type(op))) is not None:
            lhs, rhs = op.operands
            rewriter.replace(op, target(lhs, legacy_broadcast(op, lhs, rhs, rewriter)))


PATTERNS: list[type[OnnxLowering]] = [UnaryLowering, BinaryLowering]
