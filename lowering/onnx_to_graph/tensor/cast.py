"""ONNX conversions between element types, and running sums → `graph`."""

from __future__ import annotations

from xdsl.dialects.builtin import Float8E8M0FNUType, StringAttr
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.support import (
    OnnxLowering,
    element_of,
    element_type,
    emit,
    has_strings,
    normalized_axis,
    rank_of,
)


def target_type(op: onnx.CastOp) -> Attribute:
    """The element type that a `Cast` names: by number, below opset 6 by name."""
    return element_type(op.string("to") if isinstance(op.to, StringAttr) else op.integer("to"), op)


class CastLowering(OnnxLowering):
    """`Cast`, `CastLike` → `graph.cast`; the input itself if the type is the same."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CastOp | onnx.CastLikeOp, rewriter: PatternRewriter) -> None:
        """Cast with saturation and rounding mode; strings are left to the host's pattern."""
        if has_strings(op):
            return
        to = target_type(op) if isinstance(op, onnx.CastOp) else element_of(op.target_type)
        if to == element_of(op.input):
            rewriter.replace(op, [], [op.input])
        else:
            saturate = not op.has("saturate") or bool(op.integer("saturate"))
            # Only casts to powers of two have rounding modes.
            to_power = isinstance(to, Float8E8M0FNUType) and op.has("round_mode")
            round = op.string("round_mode") if to_power else "nearest"
            rewriter.replace(op, graph.CastOp(op.input, to, saturate=saturate, round=round))


class BitCastLowering(OnnxLowering):
    """`BitCast` → `graph.bitcast`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.BitCastOp, rewriter: PatternRewriter) -> None:
        """Replace the op by a `graph.bitcast` to the named type."""
        rewriter.replace(op, graph.BitcastOp(op.input, element_type(op.integer("to"), op)))


class RunningLowering(OnnxLowering):
    """`CumSum`, `CumProd` → `graph.scan`; an axis that is data selects among the scans along all axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CumSumOp | onnx.CumProdOp, rewriter: PatternRewriter) -> None:
        """Scan along a constant axis, or select among the scans of all axes by the operand."""
        rank = rank_of(op.x, op)
        if (axis := self.integers(op.axis)) is not None:
            rewriter.replace(op, _scan(op, normalized_axis(axis[0], rank, op)))
            return
        given = self.as_scalar(op.axis, op, rewriter)
        assert given is not None
        rewriter.insert(graph.CheckIndicesOp(given, [rank]))  # the axis
        result = emit(_scan(op, 0), rewriter)
        for candidate in range(1, rank):
            scanned = emit(_scan(op, candidate), rewriter)
            for name in (candidate, candidate - rank):
                number = self.scalar(name, element_of(given), rewriter)
                chosen = emit(graph.EqualOp(given, number), rewriter)
                result = emit(graph.WhereOp(chosen, scanned, result), rewriter)
        rewriter.replace(op, [], [result])


def _scan(op: onnx.CumSumOp | onnx.CumProdOp, axis: int) -> graph.ScanOp:
    """The scan of an operator along an axis."""
    kind = "sum" if isinstance(op, onnx.CumSumOp) else "prod"
    exclusive, reverse = bool(op.integer("exclusive")), bool(op.integer("reverse"))
    return graph.ScanOp(op.x, kind, axis, exclusive=exclusive, reverse=reverse)
