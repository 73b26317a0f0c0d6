"""Bounds before a quantize that saturation implies: patterns of `fold-qdq`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.contraction import BYTES
from stepwell.dialects.graph.relations import is_unsigned
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dtype_of
from stepwell.passes.graph.quantize.dequantized import keeps_order
from stepwell.runtime.files.weights import WeightStore


def _read_instead(
    op: graph.QuantizeOp, bounded: graph.ReluOp | graph.ClipOp, value: SSAValue, rewriter: PatternRewriter
) -> None:
    """Let a quantize read a value in place of the bounded one, which goes if nothing else uses it."""
    op.operands[0] = value
    if bounded.result.first_use is None:
        rewriter.erase(bounded)  # a dead user would make `has_one_use` of its input false
    rewriter.notify_op_modified(op)


@dataclass
class DropReluBeforeQuantize(RewritePattern):
    """Drop a ReLU before a quantize whose zero point is the least integer: saturation clips at 0 as well."""

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.QuantizeOp, rewriter: PatternRewriter) -> None:
        relu = op.input.owner
        if (
            not isinstance(relu, graph.ReluOp)
            or op.to not in BYTES
            or not keeps_order(op.scale, self.weights)
        ):
            return
        point = constant_of(op.zero_point, self.weights) if op.zero_point is not None else np.int8(0)
        if point is not None and np.all(point.astype(np.int32) == (0 if is_unsigned(op.to) else -128)):
            _read_instead(op, relu, relu.input, rewriter)


@dataclass
class ClipBySaturation(RewritePattern):
    """
    Drop the bounds of a clip before a quantize that give the least or the greatest byte. Class: exact.

    ```mlir
    %s = graph.constant dense<0.02> : tensor<f32>
    %lo = graph.constant dense<-1.0> : tensor<f32>
    %hi = graph.constant dense<6.0> : tensor<f32>
    %c = graph.clip %x lo %lo : tensor<f32> hi %hi : tensor<f32> : tensor<4xf32> -> tensor<4xf32>
    %y = graph.quantize %c, %s to ui8 saturate true : (tensor<4xf32>, tensor<f32>) -> tensor<4xui8>
    // ->
    %s = graph.constant dense<0.02> : tensor<f32>
    %y = graph.quantize %x, %s to ui8 saturate true : (tensor<4xf32>, tensor<f32>) -> tensor<4xui8>
    ```
    Rounding keeps the order of numbers: beyond such a bound all of them saturate.
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.QuantizeOp, rewriter: PatternRewriter) -> None:
        clip = op.input.owner
        if not isinstance(clip, graph.ClipOp) or op.to not in BYTES or op.compute_type is not None:
            return
        if op.block_size or not keeps_order(op.scale, self.weights):
            return
        limits = np.iinfo(dtype_of(op.to).name)
        lo = None if self._reaches(clip.lo, op, limits.min) else clip.lo
        hi = None if self._reaches(clip.hi, op, limits.max) else clip.hi
        if (lo, hi) == (clip.lo, clip.hi):
            return
        left = clip.input if lo is hi is None else rewriter.insert(graph.ClipOp(clip.input, lo, hi)).result
        _read_instead(op, clip, left, rewriter)

    def _reaches(self, bound: SSAValue | None, op: graph.QuantizeOp, limit: int) -> bool:
        """Whether a constant bound is a limit of the bytes or beyond it, by the scales of all channels."""
        scale = constant_of(op.scale, self.weights)
        point = np.array(0) if op.zero_point is None else constant_of(op.zero_point, self.weights)
        number = None if bound is None else constant_of(bound, self.weights)
        if number is None or scale is None or point is None or scale.dtype != np.float32:
            return False
        with np.errstate(all="ignore"):
            codes = np.rint(number.astype(np.float32) / scale.astype(np.float32)) + point.astype(np.float32)
        return bool((codes <= limit if limit <= 0 else codes >= limit).all())
