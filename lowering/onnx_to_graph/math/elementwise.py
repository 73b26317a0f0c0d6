"""Elementwise ONNX operators without parameters → the corresponding `graph` op, or a chain of such ops."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.binary import BinaryOp
from stepwell.dialects.graph.elementwise import UnaryOp
from stepwell.lowering.onnx_to_graph.broadcasting import agreeing, legacy_broadcast
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, element_of, emit, has_strings

UNARY: Mapping[type[onnx.OnnxOp], type[UnaryOp]] = {
    onnx.AbsOp: graph.AbsOp,
    onnx.AcosOp: graph.AcosOp,
    onnx.AcoshOp: graph.AcoshOp,
    onnx.AsinOp: graph.AsinOp,
    onnx.AsinhOp: graph.AsinhOp,
    onnx.AtanOp: graph.AtanOp,
    onnx.AtanhOp: graph.AtanhOp,
    onnx.BitwiseNotOp: graph.NotOp,
    onnx.CeilOp: graph.CeilOp,
    onnx.CosOp: graph.CosOp,
    onnx.CoshOp: graph.CoshOp,
    onnx.ErfOp: graph.ErfOp,
    onnx.ExpOp: graph.ExpOp,
    onnx.FloorOp: graph.FloorOp,
    onnx.IsNaNOp: graph.IsNanOp,
    onnx.LogOp: graph.LogOp,
    onnx.NegOp: graph.NegOp,
    onnx.NotOp: graph.NotOp,
    onnx.ReluOp: graph.ReluOp,
    onnx.RoundOp: graph.RoundOp,
    onnx.SigmoidOp: graph.SigmoidOp,
    onnx.SignOp: graph.SignOp,
    onnx.SinOp: graph.SinOp,
    onnx.SinhOp: graph.SinhOp,
    onnx.SoftplusOp: graph.SoftplusOp,
    onnx.SqrtOp: graph.SqrtOp,
    onnx.TanOp: graph.TanOp,
    onnx.TanhOp: graph.TanhOp,
}

BINARY: Mapping[type[onnx.OnnxOp], type[BinaryOp]] = {
    onnx.AddOp: graph.AddOp,
    onnx.AndOp: graph.AndOp,
    onnx.BitwiseAndOp: graph.AndOp,
    onnx.BitwiseOrOp: graph.OrOp,
    onnx.BitwiseXorOp: graph.XorOp,
    onnx.DivOp: graph.DivideOp,
    onnx.EqualOp: graph.EqualOp,
    onnx.LessOp: graph.LessOp,
    onnx.LessOrEqualOp: graph.LessEqualOp,
    onnx.MulOp: graph.MultiplyOp,
    onnx.OrOp: graph.OrOp,
    onnx.PowOp: graph.PowerOp,
    onnx.SubOp: graph.SubtractOp,
    onnx.XorOp: graph.XorOp,
}

SWAPPED: Mapping[type[onnx.OnnxOp], type[BinaryOp]] = {
    onnx.GreaterOp: graph.LessOp,
    onnx.GreaterOrEqualOp: graph.LessEqualOp,
}

CHAINS: Mapping[type[onnx.OnnxOp], type[BinaryOp]] = {
    onnx.MaxOp: graph.MaximumOp,
    onnx.MeanOp: graph.AddOp,
    onnx.MinOp: graph.MinimumOp,
    onnx.SumOp: graph.AddOp,
}


class UnaryLowering(OnnxLowering):
    """An operator on one tensor, without attributes → the op in `UNARY`."""

    takes = tuple(UNARY)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OnnxOp, rewriter: PatternRewriter) -> None:
        """Replace the op by its counterpart in `UNARY`."""
        rewriter.replace(op, UNARY[type(op)](op.operands[0]))


class BinaryLowering(OnnxLowering):
    """
    An operator on two tensors that broadcast → the op in `BINARY`, or in `SWAPPED` with exchanged operands.
    """

    takes = (*BINARY, *SWAPPED)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OnnxOp, rewriter: PatternRewriter) -> None:
        """
        Align and broadcast the operands, exchange those of `SWAPPED`; strings are left to the host's pattern.
        """
        if has_strings(op):
            return
        target = BINARY.get(type(op)) or SWAPPED[type(op)]
        lhs, rhs = op.operands
        lhs, rhs = agreeing(op, [lhs, legacy_broadcast(op, lhs, rhs, rewriter)], self, rewriter)
        rewriter.replace(op, target(rhs, lhs) if type(op) in SWAPPED else target(lhs, rhs))


class ChainLowering(OnnxLowering):
    """
    An operator on any number of tensors → a chain of the op in `CHAINS`; a mean is divided by their number.
    """

    takes = tuple(CHAINS)

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.OnnxOp, rewriter: PatternRewriter) -> None:
        """Fold the operands from left to right; a `Mean` is divided by their number."""
        target = CHAINS[type(op)]
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
