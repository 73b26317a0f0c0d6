"""Support vector machines of `ai.onnx.ml` → kernels with the support vectors, and weighted sums of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import tensor_type
from stepwell.lowering.onnx_to_graph.host_calls import host_results
from stepwell.lowering.onnx_to_graph.ml.class_scores import class_labels, label_of, post_transform
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, as_f32, shape_of
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.errors import StepwellError

Table = npt.NDArray[np.float32]


class SupportVectorLowering(OnnxLowering):
    """The base class of support vector machines, with kernels of rows and vectors."""

    def rows(self, op: onnx.OnnxOp, rewriter: PatternRewriter) -> Value:
        """The input [rows, features] in f32; a vector is one row."""
        x = Formula(self, rewriter).value(as_f32(op.operands[0], rewriter))
        return x.unsqueeze(0) if len(shape_of(op.operands[0], op)) == 1 else x

    def table(self, op: onnx.OnnxOp, name: str, rows: int) -> Table:
        """A list of floats as a matrix. Raises: StepwellError `invalid-model` if it is not whole rows."""
        numbers = np.array(op.floats(name), np.float32)
        if rows < 1 or not numbers.size or numbers.size % rows:
            message = f"{op.op_type}: {numbers.size} {name} do not make {rows} rows"
            raise StepwellError("invalid-model", op, message)
        return numbers.reshape(rows, -1)

    def matrix(self, table: Table, rewriter: PatternRewriter) -> Value:
        """A matrix as a constant."""
        return Formula(self, rewriter).value(self.constant(np.ascontiguousarray(table), rewriter))

    def kernels(self, op: onnx.OnnxOp, x: Value, vectors: Table, rewriter: PatternRewriter) -> Value:
        """The kernel of each row with each vector: [rows, vectors]."""
        gamma, shift, degree = (*_parameters(op), 0.0, 0.0, 0.0)[:3]
        kind = op.string("kernel_type")
        if kind == "RBF":
            distance = x.unsqueeze(1) - self.matrix(vectors, rewriter)
            return ((distance * distance).reduce("sum", [2]) * -gamma).apply(graph.ExpOp)
        product = x.matmul(self.matrix(vectors.T, rewriter))
        match kind:
            case "LINEAR":
                return product
            case "POLY":
                line = product * gamma + shift
                return line.formula.op(graph.PowerOp(line.ssa, line.same(degree).ssa))
            case "SIGMOID":
                return (product * gamma + shift).apply(graph.TanhOp)
            case _:
                raise StepwellError("invalid-model", op, f"{op.op_type}: no kernel is named {kind}")


def _parameters(op: onnx.OnnxOp) -> Sequence[float]:
    """Gamma, the additive constant, the degree."""
    return op.floats("kernel_params") if op.has("kernel_params") else ()


class SvmRegressorLowering(SupportVectorLowering):
    """
    `SVMRegressor` → a weighted sum of kernels or features; its sign for one class.

    Transforms of the result are not applied, as in ONNX Runtime.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SVMRegressorOp, rewriter: PatternRewriter) -> None:
        """Multiply the kernels, or without support vectors the features, by the coefficients, and add rho."""
        x, count = self.rows(op, rewriter), op.integer("n_supports")
        if count:
            x = self.kernels(op, x, self.table(op, "support_vectors", count), rewriter)
        y = x.matmul(self.matrix(self.table(op, "coefficients", 1).T, rewriter))
        y = y + op.floats("rho")[0]
        if op.integer("one_class"):
            y = y.formula.where(y > 0.0, y.same(1.0), -1.0)
        rewriter.replace(op, [], [y.ssa])


