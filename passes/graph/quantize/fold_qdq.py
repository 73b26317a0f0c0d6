"""`fold-qdq`: operators between dequantize and quantize compute on the quantized integers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import f32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.costs.layouts import LAYOUTS
from stepwell.dialects.graph.integer_sums import EXACT_TERMS, conv_fits_i32, matmul_fits_i32
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of
from stepwell.passes.analysis.dead_ops import erase_dead_ops
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.context import remark
from stepwell.passes.graph.quantize.bounds_of_bytes import ClipBySaturation, DropReluBeforeQuantize
from stepwell.passes.graph.quantize.dequantized import (
    are_same,
    dequantized_activation,
    dequantized_bytes,
    dequantized_channels,
    dequantized_weight,
    keeps_order,
)
from stepwell.passes.graph.quantize.moves_of_bytes import (
    ClipOfBytes,
    ConcatOfBytes,
    MoveOfBytes,
    PadOfBytes,
    QuantizeBeforeConcat,
    TransposeOfChannels,
)
from stepwell.passes.graph.quantize.units_of_scale import WorkInUnitsOfScale
from stepwell.patterns.driver.greedy import apply_patterns
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.layout import parse_layout


@dataclass(frozen=True)
class FoldQdqPass(FunctionPass):
    """
    Compute convolutions and products of dequantized 8-bit operands on the integers, and dequantize the sums.

    The ops up to the next quantize are then computed in units of its scale.

    ```mlir
    %a = graph.dequantize %x, %s to f32 : (tensor<8x64xui8>, tensor<f32>) -> tensor<8x64xf32>
    %b = graph.dequantize %w, %t axis 1 to f32 : (tensor<64x32xi8>, tensor<32xf32>) -> tensor<64x32xf32>
    %y = graph.matmul %a, %b : (tensor<8x64xf32>, tensor<64x32xf32>) -> tensor<8x32xf32>
    // ->
    %0 = graph.matmul_integer %x, %w : (tensor<8x64xui8>, tensor<64x32xi8>) -> tensor<8x32xi32>
    %1 = graph.multiply %s, %t : (tensor<f32>, tensor<32xf32>) -> tensor<32xf32>
    %y = graph.dequantize %0, %1 axis 1 to f32 : (tensor<8x32xi32>, tensor<32xf32>) -> tensor<8x32xf32>
    ```
    The integer sums are exact; a sum that could exceed 32 bits, by its types and weights, stays in floats. A
    result can differ by one quantization step from the result of sums in floats (`--disable-pass fold-qdq`).
    Class: quantized. Runs before constants are folded, which would dequantize the weights.
    Source: Jacob et al. 2018, "Quantization and Training of Neural Networks for Efficient
    Integer-Arithmetic-Only Inference".
    """

    name = "fold-qdq"
    opt_level = 1
    numerics = Numerics.QUANTIZED

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        weights = weights_of(ctx)
        declined: set[Operation] = set()
        patterns = [
            ConvOfBytes(weights, declined),
            MatmulOfBytes(weights, declined),
            PoolOfBytes(weights),
            MoveOfBytes(),
            TransposeOfChannels(),
            PadOfBytes(weights),
            ConcatOfBytes(weights),
            QuantizeBeforeConcat(),
            ClipOfBytes(weights),
            DropQuantizeOfDequantize(weights),
            ZeroPointOfAllChannels(weights),
            DropReluBeforeQuantize(weights),
            ClipBySaturation(weights),
            WorkInUnitsOfScale(weights),
        ]
        apply_patterns(func.body, patterns)
        erase_dead_ops(func.body.block)
        for op in func.body.walk():
            if isinstance(op, graph.ConvOp | graph.MatmulOp) and op not in declined:
                _remark_on_floats(op)


def _remark_on_floats(op: graph.ConvOp | graph.MatmulOp) -> None:
    """Say why an op with a dequantized operand stays in floats."""
    left, right = (dequantized_bytes(value) for value in op.operands)
    if left is None and right is None:
        return
    if left is None or right is None:
        which = "first" if left is None else "second"
        why = f"its {which} operand is not dequantized from bytes"
    elif dims_of(left.scale.type):
        why = f"its first operand has a scale for each index of axis {left.axis.value.data}"
    elif isinstance(op, graph.ConvOp) and not _is_dense_or_depthwise(op):
        why = f"it has {op.groups.value.data} groups"
    elif dims_of(right.scale.type):
        why = f"its second operand has a scale for each index of axis {right.axis.value.data}, or is computed"
    else:
        why = "its second operand is computed, and the sums are too long or of unknown length"
    remark(op, f"not folded: {why}")


@dataclass
class ConvOfBytes(RewritePattern):
    """
    Replace a convolution of dequantized 8-bit operands by a convolution of the integers, dequantized.

    Dense and depthwise ones only; other groups are computed in floats. A depthwise one may have a scale for
    each channel of its input.
    """

    weights: WeightStore
    declined: set[Operation]

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvOp, rewriter: PatternRewriter) -> None:
        if op in self.declined or op.out_layout is not None:
            return
        kernel_layout, data_layout = (parse_layout(each.data) for each in (op.kernel_layout, op.data_layout))
        x, w = dequantized_activation(op.x), dequantized_weight(op.w, kernel_layout.axis("O"))
        if op.groups.value.data > 1:
            x = x or dequantized_channels(op.x, data_layout.axis("C"))
        if x is None or w is None or not _is_dense_or_depthwise(op):
            return
        factors = (x.input, x.zero_point), (w.input, w.zero_point)
        if not conv_fits_i32(*factors, op.kernel_layout.data, partial(constant_of, weights=self.weights)):
            _decline(op, self.declined)
            return
        sums = graph.ConvIntegerOp(
            x.input,
            w.input,
            x.zero_point,
            w.zero_point,
            strides=op.strides.get_values(),
            dilations=op.dilations.get_values(),
            pads=op.pads.get_values(),
            groups=op.groups.value.data,
            data_layout=op.data_layout.data,
            kernel_layout=op.kernel_layout.data,
        )
        axis = data_layout.axis("C") if dims_of(w.scale.type) or dims_of(x.scale.type) else 0
        _replace_by_scaled(op, sums, x, w, axis, rewriter)


def _decline(op: Operation, declined: set[Operation]) -> None:
    """Report an op whose sums are too large, and remember it: its weights are read once."""
    declined.add(op)
    remark(op, "not folded: its sums can exceed 32 bits")


def _is_dense_or_depthwise(op: graph.ConvOp) -> bool:
    groups, filters = op.groups.value.data, dims_of(op.w.type)
    plain = op.kernel_layout.data.startswith("OI")
    return groups == 1 or (plain and filters[0] == groups and filters[1] == 1)


@dataclass
class MatmulOfBytes(RewritePattern):
    """Replace a product of dequantized 8-bit activations and weights by a dequantized integer product."""

    weights: WeightStore
    declined: set[Operation]

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MatmulOp, rewriter: PatternRewriter) -> None:
        if op in self.declined or op.panel or op.transpose_a.value.data or op.out_type is not None:
            return
        is_transposed, rank = bool(op.transpose_b.value.data), len(dims_of(op.b.type))
        a, b = dequantized_activation(op.a), dequantized_weight(op.b, rank - 2 if is_transposed else rank - 1)
        b = b or self._activation(op)
        if a is None or b is None or min(rank, len(dims_of(op.a.type))) < 2:
            return
        if dims_of(b.scale.type) and rank != 2:
            return
        factors = (a.input, a.zero_point), (b.input, b.zero_point)
        constants = partial(constant_of, weights=self.weights)
        if not matmul_fits_i32(*factors, constants, transpose_b=is_transposed):
            _decline(op, self.declined)
            return
        columns = b.input
        if is_transposed:
            perm = [*range(rank - 2), rank - 1, rank - 2]
            columns = rewriter.insert(graph.TransposeOp(columns, perm)).result
        sums = graph.MatmulIntegerOp(a.input, columns, a.zero_point, b.zero_point)
        axis = len(dims_of(sums.result.type)) - 1 if dims_of(b.scale.type) else 0
        _replace_by_scaled(op, sums, a, b, axis, rewriter)

    def _activation(self, op: graph.MatmulOp) -> graph.DequantizeOp | None:
        """The second factor as a dequantized activation, where the length of sums is known and short."""
        terms = dims_of(op.a.type)[-1]
        short = terms.is_static and terms.value <= LAYOUTS.float_parts * EXACT_TERMS
        return dequantized_activation(op.b) if short else None


def _replace_by_scaled(
    op: graph.ConvOp | graph.MatmulOp,
    sums: graph.ConvIntegerOp | graph.MatmulIntegerOp,
    left: graph.DequantizeOp,
    right: graph.DequantizeOp,
    axis: int,
    rewriter: PatternRewriter,
) -> None:
    scale = graph.MultiplyOp(left.scale, right.scale)
    rewriter.replace(op, [sums, scale, graph.DequantizeOp(sums.result, scale.result, to=f32, axis=axis)])


@dataclass
class PoolOfBytes(RewritePattern):
    """Move a dequantize after a max pool: by a positive scale the maximum may be taken of integers."""

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PoolOp, rewriter: PatternRewriter) -> None:
        source = dequantized_activation(op.x)
        if source is None or op.kind.data != "max" or op.indices.data != "none":
            return
        if not keeps_order(source.scale, self.weights):
            return
        made = graph.PoolOp(
            source.input,
            "max",
            op.kernel.get_values(),
            strides=op.strides.get_values(),
            dilations=op.dilations.get_values(),
            pads=op.pads.get_values(),
            ceil=bool(op.ceil.value.data),
            data_layout=op.data_layout.data,
        )
        rewriter.replace(op, [made, graph.DequantizeOp(made.outputs[0], source.scale, source.zero_point)])


@dataclass
class DropQuantizeOfDequantize(RewritePattern):
    """Drop a dequantize and the quantize after it, if they have the same scale, zero point and type."""

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.QuantizeOp, rewriter: PatternRewriter) -> None:
        source = dequantized_activation(op.input)
        if source is None or element_of_value(source.input) != op.to or op.compute_type is not None:
            return
        same = are_same(source.scale, op.scale, self.weights)
        if same and are_same(source.zero_point, op.zero_point, self.weights):
            rewriter.replace(op, [], [source.input])


@dataclass
class ZeroPointOfAllChannels(RewritePattern):
    """
    Give activations whose channels have equal zero points a single one. Class: exact.

    ```mlir
    %s = graph.constant dense<[0.5, 0.25]> : tensor<2xf32>
    %z = graph.constant dense<[3, 3]> : tensor<2xui8>
    %y = graph.dequantize %x, %s zero_point %z : tensor<2xui8> axis 1 to f32
      : (tensor<4x2xui8>, tensor<2xf32>) -> tensor<4x2xf32>
    // ->
    %s = graph.constant dense<[0.5, 0.25]> : tensor<2xf32>
    %a = graph.constant dense<3> : tensor<ui8>
    %y = graph.dequantize %x, %s zero_point %a : tensor<ui8> axis 1 to f32
      : (tensor<4x2xui8>, tensor<2xf32>) -> tensor<4x2xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.QuantizeOp | graph.DequantizeOp, rewriter: PatternRewriter) -> None:
        if op.zero_point is None or not dims_of(op.zero_point.type):
            return
        if constant_of(op.input, self.weights) is not None:  # weights, which fold
            return
        points = constant_of(op.zero_point, self.weights)
        if points is None or not points.size or (points != points.flat[0]).any():
            return
        point = np.asarray(points.reshape(-1)[0])
        constant = graph.ConstantOp.of(point, self.weights)
        operands = [op.input, op.scale, rewriter.insert(constant).result]
        rewriter.replace(op, op.on(operands))
