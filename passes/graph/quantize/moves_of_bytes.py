"""Patterns of `fold-qdq` to move, join and clip bytes in place of dequantized numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.contraction import BYTES
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of, dtype_of
from stepwell.passes.graph.quantize.dequantized import (
    are_same,
    dequantized_activation,
    dequantized_bytes,
    keeps_order,
)
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array


class MoveOfBytes(RewritePattern):
    """
    Move a dequantize by a single scale after an op that only moves numbers. Class: exact.

    ```mlir
    %a = graph.dequantize %x, %s to f32 : (tensor<2x6xui8>, tensor<f32>) -> tensor<2x6xf32>
    %y = graph.reshape %a shape <[3, 4]> : tensor<2x6xf32> -> tensor<3x4xf32>
    // ->
    %b = graph.reshape %x shape <[3, 4]> : tensor<2x6xui8> -> tensor<3x4xui8>
    %y = graph.dequantize %b, %s to f32 : (tensor<3x4xui8>, tensor<f32>) -> tensor<3x4xf32>
    ```
    Of reshape, transpose, expand_dims, squeeze, slice, tile, reverse, gather, and resize to nearest.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self,
        op: graph.ReshapeOp
        | graph.TransposeOp
        | graph.ExpandDimsOp
        | graph.SqueezeOp
        | graph.SliceOp
        | graph.TileOp
        | graph.ReverseOp
        | graph.GatherOp
        | graph.ResizeOp,
        rewriter: PatternRewriter,
    ) -> None:
        source = dequantized_activation(op.operands[0])
        if source is None or (isinstance(op, graph.ResizeOp) and not _only_moves(op)):
            return
        moved = op.on([source.input, *op.operands[1:]])
        rewriter.replace(op, [moved, graph.DequantizeOp(moved.results[0], source.scale, source.zero_point)])


def _only_moves(op: graph.ResizeOp) -> bool:
    """Whether the elements of a resize are those of its operand: nothing is computed or extrapolated."""
    return op.mode.data == "nearest" and op.coordinate.data != "tf_crop_and_resize"


class TransposeOfChannels(RewritePattern):
    """
    Move a dequantize by a scale for each channel after a transpose. Class: exact.

    ```mlir
    %a = graph.dequantize %x, %s axis 1 to f32 : (tensor<2x6xi8>, tensor<6xf32>) -> tensor<2x6xf32>
    %y = graph.transpose %a perm [1, 0] : tensor<2x6xf32> -> tensor<6x2xf32>
    // ->
    %b = graph.transpose %x perm [1, 0] : tensor<2x6xi8> -> tensor<6x2xi8>
    %y = graph.dequantize %b, %s axis 0 to f32 : (tensor<6x2xi8>, tensor<6xf32>) -> tensor<6x2xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TransposeOp, rewriter: PatternRewriter) -> None:
        source = dequantized_bytes(op.input)
        if source is None or not dims_of(source.scale.type):
            return
        moved = op.on([source.input])
        axis = list(op.perm.get_values()).index(source.axis.value.data)
        made = graph.DequantizeOp(moved.result, source.scale, source.zero_point, to=source.to, axis=axis)
        rewriter.replace(op, [moved, made])


@dataclass
class PadOfBytes(RewritePattern):
    """
    Move a dequantize after a pad whose fill value a byte can represent. Class: exact.

    ```mlir
    %a = graph.dequantize %x, %s zero_point %z : tensor<ui8> to f32
      : (tensor<4xui8>, tensor<f32>) -> tensor<4xf32>
    %y = graph.pad %a pads <[1, 1]> mode "constant" : tensor<4xf32> -> tensor<6xf32>
    // ->
    %b = graph.pad %x with %z : tensor<ui8> pads <[1, 1]> mode "constant" : tensor<4xui8> -> tensor<6xui8>
    %y = graph.dequantize %b, %s zero_point %z : tensor<ui8> to f32
      : (tensor<6xui8>, tensor<f32>) -> tensor<6xf32>
    ```
    Pads that only convolutions and pools read are left to `fold-explicit-padding`.
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PadOp, rewriter: PatternRewriter) -> None:
        source = dequantized_activation(op.input)
        windows = (graph.ConvOp, graph.PoolOp)
        if source is None or all(isinstance(use.operation, windows) for use in op.result.uses):
            return
        fill = source.zero_point
        if op.mode.data == "constant" and op.value is not None:
            code = self._code(op.value, source)
            if code is None:
                return
            fill = rewriter.insert(graph.ConstantOp.of(code, self.weights)).result
        filled = fill if op.mode.data == "constant" else None
        sizes = op.pads_value if op.pads is None else op.pads.get()
        assert sizes is not None
        moved = graph.PadOp(source.input, sizes, op.mode.data, filled)
        rewriter.replace(op, [moved, graph.DequantizeOp(moved.result, source.scale, source.zero_point)])

    def _code(self, value: SSAValue, source: graph.DequantizeOp) -> Array | None:
        """The byte that stands for a constant; None where none does."""
        number, scale = constant_of(value, self.weights), constant_of(source.scale, self.weights)
        zero = np.array(0) if source.zero_point is None else constant_of(source.zero_point, self.weights)
        if number is None or scale is None or zero is None:
            return None
        dtype = dtype_of(element_of_value(source.input))
        code = np.float32(number.item()) / np.float32(scale.item()) + int(zero.item())
        limits = np.iinfo(dtype.name)
        if code != np.rint(code) or not limits.min <= code <= limits.max:
            return None
        return np.array(int(code), dtype)


