"""Elementwise ONNX operators without parameters → the corresponding `graph` op, or a chain of such ops."""

from __future__ import annotations

from functools import reduce

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.broadcasting import agreeing, legacy_broadcast
from stepwell.lowering.onnx_to_graph.elementwise_tables import (
    BINARY,
    CHAINS,
    SWAPPED,
    UNARY,
    binary_op,
    unary_op,
)
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, element_of, emit, has_strings


class UnaryLowering(OnnxLowering):
    """An operator on one tensor, without attributes → the op in `UNARY`."""

    operators = UNARY

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OnnxOp, rewriter: PatternRewriter) -> None:
        """Replace the op by its counterpart in `UNARY`."""
        rewriter.replace(op, unary_op(op.op_type)(op.operands[0]))


class BinaryLowering(OnnxLowering):
    """
    An operator on two tensors that broadcast → the op in `BINARY`, or in `SWAPPED` with exchanged operands.
    """

    operators = (*BINARY, *SWAPPED)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OnnxOp, rewriter: PatternRewriter) -> None:
        """
        Align and broadcast the operands, exchange those of `SWAPPED`; strings are left to the host's pattern.
        """
        if has_strings(op):
            return
        target = binary_op(op.op_type)
        lhs, rhs = op.operands
        lhs, rhs = agreeing(op, [lhs, legacy_broadcast(op, lhs, rhs, rewriter)], self, rewriter)
        rewriter.replace(op, target(rhs, lhs) if op.op_type in SWAPPED else target(lhs, rhs))


class ChainLowering(OnnxLowering):
    """
    An operator on any number of tensors → a chain of the op in `CHAINS`; a mean is divided by their number.
    """

    operators = CHAINS

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OnnxOp, rewriter: PatternRewriter) -> None:
        """Fold the operands from left to right; a `Mean` is divided by their number."""
        target = binary_op(op.op_type)
        operands = agreeing(op, op.operands, self, rewriter)
        result = reduce(lambda a, b: emit(target(a, b), rewriter), operands)
        if isinstance(op, onnx.MeanOp) and len(op.operands) > 1:
            count = self.scalar(len(op.operands), element_of(result), rewriter)
            result = emit(graph.DivideOp(result, count), rewriter)
        rewriter.replace(op, [], [result])


class WhereLowering(OnnxLowering):
    """`Where` → `graph.where`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.WhereOp, rewriter: PatternRewriter) -> None:
        """Broadcast the operands; strings are left to the host's pattern."""
        if has_strings(op):
            return
        rewriter.replace(op, graph.WhereOp(*agreeing(op, [op.condition, op.X, op.Y], self, rewriter)))


class ReciprocalLowering(OnnxLowering):
    """`Reciprocal` → 1 / x."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ReciprocalOp, rewriter: PatternRewriter) -> None:
        """Divide a constant 1 by the input."""
        one = self.scalar(1, element_of(op.X), rewriter)
        rewriter.replace(op, graph.DivideOp(one, op.X))


class IdentityLowering(OnnxLowering):
    """`Identity` → the value itself."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.IdentityOp, rewriter: PatternRewriter) -> None:
        """Replace the result by the input."""
        rewriter.replace(op, [], [op.input])


class ModLowering(OnnxLowering):
    """`Mod` → `graph.remainder`, which takes the sign of the divisor unless `fmod` is set."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ModOp, rewriter: PatternRewriter) -> None:
        """Round the quotient toward 0 with `fmod`, else down."""
        rounding = "trunc" if op.integer("fmod") else "floor"
        a, b = agreeing(op, [op.A, op.B], self, rewriter)
        rewriter.replace(op, graph.RemainderOp(a, b, rounding))


class BitShiftLowering(OnnxLowering):
    """`BitShift` → a shift to the left or to the right."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.BitShiftOp, rewriter: PatternRewriter) -> None:
        """Choose the shift by the attribute `direction`."""
        target = graph.ShiftLeftOp if op.string("direction") == "LEFT" else graph.ShiftRightOp
        number, bits = agreeing(op, [op.X, op.Y], self, rewriter)
        rewriter.replace(op, target(number, bits))


class IsInfLowering(OnnxLowering):
    """`IsInf` → `graph.is_inf`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.IsInfOp, rewriter: PatternRewriter) -> None:
        """Copy the flags for both signs."""
        positive, negative = op.integer("detect_positive"), op.integer("detect_negative")
        rewriter.replace(op, graph.IsInfOp(op.X, positive=bool(positive), negative=bool(negative)))
