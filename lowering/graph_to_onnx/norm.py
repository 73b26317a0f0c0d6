"""Normalizations of the graph level → operators of ONNX."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.graph_to_onnx.copies import CopyTable, copied
from stepwell.lowering.graph_to_onnx.nodes import insert_integers, insert_node, replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport, cast_to, element_of
from stepwell.lowering.onnx_to_graph import ELEMENT_NUMBERS
from stepwell.runtime.dims import Dim

SPATIAL: CopyTable = {
    graph.InstanceNormOp: (onnx.InstanceNormalizationOp, {"epsilon": "eps"}),
    graph.GroupNormOp: (onnx.GroupNormalizationOp, {"epsilon": "eps", "num_groups": "groups"}),
}


class BatchNormExport(OnnxExport):
    """`graph.batch_norm` over axis 1 → `BatchNormalization`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BatchNormOp, rewriter: PatternRewriter) -> None:
        """Fill in absent scale and bias; decline channels on another axis than 1."""
        dims = dims_of(op.input.type)
        if op.axis.value.data != 1 or len(dims) < 2:
            return
        scale = self.filled(op.scale, dims[1:2], 1, op.mean, rewriter)
        bias = self.filled(op.bias, dims[1:2], 0, op.mean, rewriter)
        operands = [op.input, scale, bias, op.mean, op.variance]
        eps = op.eps.value.data
        replace_by_node(rewriter, op, onnx.BatchNormalizationOp, operands, epsilon=eps)


class SpatialNormExport(OnnxExport):
    """`graph.instance_norm`, `graph.group_norm` → `InstanceNormalization`, `GroupNormalization`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.InstanceNormOp | graph.GroupNormOp, rewriter: PatternRewriter
    ) -> None:
        """Fill in absent scale and bias; decline inputs without spatial axes."""
        dims = dims_of(op.input.type)
        if len(dims) < 3:
            return
        scale = self.filled(op.scale, dims[1:2], 1, op.input, rewriter)
        bias = self.filled(op.bias, dims[1:2], 0, op.input, rewriter)
        target, names = SPATIAL[type(op)]
        replace_by_node(rewriter, op, target, [op.input, scale, bias], **copied(op, names))


class LayerNormExport(OnnxExport):
    """`graph.layer_norm` → `LayerNormalization`, whose scale is not optional."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LayerNormOp, rewriter: PatternRewriter) -> None:
        """Fill in an absent scale, copy axis, epsilon and the computing type."""
        axis = op.axis.value.data
        scale = self.filled(op.scale, dims_of(op.input.type)[axis:], 1, op.input, rewriter)
        replace_by_node(
            rewriter,
            op,
            onnx.LayerNormalizationOp,
            [op.input, scale, op.bias],
            axis=axis,
            epsilon=op.eps.value.data,
            stash_type=ELEMENT_NUMBERS[op.compute_type],
        )


class RmsNormExport(OnnxExport):
    """`graph.rms_norm` → x / √(mean of squares + eps), scaled; opset 21 has no operator for it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.RmsNormOp, rewriter: PatternRewriter) -> None:
        """Emit the normalization in the computing type, scale and bias, and a cast back."""
        dims, axis = dims_of(op.input.type), op.axis.value.data
        x = cast_to(op.input, op.compute_type, rewriter)
        axes = insert_integers(rewriter, range(axis, len(dims)))
        row = tensor_type(op.compute_type, [*dims[:axis], *[Dim.of(1)] * (len(dims) - axis)])
        square = insert_node(rewriter, onnx.MulOp, [x, x], x.type)
        mean = insert_node(rewriter, onnx.ReduceMeanOp, [square, axes], row)
        eps = self.scalar(op.eps.value.data, x, rewriter)
        root = insert_node(rewriter, onnx.SqrtOp, [insert_node(rewriter, onnx.AddOp, [mean, eps], row)], row)
        y = insert_node(rewriter, onnx.DivOp, [x, root], x.type)
        for operator, vector in ((onnx.MulOp, op.scale), (onnx.AddOp, op.bias)):
            if vector is not None:
                vector = cast_to(vector, op.compute_type, rewriter)
                y = insert_node(rewriter, operator, [y, vector], y.type)
        rewriter.replace(op, [], [cast_to(y, element_of(op.input), rewriter)])
