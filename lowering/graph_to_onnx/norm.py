"""Normalizations of the graph level → operators of ONNX."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.graph_to_onnx.nodes import insert_integers, insert_node, insert_nodes
from stepwell.lowering.graph_to_onnx.support import OnnxExport, cast_to, element_of
from stepwell.lowering.onnx_to_graph import ELEMENT_NUMBERS
from stepwell.runtime.dims import Dim


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
        result = insert_node(rewriter, onnx.BatchNormalizationOp, operands, op.result.type, epsilon=eps)
        rewriter.replace(op, [], [result])


class InstanceNormExport(OnnxExport):
    """`graph.instance_norm` → `InstanceNormalization`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.InstanceNormOp, rewriter: PatternRewriter) -> None:
        """Fill in absent scale and bias; decline inputs without spatial axes."""
        dims = dims_of(op.input.type)
        if len(dims) < 3:
            return
        scale = self.filled(op.scale, dims[1:2], 1, op.input, rewriter)
        bias = self.filled(op.bias, dims[1:2], 0, op.input, rewriter)
        eps = op.eps.value.data
        operands = [op.input, scale, bias]
        result = insert_node(rewriter, onnx.InstanceNormalizationOp, operands, op.result.type, epsilon=eps)
        rewriter.replace(op, [], [result])


class GroupNormExport(OnnxExport):
    """`graph.group_norm` → `GroupNormalization`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.GroupNormOp, rewriter: PatternRewriter) -> None:
        """Fill in absent scale and bias; decline inputs without spatial axes."""
        dims = dims_of(op.input.type)
        if len(dims) < 3:
            return
        scale = self.filled(op.scale, dims[1:2], 1, op.input, rewriter)
        bias = self.filled(op.bias, dims[1:2], 0, op.input, rewriter)
        result = insert_node(
            rewriter,
            onnx.GroupNormalizationOp,
            [op.input, scale, bias],
            op.result.type,
            epsilon=op.eps.value.data,
            num_groups=op.groups.value.data,
        )
        rewriter.replace(op, [], [result])


class LayerNormExport(OnnxExport):
    """`graph.layer_norm` → `LayerNormalization`, whose scale is not optional."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LayerNormOp, rewriter: PatternRewriter) -> None:
        """Fill in an absent scale, copy axis, epsilon and the computing type."""
        axis = op.axis.value.data
        scale = self.filled(op.scale, dims_of(op.input.type)[axis:], 1, op.input, rewriter)
        results = insert_nodes(
            rewriter,
            onnx.LayerNormalizationOp,
            [op.input, scale, op.bias],
            [result.type for result in op.results],
            axis=axis,
            epsilon=op.eps.value.data,
            stash_type=ELEMENT_NUMBERS[op.compute_type],
        )
        rewriter.replace(op, [], results)


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


class LpNormExport(OnnxExport):
    """`graph.lp_norm` → `LpNormalization`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LpNormOp, rewriter: PatternRewriter) -> None:
        """Copy axis and order."""
        axis, p = op.axis.value.data, op.p.value.data
        result = insert_node(rewriter, onnx.LpNormalizationOp, op.operands, op.result.type, axis=axis, p=p)
        rewriter.replace(op, [], [result])


class LrnExport(OnnxExport):
    """`graph.lrn` → `LRN`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LrnOp, rewriter: PatternRewriter) -> None:
        """Copy size, alpha, beta and bias."""
        result = insert_node(
            rewriter,
            onnx.LRNOp,
            op.operands,
            op.result.type,
            size=op.size.value.data,
            alpha=op.alpha.value.data,
            beta=op.beta.value.data,
            bias=op.bias.value.data,
        )
        rewriter.replace(op, [], [result])


PATTERNS: list[type[OnnxExport]] = [
    BatchNormExport,
    InstanceNormExport,
    GroupNormExport,
    LayerNormExport,
    RmsNormExport,
    LpNormExport,
    LrnExport,
]
