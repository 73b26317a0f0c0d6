"""Reductions, running sums and softmax of the graph level → operators of ONNX."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects.builtin import i1, i32
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.graph_to_onnx.nodes import (
    insert_constant,
    insert_integers,
    insert_node,
    replace_by_node,
)
from stepwell.lowering.graph_to_onnx.support import OnnxExport, cast_to

KINDS: Mapping[str, type[onnx.OnnxOp]] = {
    "sum": onnx.ReduceSumOp,
    "prod": onnx.ReduceProdOp,
    "max": onnx.ReduceMaxOp,
    "min": onnx.ReduceMinOp,
    "mean": onnx.ReduceMeanOp,
    "sum_square": onnx.ReduceSumSquareOp,
    "l1": onnx.ReduceL1Op,
    "l2": onnx.ReduceL2Op,
    "log_sum_exp": onnx.ReduceLogSumExpOp,
    "and": onnx.ReduceMinOp,
    "or": onnx.ReduceMaxOp,
}


class ReduceExport(OnnxExport):
    """`graph.reduce` → the operator of its kind; truth values are converted to i32 and back."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReduceOp, rewriter: PatternRewriter) -> None:
        """Pass the axes as an input; `and` and `or` are a minimum and maximum in i32."""
        x, kind = op.input, op.kind.data
        truths = kind in ("and", "or")
        if truths:
            x = cast_to(x, i32, rewriter)
        axes = insert_integers(rewriter, op.axes.get_values())
        result = insert_node(
            rewriter,
            KINDS[kind],
            [x, axes],
            tensor_type(i32, dims_of(op.result.type)) if truths else op.result.type,
            keepdims=bool(op.keep_dims.value.data),
            noop_with_empty_axes=True,
        )
        rewriter.replace(op, [], [cast_to(result, i1, rewriter) if truths else result])


class ScanExport(OnnxExport):
    """`graph.scan` of sums → `CumSum`; opset 21 has no other kind."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ScanOp, rewriter: PatternRewriter) -> None:
        """Copy direction and exclusion; decline other kinds than sums."""
        if op.kind.data != "sum":
            return
        axis = insert_constant(rewriter, np.array(op.axis.value.data, np.int64))
        exclusive, reverse = bool(op.exclusive.value.data), bool(op.reverse.value.data)
        replace_by_node(rewriter, op, onnx.CumSumOp, [op.input, axis], exclusive=exclusive, reverse=reverse)
