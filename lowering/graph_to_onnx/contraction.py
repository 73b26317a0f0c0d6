"""Matrix products and convolutions of the graph level → operators of ONNX."""

from __future__ import annotations

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.contraction import BYTES
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.graph_to_onnx.copies import CONVOLUTION, copied
from stepwell.lowering.graph_to_onnx.nodes import insert_node, replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport, cast_to, element_of
from stepwell.runtime.layout import parse_layout, plain_layout


def transposed(value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """A value with its last two dimensions exchanged."""
    dims = list(dims_of(value.type))
    dims[-2:] = dims[:-3:-1]
    perm = list(range(len(dims)))
    perm[-2:] = perm[:-3:-1]
    type = tensor_type(element_of(value), dims)
    return insert_node(rewriter, onnx.TransposeOp, [value], type, perm=perm)


class MatmulExport(OnnxExport):
    """`graph.matmul` → `MatMul`, transposed operands by `Transpose`; packed weights have no counterpart."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MatmulOp, rewriter: PatternRewriter) -> None:
        """Cast the operands to the result's type and transpose them; decline packed weights."""
        if op.panel:
            return
        flags = (op.transpose_a, op.transpose_b)
        operands = [cast_to(value, element_of(op.result), rewriter) for value in op.operands]
        operands = [
            transposed(value, rewriter) if flag.value.data else value
            for value, flag in zip(operands, flags, strict=True)
        ]
        replace_by_node(rewriter, op, onnx.MatMulOp, operands)


class MatmulIntegerExport(OnnxExport):
    """`graph.matmul_integer` → `MatMulInteger`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.MatmulIntegerOp, rewriter: PatternRewriter) -> None:
        """Pass the zero points as inputs; decline packed elements."""
        if element_of(op.a) not in BYTES:  # packed 32-bit elements of VNNI kernels
            return
        operands = [op.a, op.b, op.a_zero_point, op.b_zero_point]
        replace_by_node(rewriter, op, onnx.MatMulIntegerOp, operands)


class ConvExport(OnnxExport):
    """`graph.conv` in ONNX's layouts → `Conv`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvOp, rewriter: PatternRewriter) -> None:
        """Copy the window attributes; decline layouts other than ONNX's."""
        if not is_plain(op.data_layout.data, "NC") or not is_plain(op.kernel_layout.data, "OI"):
            return
        if op.output_layout != parse_layout(op.data_layout.data):
            return
        replace_by_node(rewriter, op, onnx.ConvOp, op.operands, **copied(op, CONVOLUTION))


class ConvTransposeExport(OnnxExport):
    """`graph.conv_transpose` in ONNX's layouts and without negative pads → `ConvTranspose`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvTransposeOp, rewriter: PatternRewriter) -> None:
        """Copy the window attributes; decline layouts other than ONNX's, and negative pads."""
        if not is_plain(op.data_layout.data, "NC") or not is_plain(op.kernel_layout.data, "IO"):
            return
        if min(op.pads.get_values(), default=0) < 0:
            return
        attributes = copied(op, {**CONVOLUTION, "output_padding": "output_padding"})
        replace_by_node(rewriter, op, onnx.ConvTransposeOp, op.operands, **attributes)


def is_plain(layout: str, prefix: str) -> bool:
    """Whether a layout is ONNX's: `NC` or `OI`, then the spatial axes."""
    parsed = parse_layout(layout)
    return len(parsed.axes) == len(parsed.letters) and layout == plain_layout(prefix, len(parsed.spatial))