@dataclass
class ConcatOfBytes(RewritePattern):
    """
    Join bytes of one scale and zero point, and dequantize the result. Class: exact.

    ```mlir
    %a = graph.dequantize %x, %s to f32 : (tensor<2xui8>, tensor<f32>) -> tensor<2xf32>
    %b = graph.dequantize %w, %s to f32 : (tensor<3xui8>, tensor<f32>) -> tensor<3xf32>
    %y = graph.concat %a, %b axis 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
    // ->
    %c = graph.concat %x, %w axis 0 : (tensor<2xui8>, tensor<3xui8>) -> tensor<5xui8>
    %y = graph.dequantize %c, %s to f32 : (tensor<5xui8>, tensor<f32>) -> tensor<5xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConcatOp, rewriter: PatternRewriter) -> None:
        found = [dequantized_activation(value) for value in op.inputs]
        sources = [source for source in found if source is not None]
        if len(sources) < len(found) or not all(self._agree(sources[0], other) for other in sources[1:]):
            return
        first = sources[0]
        joined = graph.ConcatOp([source.input for source in sources], op.axis.value.data)
        rewriter.replace(op, [joined, graph.DequantizeOp(joined.result, first.scale, first.zero_point)])

    def _agree(self, a: graph.DequantizeOp, b: graph.DequantizeOp) -> bool:
        same_type = element_of_value(a.input) == element_of_value(b.input)
        return (
            same_type
            and are_same(a.scale, b.scale, self.weights)
            and are_same(a.zero_point, b.zero_point, self.weights)
        )


class QuantizeBeforeConcat(RewritePattern):
    """
    Quantize the parts of a concatenation of dequantized bytes, instead of the whole. Class: exact.

    ```mlir
    %a = graph.dequantize %x, %s to f32 : (tensor<2xui8>, tensor<f32>) -> tensor<2xf32>
    %b = graph.dequantize %w, %t to f32 : (tensor<3xui8>, tensor<f32>) -> tensor<3xf32>
    %c = graph.concat %a, %b axis 0 : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
    %y = graph.quantize %c, %t to ui8 saturate true : (tensor<5xf32>, tensor<f32>) -> tensor<5xui8>
    // ->
    %a = graph.dequantize %x, %s to f32 : (tensor<2xui8>, tensor<f32>) -> tensor<2xf32>
    %b = graph.dequantize %w, %t to f32 : (tensor<3xui8>, tensor<f32>) -> tensor<3xf32>
    %d = graph.quantize %a, %t to ui8 saturate true : (tensor<2xf32>, tensor<f32>) -> tensor<2xui8>
    %e = graph.quantize %b, %t to ui8 saturate true : (tensor<3xf32>, tensor<f32>) -> tensor<3xui8>
    %y = graph.concat %d, %e axis 0 : (tensor<2xui8>, tensor<3xui8>) -> tensor<5xui8>
    ```
    A part of the same scale is then copied as it is; each other one is requantized by itself.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.QuantizeOp, rewriter: PatternRewriter) -> None:
        concat = op.input.owner
        if not isinstance(concat, graph.ConcatOp) or not concat.result.has_one_use():
            return
        if dims_of(op.scale.type) or op.to not in BYTES or op.compute_type is not None:
            return
        if any(dequantized_activation(value) is None for value in concat.inputs):
            return
        parts: list[Operation] = [
            graph.QuantizeOp(value, op.scale, op.zero_point, to=op.to) for value in concat.inputs
        ]
        joined = graph.ConcatOp([part.results[0] for part in parts], concat.axis.value.data)
        rewriter.replace(op, [*parts, joined])
        rewriter.erase(concat)


