"""Scores of classes in `ai.onnx.ml`: transforms, the best class and its label."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.lowering.onnx_to_graph.host_calls import STRING, host_results
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, element_of, emit
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.errors import StepwellError

Labels: TypeAlias = "tuple[int, ...] | tuple[str, ...]"

POST = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""Transforms of scores, in the order of TreeEnsemble 5's numbers."""


def class_labels(op: onnx.OnnxOp, integers: str = "classlabels_int64s") -> Labels:
    """The labels of a classifier, numbers or strings. Raises: StepwellError `invalid-model` for none."""
    if op.has("classlabels_strings") and op.strings("classlabels_strings"):
        return tuple(label.decode() for label in op.strings("classlabels_strings"))
    if op.has(integers) and op.integers(integers):
        return op.integers(integers)
    raise StepwellError("invalid-model", op, f"{op.op_type} has no class labels")


def post_transform(
    op: onnx.OnnxOp, name: str, scores: SSAValue, lowering: OnnxLowering, rewriter: PatternRewriter
) -> SSAValue:
    """
    Scores [rows, classes] after a transform by its name. Raises: StepwellError `invalid-model` for others.
    """
    match name:
        case "NONE":
            return scores
        case "LOGISTIC":
            return emit(graph.SigmoidOp(scores), rewriter)
        case "SOFTMAX":
            return emit(graph.SoftmaxOp(scores, 1), rewriter)
        case "SOFTMAX_ZERO":
            # Scores of zero remain zero, and are left out of the sum.
            zero = lowering.scalar(0, element_of(scores), rewriter)
            is_zero = emit(graph.EqualOp(scores, zero), rewriter)
            lowest = lowering.scalar(-np.inf, element_of(scores), rewriter)
            rest = emit(graph.SoftmaxOp(emit(graph.WhereOp(is_zero, lowest, scores), rewriter), 1), rewriter)
            return emit(graph.WhereOp(is_zero, zero, rest), rewriter)
        case "PROBIT":
            return _probit(Formula(lowering, rewriter).value(scores)).ssa
        case _:
            raise StepwellError("invalid-model", op, f"{op.op_type}: no transform is named {name}")


def _probit(chance: Value) -> Value:
    """
    The quantile of the normal distribution for a probability, approximated.

    Source: Winitzki 2008, "A handy approximation for the error function and its inverse", a = 0.147.
    """
    x = chance * 2.0 - 1.0
    log = ((1.0 - x) * (x + 1.0)).apply(graph.LogOp)
    middle = log * 0.5 + 2 / (3.14159 * 0.147)
    size = ((middle * middle - log * (1 / 0.147)).apply(graph.SqrtOp) - middle).apply(graph.SqrtOp)
    return x.formula.where(x < 0.0, -size, size) * 1.41421356


def class_scores(
    op: onnx.OnnxOp,
    scores: SSAValue,
    labels: Labels,
    is_chance: bool,
    lowering: OnnxLowering,
    rewriter: PatternRewriter,
) -> list[SSAValue]:
    """
    The label of each row, and its scores after the transform of the op.

    With two labels, a single column of scores is the second label's: it wins above 0.5 if scores are
    probabilities (`is_chance`), else above 0; the first label's score is the complement.
    """
    transform = op.string("post_transform")
    if dims_of(scores.type)[1] != 1 or len(labels) > 2:
        best = emit(graph.ArgmaxOp(scores, 1, keep_dims=False), rewriter)
        found = post_transform(op, transform, scores, lowering, rewriter)
        return [label_of(best, labels, lowering, rewriter), found]
    limit = lowering.scalar(0.5 if is_chance else 0.0, f32, rewriter)
    wins = emit(graph.SqueezeOp(emit(graph.LessOp(limit, scores), rewriter), [1]), rewriter)
    best = emit(graph.CastOp(wins, i64), rewriter)
    if transform == "LOGISTIC":
        scores, is_chance = emit(graph.SigmoidOp(scores), rewriter), True
    one = lowering.scalar(1, f32, rewriter)
    first = graph.SubtractOp(one, scores) if is_chance else graph.NegOp(scores)
    both = emit(graph.ConcatOp([emit(first, rewriter), scores], 1), rewriter)
    if transform != "LOGISTIC":
        both = post_transform(op, transform, both, lowering, rewriter)
    return [label_of(best, labels, lowering, rewriter), both]


def label_of(index: SSAValue, labels: Labels, lowering: OnnxLowering, rewriter: PatternRewriter) -> SSAValue:
    """The labels at positions [rows]; the host looks up strings."""
    if isinstance(labels[0], str):
        type = tensor_type(STRING, dims_of(index.type))
        return host_results("host.take_string", {"values": [*labels]}, [index], [type], rewriter)[0]
    table = lowering.constant(np.array(labels, np.int64), rewriter)
    return emit(graph.GatherOp(table, index, 0), rewriter)
