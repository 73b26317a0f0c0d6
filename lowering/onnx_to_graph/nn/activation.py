"""ONNX activations → the corresponding `graph` op, or a composition of ops."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.broadcasting import agreeing, fitted
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, element_of, emit, rank_of, shape_of

WITH_ALPHA: Mapping[type[onnx.OnnxOp], type[graph.LeakyReluOp] | type[graph.EluOp] | type[graph.SiluOp]] = {
    onnx.LeakyReluOp: graph.LeakyReluOp,
    onnx.EluOp: graph.EluOp,
    onnx.SwishOp: graph.SiluOp,
}


def hard_sigmoid(
    lowering: OnnxLowering, x: SSAValue, alpha: float, beta: float, rewriter: PatternRewriter
) -> SSAValue:
    """clip(alpha * x + beta, 0, 1)"""
    numbers = [lowering.scalar(number, element_of(x), rewriter) for number in (alpha, beta, 0, 1)]
    line = emit(graph.AddOp(emit(graph.MultiplyOp(x, numbers[0]), rewriter), numbers[1]), rewriter)
    return emit(graph.ClipOp(line, numbers[2], numbers[3]), rewriter)


class AlphaLowering(OnnxLowering):
    """An activation with one coefficient → the op in `WITH_ALPHA`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: onnx.LeakyReluOp | onnx.EluOp | onnx.SwishOp, rewriter: PatternRewriter
    ) -> None:
        """Copy the coefficient `alpha`: a slope, or the factor of the sigmoid's argument."""
        rewriter.replace(op, WITH_ALPHA[type(op)](op.X, op.floating("alpha")))


class SeluLowering(OnnxLowering):
    """`Selu` → gamma * elu(x, alpha), with the defaults of the model's opset."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SeluOp, rewriter: PatternRewriter) -> None:
        """Multiply an `elu` by gamma."""
        gamma = self.scalar(op.floating("gamma"), element_of(op.X), rewriter)
        rewriter.replace(op, graph.MultiplyOp(emit(graph.EluOp(op.X, op.floating("alpha")), rewriter), gamma))


class CeluLowering(OnnxLowering):
    """`Celu` → max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CeluOp, rewriter: PatternRewriter) -> None:
        """Add the positive part, and the negative part by `expm1`."""
        element = element_of(op.X)
        alpha = self.scalar(op.floating("alpha"), element, rewriter)
        power = emit(graph.Expm1Op(emit(graph.DivideOp(op.X, alpha), rewriter)), rewriter)
        bent = emit(graph.MultiplyOp(power, alpha), rewriter)
        below = emit(graph.MinimumOp(bent, self.scalar(0, element, rewriter)), rewriter)
        rewriter.replace(op, graph.AddOp(emit(graph.ReluOp(op.X), rewriter), below))


class GeluLowering(OnnxLowering):
    """`Gelu` → `graph.gelu`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.GeluOp, rewriter: PatternRewriter) -> None:
        """Copy the approximation, `none` or `tanh`."""
        rewriter.replace(op, graph.GeluOp(op.X, op.string("approximate")))


class SwiGluLowering(OnnxLowering):
    """`SwiGLU` → silu(A) * B."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SwiGLUOp, rewriter: PatternRewriter) -> None:
        """Multiply the silu of A by B, with broadcasting."""
        a, b = agreeing(op, [op.A, op.B], self, rewriter)
        gate = emit(graph.SiluOp(a, op.floating("alpha")), rewriter)
        rewriter.replace(op, graph.MultiplyOp(gate, b))


class HardSigmoidLowering(OnnxLowering):
    """`HardSigmoid` → clip(alpha * x + beta, 0, 1)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.HardSigmoidOp, rewriter: PatternRewriter) -> None:
        """Emit the clipped line with the op's alpha and beta."""
        result = hard_sigmoid(self, op.X, op.floating("alpha"), op.floating("beta"), rewriter)
        rewriter.replace(op, [], [result])