class SvmClassifierLowering(SupportVectorLowering):
    """
    `SVMClassifier` → the votes of a machine for each pair of classes, or the scores of a linear model.

    Scores are those of the pairs, or probabilities of the classes if the model has `prob_a`, which the host
    couples. The label of a linear model of two classes follows ONNX Runtime.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SVMClassifierOp, rewriter: PatternRewriter) -> None:
        """Use the linear model without support vectors, else the machines of all pairs of classes."""
        labels = class_labels(op, "classlabels_ints")
        counts = op.integers("vectors_per_class") if op.has("vectors_per_class") else ()
        if not any(counts):
            best, scores = self._linear(op, len(labels), rewriter)
        elif len(counts) != len(labels):
            message = f"{op.op_type}: vectors for {len(counts)} classes, but {len(labels)} labels"
            raise StepwellError("invalid-model", op, message)
        else:
            best, scores = self._machines(op, counts, rewriter)
        rewriter.replace(op, [], [label_of(best.ssa, labels, self, rewriter), scores])

    def _linear(self, op: onnx.OnnxOp, classes: int, rewriter: PatternRewriter) -> tuple[Value, SSAValue]:
        """The best class and the scores of a linear model."""
        weights = self.table(op, "coefficients", classes)
        scores = self.rows(op, rewriter).matmul(self.matrix(weights.T, rewriter)) + op.floats("rho")[0]
        best = scores.formula.op(graph.ArgmaxOp(scores.ssa, 1, keep_dims=False))
        if classes == 2:
            most = scores.reduce("max", [1])
            wins = most >= 0.5 if np.all(weights >= 0) else most > 0.0
            best = most.formula.where(wins, best.same(1), best)
        found = post_transform(op, op.string("post_transform"), scores.ssa, self, rewriter)
        return best, found

    def _machines(
        self, op: onnx.OnnxOp, counts: Sequence[int], rewriter: PatternRewriter
    ) -> tuple[Value, SSAValue]:
        """The class with most votes, and the scores or probabilities of all pairs."""
        vectors = self.table(op, "support_vectors", sum(counts))
        kernels = self.kernels(op, self.rows(op, rewriter), vectors, rewriter)
        pairs = list(combinations(range(len(counts)), 2))
        weights = _pair_weights(self.table(op, "coefficients", len(counts) - 1), counts)
        scores = kernels.matmul(self.matrix(weights.T, rewriter))
        scores = scores + scores.formula.array(op.floats("rho")[: len(pairs)], f32)
        # A vote for the first class of a pair, or else for the second.
        first, second = (np.eye(len(counts), dtype=np.float32)[[pair[i] for pair in pairs]] for i in (0, 1))
        wins = (scores > 0.0).cast(f32)
        votes = wins.matmul(self.matrix(first - second, rewriter)) + scores.formula.array(second.sum(0), f32)
        best = votes.formula.op(graph.ArgmaxOp(votes.ssa, 1, keep_dims=False))
        transform = op.string("post_transform")
        if op.has("prob_a") and op.floats("prob_a"):
            chances = _chances(op, scores, len(counts), rewriter)
            return best, post_transform(op, transform, chances, self, rewriter)
        if len(pairs) > 1:
            return best, post_transform(op, transform, scores.ssa, self, rewriter)
        return best, _both_scores(op, scores)


def _both_scores(op: onnx.OnnxOp, scores: Value) -> SSAValue:
    """
    The scores of two classes from the score of their pair, as in ONNX Runtime: LOGISTIC is the only
    transform.
    """
    match transform := op.string("post_transform"):
        case "NONE":
            other = -scores
        case "LOGISTIC":
            scores = scores.apply(graph.SigmoidOp)
            other = 1.0 - scores
        case "SOFTMAX" | "SOFTMAX_ZERO":
            other = 1.0 - scores
        case _:
            raise StepwellError(
                "unsupported", op, f"{op.op_type} of two classes with the transform {transform}"
            )
    return scores.formula.concat([other, scores], 1).ssa


def _pair_weights(coefficients: Table, counts: Sequence[int]) -> Table:
    """
    The weight of each kernel for each pair of classes: 0 for vectors of other classes.

    Args: `coefficients` [classes - 1, vectors]: the weights of each vector against the other classes in
    order.
    """
    starts = np.concatenate([[0], np.cumsum(counts)])
    rows: list[Table] = []
    for i, j in combinations(range(len(counts)), 2):
        row = np.zeros(coefficients.shape[1], np.float32)
        row[starts[i] : starts[i + 1]] = coefficients[j - 1, starts[i] : starts[i + 1]]
        row[starts[j] : starts[j + 1]] = coefficients[i, starts[j] : starts[j + 1]]
        rows.append(row)
    return np.array(rows)


def _chances(op: onnx.OnnxOp, scores: Value, classes: int, rewriter: PatternRewriter) -> SSAValue:
    """The probabilities of the classes, from those of each pair: σ(-(a · score + b))."""
    count = scores.dims[1].value
    a, b = (scores.formula.array(op.floats(name)[:count], f32) for name in ("prob_a", "prob_b"))
    pairs = (-(scores * a + b)).apply(graph.SigmoidOp)
    result = tensor_type(f32, [scores.dims[0], classes])
    attributes = {"classes": classes}
    return host_results("host.couple_chances", attributes, [pairs.ssa], [result], rewriter)[0]
