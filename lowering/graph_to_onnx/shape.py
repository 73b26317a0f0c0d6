"""Views, broadcasting and tensors computed from dimensions → operators of ONNX."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.graph_to_onnx.extents import dims_vector
from stepwell.lowering.graph_to_onnx.nodes import (
    insert_constant,
    insert_integers,
    insert_node,
    replace_by_node,
)
from stepwell.lowering.graph_to_onnx.support import OnnxExport, cast_to, element_of, is_known, mixed_vector
from stepwell.runtime.dims import Dim


class ReshapeExport(OnnxExport):
    """`graph.reshape` → `Reshape` with explicit sizes, none as 0 or -1."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReshapeOp, rewriter: PatternRewriter) -> None:
        """Pass the shape as an input; decline unknown dimensions."""
        if not is_known(op.shape):
            return
        shape = mixed_vector(op.shape, op.shape_value, rewriter)
        replace_by_node(rewriter, op, onnx.ReshapeOp, [op.input, shape], allowzero=1)


class AxesExport(OnnxExport):
    """`graph.expand_dims`, `graph.squeeze` → `Unsqueeze`, `Squeeze`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ExpandDimsOp | graph.SqueezeOp, rewriter: PatternRewriter) -> None:
        """Pass the axes as an input."""
        target = onnx.UnsqueezeOp if isinstance(op, graph.ExpandDimsOp) else onnx.SqueezeOp
        axes = insert_integers(rewriter, op.axes.get_values())
        replace_by_node(rewriter, op, target, [op.input, axes])


class BroadcastToExport(OnnxExport):
    """`graph.broadcast_to`, `graph.full` → `Expand`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BroadcastToOp | graph.FullOp, rewriter: PatternRewriter) -> None:
        """Pass the shape as an input; decline unknown dimensions."""
        if not is_known(op.shape):
            return
        shape = mixed_vector(op.shape, op.shape_value, rewriter)
        replace_by_node(rewriter, op, onnx.ExpandOp, [op.input, shape])


class ExtentsExport(OnnxExport):
    """`graph.extents` → the shapes of the model's inputs, by arithmetic."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ExtentsOp, rewriter: PatternRewriter) -> None:
        """Compute the dimensions from the shapes of inputs; decline unknown ones."""
        if is_known(op.dims):
            rewriter.replace(op, [], [dims_vector(op.dims.get(), rewriter)])


class IotaExport(OnnxExport):
    """`graph.iota` → `Range`, shaped along its axis and expanded."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.IotaOp, rewriter: PatternRewriter) -> None:
        """Reshape a `Range` to the axis, cast it, and expand it to the shape; decline unknown dimensions."""
        if not is_known(op.shape):
            return
        dims, axis = op.shape.get(), op.axis.value.data
        counted = count_up_to(dims[axis], rewriter)
        column = [Dim.of(1)] * len(dims)
        column[axis] = dims[axis]
        counted = insert_node(
            rewriter,
            onnx.ReshapeOp,
            [counted, dims_vector(column, rewriter)],
            tensor_type(i64, column),
            allowzero=1,
        )
        numbers = cast_to(counted, element_of(op.result), rewriter)
        shape = dims_vector(dims, rewriter)
        replace_by_node(rewriter, op, onnx.ExpandOp, [numbers, shape])


def count_up_to(size: Dim, rewriter: PatternRewriter) -> SSAValue:
    """0, 1, … below a dimension, as i64."""
    zero, one = (insert_constant(rewriter, np.array(n, np.int64)) for n in (0, 1))
    none = insert_integers(rewriter, [0])
    limit = insert_node(rewriter, onnx.SqueezeOp, [dims_vector([size], rewriter), none], tensor_type(i64, []))
    return insert_node(rewriter, onnx.RangeOp, [zero, limit, one], tensor_type(i64, [size]))


class OneHotExport(OnnxExport):
    """`graph.one_hot` → indices compared with `Range`: ONNX's `OneHot` would wrap negative indices."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.OneHotOp, rewriter: PatternRewriter) -> None:
        """Compare the unsqueezed indices with a `Range` along the new axis; decline an unknown depth."""
        if not is_known(op.depth):
            return
        (depth,), axis, dims = op.depth.get(), op.axis.value.data, dims_of(op.indices.type)
        counted = count_up_to(depth, rewriter)
        if trailing := len(dims) - axis:
            axes = insert_integers(rewriter, range(1, trailing + 1))
            column = tensor_type(i64, [depth, *[1] * trailing])
            counted = insert_node(rewriter, onnx.UnsqueezeOp, [counted, axes], column)
        indices = cast_to(op.indices, i64, rewriter)
        spread = tensor_type(i64, [*dims[:axis], 1, *dims[axis:]])
        at = insert_integers(rewriter, [axis])
        indices = insert_node(rewriter, onnx.UnsqueezeOp, [indices, at], spread)
        replace_by_node(rewriter, op, onnx.EqualOp, [indices, counted])
