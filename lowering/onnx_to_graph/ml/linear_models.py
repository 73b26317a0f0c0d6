"""
Linear models of `ai.onnx.ml` → a matrix product and a transform of the scores; the host computes ZipMap.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import tensor_type
from stepwell.lowering.onnx_to_graph.host_calls import STRING, HostLowering, host_results
from stepwell.lowering.onnx_to_graph.ml.class_scores import class_labels, class_scores, post_transform
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, as_f32, emit
from stepwell.runtime.errors import StepwellError


class LinearLowering(OnnxLowering):
    """The base class of linear models, with the scores."""

    def scores(self, op: onnx.OnnxOp, targets: int, rewriter: PatternRewriter) -> SSAValue:
        """
        x wᵀ + b: [rows, targets]. Raises: StepwellError `invalid-model` for coefficients that are not whole
        rows.
        """
        coefficients = np.array(op.floats("coefficients"), np.float32)
        if targets < 1 or coefficients.size % targets:
            message = f"{op.op_type}: {coefficients.size} coefficients do not make {targets} rows"
            raise StepwellError("invalid-model", op, message)
        x = as_f32(op.operands[0], rewriter)
        w = self.constant(np.ascontiguousarray(coefficients.reshape(targets, -1).T), rewriter)
        y = emit(graph.MatmulOp(x, w), rewriter)
        if op.has("intercepts") and op.floats("intercepts"):
            y = emit(
                graph.AddOp(y, self.constant(np.array(op.floats("intercepts"), np.float32), rewriter)),
                rewriter,
            )
        return y


class LinearRegressorLowering(LinearLowering):
    """`LinearRegressor` → a product, intercepts and a transform."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.LinearRegressorOp, rewriter: PatternRewriter) -> None:
        """Compute the scores of all targets, then their transform."""
        y = self.scores(op, op.integer("targets"), rewriter)
        rewriter.replace(op, [], [post_transform(op, op.string("post_transform"), y, self, rewriter)])


class LinearClassifierLowering(LinearLowering):
    """`LinearClassifier` → a product, intercepts, the best class and a transform."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.LinearClassifierOp, rewriter: PatternRewriter) -> None:
        """Compute the scores of all classes, then labels and transform."""
        labels = class_labels(op, "classlabels_ints")
        rows = len(op.floats("intercepts")) if op.has("intercepts") else len(labels)
        scores = self.scores(op, rows or len(labels), rewriter)
        rewriter.replace(op, [], class_scores(op, scores, labels, False, self, rewriter))


class ZipMapLowering(HostLowering):
    """`ZipMap` → a list of dictionaries, one per row."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ZipMapOp, rewriter: PatternRewriter) -> None:
        """Call `host.zip_map` with the labels as keys."""
        labels = class_labels(op)
        key = STRING if isinstance(labels[0], str) else i64
        result = onnx.SequenceType(onnx.MapType(key, tensor_type(f32, [])))
        made = host_results("host.zip_map", {"labels": [*labels]}, [op.X], [result], rewriter)
        rewriter.replace(op, [], made)
