"""`graph.tree_ensemble` → the operators of tree ensembles in `ai.onnx.ml`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import f32
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.constants import constant_attr
from stepwell.dialects.types import dtype_of
from stepwell.lowering.graph_to_onnx.nodes import ML, ML_OPSET, replace_by_node
from stepwell.lowering.graph_to_onnx.support import OnnxExport, constant_array, element_of
from stepwell.runtime.meaning import Array

LEQ, GTE = 0, 2
"""Modes of nodes, by their numbers in `TreeEnsemble`."""
_MODES = {LEQ: "BRANCH_LEQ", GTE: "BRANCH_GTE"}
_AGGREGATES = {"sum": 1, "min": 2, "max": 3}


@dataclass
class Tree:
    """
    The nodes of a tree, the root first. The first child of a node, where its comparison is false, is no
    child of another node: ONNX Runtime lays out trees so.
    """

    modes: list[int] = field(default_factory=list[int])
    features: list[int] = field(default_factory=list[int])
    thresholds: list[float] = field(default_factory=list[float])
    children: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """The nodes where the comparison is false, and where it is true."""
    leaves: list[int | None] = field(default_factory=list[int | None])
    """The row of weights of a leaf; None for another node."""

    def reserve(self) -> int:
        """The number of a new node, which is filled in later."""
        self.modes.append(LEQ)
        self.features.append(0)
        self.thresholds.append(0.0)
        self.children.append((0, 0))
        self.leaves.append(None)
        return len(self.modes) - 1


class TreeEnsembleExport(OnnxExport):
    """`graph.tree_ensemble` of constant tables → `TreeEnsembleRegressor`, or `TreeEnsemble` for f64."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TreeEnsembleOp, rewriter: PatternRewriter) -> None:
        """Read the trees out of the tables; decline tables that are computed, and weights of another type."""
        tables = [constant_array(table, self.weights) for table in (op.nodes, op.trees, op.weights)]
        if any(table is None for table in tables) or element_of(op.weights) != element_of(op.x):
            return
        nodes, roots, weights = (np.asarray(table) for table in tables)
        dtype = dtype_of(element_of(op.x))
        trees = [tree_below(nodes, int(root) // 4, dtype) for root in roots[:, 0]]
        if element_of(op.x) == f32 and onnx.opset_of(op, ML) <= ML_OPSET:
            _replace_by_regressor(op, trees, weights, rewriter)
        else:
            self._replace_by_ensemble(op, trees, weights, rewriter)

    def _replace_by_ensemble(
        self, op: graph.TreeEnsembleOp, trees: Sequence[Tree], weights: Array, rewriter: PatternRewriter
    ) -> None:
        """
        Write `TreeEnsemble`, whose leaves have a single target: a copy of each tree for each target.
        """
        made = _Ensemble(weights)
        for target in range(weights.shape[1]):
            for tree in trees:
                made.add(tree, target)
        tensors = {
            "nodes_splits": np.array(made.splits, weights.dtype),
            "nodes_modes": np.array(made.modes, np.uint8),
            "leaf_weights": np.array(made.leaf_weights, weights.dtype),
        }
        ways = list(zip(*made.ways, strict=True))
        replace_by_node(
            rewriter,
            op,
            onnx.TreeEnsembleOp,
            [op.x],
            **{name: constant_attr(array, "", self.weights) for name, array in tensors.items()},
            nodes_featureids=made.features,
            nodes_falsenodeids=ways[0],
            nodes_falseleafs=ways[1],
            nodes_truenodeids=ways[2],
            nodes_trueleafs=ways[3],
            leaf_targetids=made.leaf_targets,
            tree_roots=made.roots,
            n_targets=weights.shape[1],
            aggregate_function=_AGGREGATES[op.aggregate.data],
        )


def tree_below(nodes: Array, root: int, dtype: np.dtype[np.generic]) -> Tree:
    """
    The tree below a row of the table of nodes.

    Successors of several nodes occur once, but for the first of each pair and what is first below it.
    """
    tree, thresholds = Tree(), np.ascontiguousarray(nodes[:, 0]).view(dtype)
    sign, shared = -(1 << (8 * nodes.dtype.itemsize - 1)), dict[int, int]()
    stack = [(root, tree.reserve())]
    while stack:
        row, node = stack.pop()
        pair = int(nodes[row, 2]) // 4
        if pair == row:
            tree.leaves[node] = int(nodes[row, 3])
            continue
        flips = int(nodes[row, 1]) < 0
        limit = float(thresholds[row])
        tree.features[node] = int(nodes[row, 1]) - (sign if flips else 0)
        tree.modes[node], tree.thresholds[node] = (GTE, -limit) if flips else (LEQ, limit)
        first = tree.reserve()
        stack.append((pair, first))
        if (second := shared.get(pair)) is None:
            second = shared[pair] = tree.reserve()
            stack.append((pair + 1, second))
        tree.children[node] = (first, second)
    return tree


def _replace_by_regressor(
    op: graph.TreeEnsembleOp, trees: Sequence[Tree], weights: Array, rewriter: PatternRewriter
) -> None:
    """Write `TreeEnsembleRegressor`, whose leaves have a weight for each target."""
    places = [(number, node) for number, tree in enumerate(trees) for node in range(len(tree.modes))]
    is_leaf = [leaf is not None for tree in trees for leaf in tree.leaves]
    modes = [mode for tree in trees for mode in tree.modes]
    ways = [way for tree in trees for way in tree.children]
    targets = [
        (number, node, target, float(weights[leaf, target]))
        for number, tree in enumerate(trees)
        for node, leaf in enumerate(tree.leaves)
        if leaf is not None
        for target in range(weights.shape[1])
    ]
    target_trees, target_nodes, target_ids, target_weights = zip(*targets, strict=True)
    replace_by_node(
        rewriter,
        op,
        onnx.TreeEnsembleRegressorOp,
        [op.x],
        nodes_treeids=[tree for tree, _ in places],
        nodes_nodeids=[node for _, node in places],
        nodes_modes=["LEAF" if leaf else _MODES[mode] for mode, leaf in zip(modes, is_leaf, strict=True)],
        nodes_featureids=[feature for tree in trees for feature in tree.features],
        nodes_values=[threshold for tree in trees for threshold in tree.thresholds],
        nodes_falsenodeids=[way for way, _ in ways],
        nodes_truenodeids=[way for _, way in ways],
        target_treeids=target_trees,
        target_nodeids=target_nodes,
        target_ids=target_ids,
        target_weights=target_weights,
        n_targets=weights.shape[1],
        aggregate_function=op.aggregate.data.upper(),
    )


class _Ensemble:
    """The attributes of `TreeEnsemble`, which numbers nodes and leaves of all trees apart."""

    def __init__(self, weights: Array):
        self.features: list[int] = []
        self.modes: list[int] = []
        self.splits: list[float] = []
        self.ways: list[tuple[int, int, int, int]] = []
        """Where the comparison is false the node or leaf, and whether it is a leaf; the same for true."""
        self.leaf_targets: list[int] = []
        self.leaf_weights: list[float] = []
        self.roots: list[int] = []
        self._weights: npt.NDArray[np.float64] = np.asarray(weights, np.float64)

    def add(self, tree: Tree, target: int) -> None:
        """Add a tree with the weights for a target; one of a single leaf is a node with two equal ways."""
        self.roots.append(len(self.modes))
        places = dict(self._places(tree, target))
        for node, leaf in enumerate(tree.leaves):
            if leaf is None:
                first, second = tree.children[node]
                self._branch(tree.features[node], tree.modes[node], tree.thresholds[node])
                self.ways.append((*places[first], *places[second]))
        if tree.leaves[0] is not None:
            self._branch(0, LEQ, 0.0)
            self.ways.append((*places[0], *places[0]))

    def _branch(self, feature: int, mode: int, split: float) -> None:
        self.features.append(feature)
        self.modes.append(mode)
        self.splits.append(split)

    def _places(self, tree: Tree, target: int) -> Iterator[tuple[int, tuple[int, int]]]:
        """Maps the nodes of a tree to numbers here, and a flag of leaves; adds the leaves."""
        inner = len(self.modes)
        for node, leaf in enumerate(tree.leaves):
            if leaf is None:
                yield node, (inner, 0)
                inner += 1
            else:
                yield node, (len(self.leaf_targets), 1)
                self.leaf_targets.append(target)
                self.leaf_weights.append(float(self._weights[leaf, target]))
