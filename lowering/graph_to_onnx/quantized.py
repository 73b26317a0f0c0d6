"""Quantization of the graph level → operators of ONNX."""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.contraction import BYTES
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.graph_to_onnx.contraction import is_plain
from stepwell.lowering.graph_to_onnx.copies import CONVOLUTION, copied
from stepwell.lowering.graph_to_onnx.elementwise import is_in_opset
from stepwell.lowering.graph_to_onnx.nodes import insert_integers, insert_node, replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport, cast_to, element_of
from stepwell.lowering.onnx_to_graph import ELEMENT_NUMBERS


class QuantizeExport(OnnxExport):
    """`graph.quantize` that divides in the scale's type → `QuantizeLinear`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.QuantizeOp, rewriter: PatternRewriter) -> None:
        """Copy axis, block and saturation; decline another computing type, and types that opset 21 lacks."""
        if op.compute_type not in (None, element_of(op.scale)) or not is_in_opset(element_of(op.result)):
            return
        replace_by_node(
            rewriter,
            op,
            onnx.QuantizeLinearOp,
            [op.input, op.scale, op.zero_point],
            axis=op.axis.value.data,
            block_size=op.block.value.data,
            output_dtype=ELEMENT_NUMBERS[element_of(op.result)] if op.zero_point is None else None,
            saturate=None if op.saturate.value.data else 0,
        )


class DequantizeExport(OnnxExport):
    """`graph.dequantize` to the scale's type → `DequantizeLinear`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.DequantizeOp, rewriter: PatternRewriter) -> None:
        """Copy axis and block; decline another result type than the scale's."""
        if element_of(op.result) != element_of(op.scale) or not is_in_opset(element_of(op.input)):
            return
        operands = [op.input, op.scale, op.zero_point]
        axis, block = op.axis.value.data, op.block.value.data
        replace_by_node(rewriter, op, onnx.DequantizeLinearOp, operands, axis=axis, block_size=block)


class ObserveExport(OnnxExport):
    """`graph.observe` → `Identity`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ObserveOp, rewriter: PatternRewriter) -> None:
        """Keep the value; its key is lost."""
        replace_by_node(rewriter, op, onnx.IdentityOp, [op.input])


class RequantizeExport(OnnxExport):
    """`graph.requantize` → x · scale in f32, then `QuantizeLinear` with a scale of 1."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.RequantizeOp, rewriter: PatternRewriter) -> None:
        """Multiply by the scale in f32 and quantize by 1; decline types that opset 21 lacks."""
        element = element_of(op.result)
        if not is_in_opset(element):
            return
        dims = dims_of(op.input.type)
        scale, trailing = op.scale, len(dims) - 1 - op.axis.value.data
        if dims_of(scale.type) and trailing:
            axes = insert_integers(rewriter, range(1, trailing + 1))
            column = tensor_type(f32, [*dims_of(scale.type), *[1] * trailing])
            scale = insert_node(rewriter, onnx.UnsqueezeOp, [scale, axes], column)
        real: Attribute = tensor_type(f32, dims)
        product = insert_node(rewriter, onnx.MulOp, [cast_to(op.input, f32, rewriter), scale], real)
        one = self.scalar(1, product, rewriter)
        if op.zero_point is not None and (shape := dims_of(op.zero_point.type)):
            one = self.filled(None, shape, 1, product, rewriter)
        replace_by_node(
            rewriter,
            op,
            onnx.QuantizeLinearOp,
            [product, one, op.zero_point],
            axis=op.axis.value.data,
            output_dtype=ELEMENT_NUMBERS[element] if op.zero_point is None else None,
        )


class ConvIntegerExport(OnnxExport):
    """`graph.conv_integer` of bytes in ONNX's layouts → `ConvInteger`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvIntegerOp, rewriter: PatternRewriter) -> None:
        """Copy the window attributes; decline packed elements and layouts other than ONNX's."""
        if element_of(op.x) not in BYTES or element_of(op.w) not in BYTES or op.border.value.data:
            return
        if not is_plain(op.data_layout.data, "NC") or not is_plain(op.kernel_layout.data, "OI"):
            return
        if op.output_layout.letters != tuple(op.data_layout.data):
            return
        operands = [op.x, op.w, op.x_zero_point, op.w_zero_point]
        replace_by_node(rewriter, op, onnx.ConvIntegerOp, operands, **copied(op, CONVOLUTION))
