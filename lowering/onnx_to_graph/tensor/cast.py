"""ONNX conversions between element types, running sums, and dropout → `graph`."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import Float8E8M0FNUType, StringAttr, f32, i1
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import tensor_type
from stepwell.lowering.onnx_to_graph.expressions import Formula
from stepwell.lowering.onnx_to_graph.host_calls import host_results
from stepwell.lowering.onnx_to_graph.support import (
    OnnxLowering,
    element_of,
    element_type,
    emit,
    has_strings,
    normalized_axis,
    rank_of,
    shape_of,
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


class DropoutLowering(OnnxLowering):
    """
    `Dropout` in inference → its input; the mask is all true from opset 12 on, and all zeros below.

    In training the host draws the mask: by the seed with numpy's older generator, or anew at each call.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.DropoutOp, rewriter: PatternRewriter) -> None:
        """Return the input and a constant mask, unless training mode is, or may be, on."""
        opset = onnx.opset_of(op)
        if opset >= 12 and op.training_mode is not None:
            mode = self.array(op.training_mode)
            if mode is None or bool(np.any(mode)):
                self._train(op, mode is not None, rewriter)
                return
        results = [op.data]
        if op.mask is not None:
            element = i1 if opset >= 10 else element_of(op.data)
            number = self.scalar(1 if opset >= 12 else 0, element, rewriter)
            results.append(emit(graph.FullOp(number, shape_of(op.data, op)), rewriter))
        rewriter.replace(op, [], results)

    def _train(self, op: onnx.DropoutOp, is_certain: bool, rewriter: PatternRewriter) -> None:
        """
        Kept elements are divided by the probability of being kept; the flag `training_mode` may be data.
        """
        at = Formula(self, rewriter)
        ratio = (
            self.scalar(0.5, f32, rewriter) if op.ratio is None else self.as_scalar(op.ratio, op, rewriter)
        )
        mode = self.as_scalar(op.training_mode, op, rewriter)
        assert ratio is not None and mode is not None
        seed = op.integer("seed") if op.has("seed") else None
        mask = tensor_type(i1, shape_of(op.data, op))
        drawn = host_results(
            "host.dropout_mask", {"seed": seed}, [op.data, ratio], [mask], rewriter, effect=seed is None
        )
        x, kept, trains = at.value(op.data), at.value(drawn[0]), at.value(mode)
        scale = (1.0 / (1.0 - at.value(ratio))).cast(x.element)
        if not is_certain:
            kept, scale = kept | trains.negated(), at.where(trains, scale, 1.0)
        y = at.where(kept, x * scale, 0.0)
        rewriter.replace(op, [], [y.ssa] if op.mask is None else [y.ssa, kept.ssa])