class HardSwishLowering(OnnxLowering):
    """`HardSwish` → x * clip(x / 6 + 1 / 2, 0, 1)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.HardSwishOp, rewriter: PatternRewriter) -> None:
        """Multiply the input by the clipped line x / 6 + 1 / 2."""
        gate = hard_sigmoid(self, op.X, 1 / 6, 1 / 2, rewriter)
        rewriter.replace(op, graph.MultiplyOp(op.X, gate))


class MishLowering(OnnxLowering):
    """`Mish` → x * tanh(softplus(x))."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MishOp, rewriter: PatternRewriter) -> None:
        """Multiply the input by the tanh of its softplus."""
        gate = emit(graph.TanhOp(emit(graph.SoftplusOp(op.X), rewriter)), rewriter)
        rewriter.replace(op, graph.MultiplyOp(op.X, gate))


class SoftsignLowering(OnnxLowering):
    """`Softsign` → x / (1 + |x|)."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SoftsignOp, rewriter: PatternRewriter) -> None:
        """Divide the input by one plus its absolute value."""
        one = self.scalar(1, element_of(op.input), rewriter)
        size = emit(graph.AddOp(one, emit(graph.AbsOp(op.input), rewriter)), rewriter)
        rewriter.replace(op, graph.DivideOp(op.input, size))


class ThresholdedReluLowering(OnnxLowering):
    """`ThresholdedRelu` → x where x > alpha, else 0."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ThresholdedReluOp, rewriter: PatternRewriter) -> None:
        """Select the input above alpha, else 0."""
        element = element_of(op.X)
        above = emit(graph.LessOp(self.scalar(op.floating("alpha"), element, rewriter), op.X), rewriter)
        rewriter.replace(op, graph.WhereOp(above, op.X, self.scalar(0, element, rewriter)))


class ShrinkLowering(OnnxLowering):
    """`Shrink` → x + bias where x < -lambd, x - bias where x > lambd, else 0, for NaN too."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ShrinkOp, rewriter: PatternRewriter) -> None:
        """Select x + bias below -lambd, x - bias above lambd, else 0."""
        x, element = op.input, element_of(op.input)

        def number(value: float) -> SSAValue:
            return self.scalar(value, element, rewriter)

        lambd, bias = op.floating("lambd"), number(op.floating("bias"))
        below = emit(graph.LessOp(x, number(-lambd)), rewriter)
        above = emit(graph.LessOp(number(lambd), x), rewriter)
        lowered = emit(graph.SubtractOp(x, bias), rewriter)
        raised = emit(graph.AddOp(x, bias), rewriter)
        inner = emit(graph.WhereOp(above, lowered, number(0)), rewriter)
        rewriter.replace(op, graph.WhereOp(below, raised, inner))


class PReluLowering(OnnxLowering):
    """`PRelu` → x where x >= 0, else x * slope; below opset 7 the slope is a scalar or one per channel."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.PReluOp, rewriter: PatternRewriter) -> None:
        """Align the slope with the channels in old opsets, broadcast it, and select by the sign."""
        slope, rank = op.slope, rank_of(op.X, op)
        if onnx.opset_of(op) < 7 and rank_of(slope, op) == 1 and shape_of(slope, op)[0] != 1 and rank > 2:
            slope = emit(graph.ExpandDimsOp(slope, range(1, rank - 1)), rewriter)
        slope = fitted(op, slope, shape_of(op.X, op), self, rewriter)
        zero = self.scalar(0, element_of(op.X), rewriter)
        negative = emit(graph.LessOp(op.X, zero), rewriter)
        rewriter.replace(op, graph.WhereOp(negative, emit(graph.MultiplyOp(op.X, slope), rewriter), op.X))


class ClipLowering(OnnxLowering):
    """`Clip` → `graph.clip`; an absent bound, attribute or input, is no bound."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ClipOp, rewriter: PatternRewriter) -> None:
        """
        Read the bounds from attributes below opset 11, else from inputs; without bounds return the input.
        """
        if onnx.opset_of(op) < 11:
            # Defaults, such as ±3.4e38 at opset 6, are ignored: only attributes of the model are bounds.
            given = [op.floating(name) if name in op.properties else None for name in ("min", "max")]
            element = element_of(op.input)
            lo, hi = (None if bound is None else self.scalar(bound, element, rewriter) for bound in given)
        else:
            lo, hi = (self.as_scalar(bound, op, rewriter) for bound in (op.min, op.max))
        if lo is None and hi is None:
            rewriter.replace(op, [], [op.input])
        else:
            rewriter.replace(op, graph.ClipOp(op.input, lo, hi))