@dataclass
class ClipOfBytes(RewritePattern):
    """
    Clip bytes between a dequantize and a quantize of the same numbers. Class: exact.

    ```mlir
    %s = graph.constant dense<0.5> : tensor<f32>
    %hi = graph.constant dense<6.0> : tensor<f32>
    %a = graph.dequantize %x, %s to f32 : (tensor<4xui8>, tensor<f32>) -> tensor<4xf32>
    %b = graph.clip %a hi %hi : tensor<f32> : tensor<4xf32> -> tensor<4xf32>
    %y = graph.quantize %b, %s to ui8 saturate true : (tensor<4xf32>, tensor<f32>) -> tensor<4xui8>
    // ->
    %c = graph.constant dense<12> : tensor<ui8>
    %y = graph.clip %x hi %c : tensor<ui8> : tensor<4xui8> -> tensor<4xui8>
    ```
    Rounding keeps the order of numbers: bounds may be quantized first.
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.QuantizeOp, rewriter: PatternRewriter) -> None:
        clip = op.input.owner
        source = dequantized_activation(clip.input) if isinstance(clip, graph.ClipOp) else None
        if source is None or element_of_value(source.input) != op.to or op.compute_type is not None:
            return
        assert isinstance(clip, graph.ClipOp)
        same = are_same(source.scale, op.scale, self.weights)
        if not same or not are_same(source.zero_point, op.zero_point, self.weights):
            return
        if not keeps_order(op.scale, self.weights):
            return
        given = clip.lo, clip.hi
        codes = [None if each is None else self._quantized(each, op) for each in given]
        if any((bound is None) != (code is None) for bound, code in zip(given, codes, strict=True)):
            return
        bounds = [
            None if code is None else rewriter.insert(graph.ConstantOp.of(code, self.weights)).result
            for code in codes
        ]
        rewriter.replace(op, graph.ClipOp(source.input, *bounds))

    def _quantized(self, bound: SSAValue, op: graph.QuantizeOp) -> Array | None:
        """A constant bound as a byte; None for one that is computed, or no number."""
        number, scale = constant_of(bound, self.weights), constant_of(op.scale, self.weights)
        zero = np.array(0) if op.zero_point is None else constant_of(op.zero_point, self.weights)
        if number is None or scale is None or zero is None or np.isnan(number).any():
            return None
        dtype = dtype_of(op.to)
        limits = np.iinfo(dtype.name)
        code = np.rint(number.astype(np.float32) / scale.astype(np.float32)) + int(zero.item())
        return np.clip(code, limits.min, limits.max).astype(dtype)
