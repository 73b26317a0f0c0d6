"""Ensembles of trees of `ai.onnx.ml` → `graph.tree_ensemble`: every mode of a node is reduced to `<=`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.constants import array_of
from stepwell.dialects.graph.relations import is_float
from stepwell.dialects.types import dims_of, dtype_of
from stepwell.lowering.onnx_to_graph.ml.class_scores import POST, class_labels, class_scores, post_transform
from stepwell.lowering.onnx_to_graph.ml.tree_tables import Nodes, tables_of
from stepwell.lowering.onnx_to_graph.shape_values import assume_equal
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, as_f32, element_of, emit, required_attribute
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array

# The modes of TreeEnsemble, ai.onnx.ml 5, by number; the older operators name them BRANCH_LEQ and so on.
_MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ", "MEMBER")
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


@dataclass
class Forest(Nodes):
    """The nodes of all trees and the weights of their leaves."""

    leaves: dict[int, dict[int, float]] = field(default_factory=dict[int, dict[int, float]])
    """Maps the number of a leaf, then a target, to a weight."""

    def reserve(self) -> int:
        """The number of a new node, which is a leaf until `branch` sets it."""
        number = len(self.features)
        self.features.append(0)
        self.thresholds.append(0.0)
        self.children.append((number, number))
        self.missing.append(False)
        return number

    def branch(
        self, node: int, mode: str, feature: int, value: float, then: int, other: int, tracks: bool
    ) -> None:
        """
        Let a node branch to `then` if `x[feature] mode value`, else to `other`; NaN to `then` if `tracks`.

        `x < v` becomes `x <= the number before v`; the opposite of another mode exchanges the branches;
        equality needs a second node.
        """
        match mode:
            case "GTE" | "GT" | "NEQ":
                opposite = {"GTE": "LT", "GT": "LEQ", "NEQ": "EQ"}[mode]
                # NaN differs from every number; it is neither above nor below.
                self.branch(node, opposite, feature, value, other, then, mode != "NEQ" and not tracks)
            case "LT":
                self.branch(node, "LEQ", feature, self._before(value), then, other, tracks)
            case "EQ":
                second = self.reserve()
                self.branch(second, "LT", feature, value, other, then, False)
                self.branch(node, "LEQ", feature, value, second, other, tracks)
            case _:
                self.features[node], self.thresholds[node] = feature, value
                self.children[node], self.missing[node] = (other, then), tracks

    def member(
        self, node: int, feature: int, values: Sequence[float], then: int, other: int, tracks: bool
    ) -> None:
        """Let a node branch to `then` if `x[feature]` is one of some numbers."""
        for value in values[:-1]:
            rest = self.reserve()
            self.branch(node, "EQ", feature, value, then, rest, tracks)
            node = rest
        self.branch(node, "EQ", feature, values[-1], then, other, tracks)

    def _before(self, value: float) -> float:
        """The greatest number less than a value, in the type of the thresholds."""
        exact = np.array(value, self.dtype)
        return float(np.nextafter(exact, np.array(-np.inf, self.dtype)))

    def weights(self, nodes: Sequence[int], targets: int, absent: float) -> npt.NDArray[np.float64]:
        """The weights [nodes, targets] of some nodes; `absent` where one has no weight for a target."""
        table = np.full((len(nodes), targets), absent)
        for row, node in enumerate(nodes):
            for target, weight in self.leaves.get(node, {}).items():
                table[row, target] = weight
        return table

    def expect_features(self, columns: Dim, op: onnx.OnnxOp, rewriter: PatternRewriter) -> None:
        """
        Require the features of nodes to be columns, at run time if their number is open.

        Raises: StepwellError `invalid-model`.
        """
        least, most = min(self.features), max(self.features)
        if least < 0 or (columns.is_static and most >= columns.value):
            message = f"a node names feature {least if least < 0 else most}, there are {columns}"
            raise StepwellError("invalid-model", op, f"{op.op_type}: {message}")
        assume_equal(op, columns.maximum(most + 1), columns, f"a node names feature {most}", rewriter)

    def expect_targets(self, targets: int, op: onnx.OnnxOp) -> None:
        """Require the targets of leaves to exist. Raises: StepwellError `invalid-model`."""
        for target in (target for leaf in self.leaves.values() for target in leaf):
            if not 0 <= target < targets:
                message = f"{op.op_type}: a leaf names target {target}, there are {targets}"
                raise StepwellError("invalid-model", op, message)


def numbers_of(op: onnx.OnnxOp, name: str, weights: WeightStore) -> Array | None:
    """An attribute of floats, or its tensor form (`…_as_tensor`, for doubles); None when absent."""
    if (tensor := op.attribute(f"{name}_as_tensor")) is not None:
        return array_of(tensor, weights)
    return np.array(op.floats(name), np.float32) if op.has(name) else None


def _ints(op: onnx.OnnxOp, name: str, count: int) -> Sequence[int]:
    """
    An attribute of ints, all 0 if it is absent. Raises: StepwellError `invalid-model` for another length.
    """
    values = op.integers(name) if op.has(name) else (0,) * count
    if len(values) not in (0, count):
        raise StepwellError(
            "invalid-model", op, f"{op.op_type}: {name} has {len(values)} numbers, there are {count} nodes"
        )
    return values or (0,) * count


def classic_forest(op: onnx.OnnxOp, leaf: str, dtype: np.dtype[np.generic], weights: WeightStore) -> Forest:
    """
    The trees of TreeEnsembleClassifier (`leaf` is "class") or TreeEnsembleRegressor ("target").

    Raises: StepwellError `invalid-model` for missing nodes, or without a tree.
    """
    nodes = op.integers("nodes_nodeids")
    count = len(nodes)
    trees = _ints(op, "nodes_treeids", count)
    forest = Forest(dtype)
    number_of = {key: forest.reserve() for key in zip(trees, nodes, strict=True)}
    # Branches
    modes = [mode.decode().removeprefix("BRANCH_") for mode in op.strings("nodes_modes")]
    values = numbers_of(op, "nodes_values", weights)
    features, tracks = (
        _ints(op, "nodes_featureids", count),
        _ints(op, "nodes_missing_value_tracks_true", count),
    )
    ways = [_ints(op, name, count) for name in ("nodes_truenodeids", "nodes_falsenodeids")]
    reached: set[int] = set()
    for i, mode in enumerate(modes):
        if mode == "LEAF":
            continue
        then, other = (_at(op, number_of, (trees[i], way[i])) for way in ways)
        reached |= {then, other}
        value = 0.0 if values is None else float(values[i])
        _check_mode(op, mode)
        forest.branch(number_of[trees[i], nodes[i]], mode, features[i], value, then, other, bool(tracks[i]))
    # Roots: nodes that are no node's child
    forest.roots = [number for number in number_of.values() if number not in reached]
    if not forest.roots:
        raise StepwellError(
            "invalid-model", op, f"{op.op_type} has no tree: each node is the child of another"
        )
    # Leaves: weights of the same leaf and target add up
    leaf_weights = numbers_of(op, f"{leaf}_weights", weights)
    entries = zip(*(op.integers(f"{leaf}_{part}") for part in ("treeids", "nodeids", "ids")), strict=True)
    for (tree, node, target), weight in zip(
        entries, [] if leaf_weights is None else leaf_weights, strict=True
    ):
        leaves = forest.leaves.setdefault(_at(op, number_of, (tree, node)), {})
        leaves[target] = leaves.get(target, 0.0) + float(weight)
    return forest


def _at(op: onnx.OnnxOp, number_of: Mapping[tuple[int, int], int], key: tuple[int, int]) -> int:
    """The number of a node by its tree and id. Raises: StepwellError `invalid-model` for a missing node."""
    if key not in number_of:
        message = f"{op.op_type}: tree {key[0]} has no node {key[1]}, which another one names"
        raise StepwellError("invalid-model", op, message)
    return number_of[key]


def _check_mode(op: onnx.OnnxOp, mode: str) -> None:
    """Raises: StepwellError `invalid-model` for an unknown mode."""
    if mode not in _MODES:
        raise StepwellError("invalid-model", op, f"{op.op_type}: no mode of a node is named {mode}")


def forest_of(op: onnx.TreeEnsembleOp, dtype: np.dtype[np.generic], store: WeightStore) -> Forest:
    """The trees of TreeEnsemble 5. Raises: StepwellError `invalid-model` for missing nodes."""
    splits, modes = tensor_of(op, "nodes_splits", store), tensor_of(op, "nodes_modes", store)
    count = len(splits)
    forest = Forest(dtype)
    inner = [forest.reserve() for _ in range(count)]
    targets, weights = op.integers("leaf_targetids"), tensor_of(op, "leaf_weights", store)
    outer = [forest.reserve() for _ in targets]
    for number, target, weight in zip(outer, targets, weights, strict=True):
        forest.leaves[number] = {target: float(weight)}

    def way(index: int, is_leaf: int) -> int:
        table = outer if is_leaf else inner
        if not 0 <= index < len(table):
            raise StepwellError(
                "invalid-model", op, f"TreeEnsemble: no {'leaf' if is_leaf else 'node'} {index}"
            )
        return table[index]

    features, tracks = op.integers("nodes_featureids"), _ints(op, "nodes_missing_value_tracks_true", count)
    trues = list(zip(op.integers("nodes_truenodeids"), op.integers("nodes_trueleafs"), strict=True))
    falses = list(zip(op.integers("nodes_falsenodeids"), op.integers("nodes_falseleafs"), strict=True))
    members = _member_sets(op, store)
    for i in range(count):
        mode = _MODES[int(modes[i])] if int(modes[i]) < len(_MODES) else str(int(modes[i]))
        _check_mode(op, mode)
        then, other = way(*trues[i]), way(*falses[i])
        if mode == "MEMBER":
            forest.member(inner[i], features[i], next(members), then, other, bool(tracks[i]))
        else:
            forest.branch(inner[i], mode, features[i], float(splits[i]), then, other, bool(tracks[i]))
    # A tree of one leaf is a node whose two branches both lead to that leaf.
    forest.roots = [way(root, 0) for root in op.integers("tree_roots")]
    return forest


def tensor_of(op: onnx.OnnxOp, name: str, weights: WeightStore) -> Array:
    """A tensor attribute. Raises: StepwellError `invalid-model` when it is missing."""
    return array_of(required_attribute(op, name), weights)


def _member_sets(op: onnx.OnnxOp, weights: WeightStore) -> Iterator[Sequence[float]]:
    """The sets of MEMBER nodes, in the order of the nodes; NaN terminates each."""
    values: list[float] = []
    for number in tensor_of(op, "membership_values", weights) if op.has("membership_values") else ():
        if np.isnan(number):
            yield values
            values = []
        else:
            values.append(float(number))
    if values:
        yield values


@dataclass
class ForestLowering(OnnxLowering):
    """The base class of the three operators, with the scores of a forest."""

    def leaf_scores(
        self, op: onnx.OnnxOp, forest: Forest, targets: int, aggregate: str, rewriter: PatternRewriter
    ) -> SSAValue:
        """
        The aggregated weights of a forest for each row, [rows, targets], before base values and transforms.
        """
        x, dtype = op.operands[0], forest.dtype
        element = element_of(x)
        if dtype_of(element) != dtype:
            x = emit(graph.CastOp(x, f32), rewriter)
        columns = dims_of(x.type)[1]
        forest.expect_targets(targets, op)
        forest.expect_features(columns, op, rewriter)
        tables = tables_of(forest, columns.value if columns.is_static else None, op)
        absent = {"MIN": np.inf, "MAX": -np.inf}.get(aggregate, 0.0)
        weights = forest.weights(tables.leaves, targets, absent).astype(dtype)
        arrays = (tables.nodes, tables.trees, weights, *tables.bit_vectors)
        constants = [self.constant(array, rewriter) for array in arrays]
        kind = aggregate.lower() if aggregate in ("MIN", "MAX") else "sum"
        y = emit(
            graph.TreeEnsembleOp(x, constants, aggregate=kind, flips=tables.flips, **tables.facts), rewriter
        )
        if is_float(element) and dtype_of(element) != dtype:
            y = emit(graph.CastOp(y, element), rewriter)
        if aggregate == "AVERAGE":
            y = emit(graph.DivideOp(y, self.scalar(len(forest.roots), element_of(y), rewriter)), rewriter)
        return y

    def with_base(self, op: onnx.OnnxOp, scores: SSAValue, rewriter: PatternRewriter) -> SSAValue:
        """Scores plus their base values."""
        base = numbers_of(op, "base_values", self.weights)
        if base is None or not base.size:
            return scores
        values = self.constant(base.astype(dtype_of(element_of(scores))), rewriter)
        return emit(graph.AddOp(scores, values), rewriter)

    def threshold_dtype(self, op: onnx.OnnxOp) -> np.dtype[np.generic]:
        """The type in which numbers are compared: f64 for doubles, f32 for all others."""
        return dtype_of(f64 if element_of(op.operands[0]) == f64 else f32)


class TreeEnsembleLowering(ForestLowering):
    """`TreeEnsemble` → `graph.tree_ensemble` and a transform of the scores."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.TreeEnsembleOp, rewriter: PatternRewriter) -> None:
        """Build the forest, aggregate its leaves and transform the scores."""
        forest = forest_of(op, self.threshold_dtype(op), self.weights)
        aggregate = _AGGREGATES[op.integer("aggregate_function")]
        targets = op.integer("n_targets") if op.has("n_targets") else 1
        scores = self.leaf_scores(op, forest, targets, aggregate, rewriter)
        rewriter.replace(
            op, [], [post_transform(op, POST[op.integer("post_transform")], scores, self, rewriter)]
        )


class TreeEnsembleRegressorLowering(ForestLowering):
    """`TreeEnsembleRegressor` → `graph.tree_ensemble`, base values and a transform; the result is f32."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.TreeEnsembleRegressorOp, rewriter: PatternRewriter) -> None:
        """Build the forest of targets, add base values and transform the scores."""
        forest = classic_forest(op, "target", self.threshold_dtype(op), self.weights)
        aggregate = op.string("aggregate_function")
        scores = self.leaf_scores(op, forest, op.integer("n_targets"), aggregate, rewriter)
        scores = as_f32(self.with_base(op, scores, rewriter), rewriter)
        rewriter.replace(op, [], [post_transform(op, op.string("post_transform"), scores, self, rewriter)])


class TreeEnsembleClassifierLowering(ForestLowering):
    """`TreeEnsembleClassifier` → `graph.tree_ensemble`, base values, the best class and a transform."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.TreeEnsembleClassifierOp, rewriter: PatternRewriter) -> None:
        """Build the forest of classes, or of one column for two labels, then labels and scores."""
        forest = classic_forest(op, "class", self.threshold_dtype(op), self.weights)
        labels = class_labels(op)
        classes = len(labels)
        weights = [w for by_target in forest.leaves.values() for w in by_target.values()]
        # Two labels and one column of weights: the score of the second one.
        binary = classes == 2 and set(op.integers("class_ids")) <= {0}
        scores = self.leaf_scores(op, forest, 1 if binary else classes, "SUM", rewriter)
        scores = as_f32(self.with_base(op, scores, rewriter), rewriter)
        chance = all(w >= 0 for w in weights)
        rewriter.replace(op, [], class_scores(op, scores, labels, chance, self, rewriter))
