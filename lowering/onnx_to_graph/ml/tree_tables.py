"""The tables of `graph.tree_ensemble` from nodes and leaves: each node becomes `<=` with two successors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation

from stepwell.dialects.graph.trees import MOST_LEAVES
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array


@dataclass
class Nodes:
    """The nodes of decision trees by number; several may have the same successor."""

    dtype: np.dtype[np.generic]
    """The type of the thresholds, f32 or f64."""
    features: list[int] = field(default_factory=list[int])
    thresholds: list[float] = field(default_factory=list[float])
    children: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """The next nodes of each node: above the threshold, and not above it."""
    missing: list[bool] = field(default_factory=list[bool])
    """Whether NaN counts as not above the threshold."""
    roots: list[int] = field(default_factory=list[int])

    def is_leaf(self, node: int) -> bool:
        """Whether a node has no successors: it is its own child."""
        return self.children[node] == (node, node)


@dataclass(frozen=True)
class Tables:
    """The tables of `graph.tree_ensemble` but for the weights, and the facts that are its properties."""

    nodes: Array
    trees: Array
    bit_vectors: tuple[Array, ...]
    """Cuts and masks, if no tree has more than 64 leaves."""
    leaves: Sequence[int]
    """The node whose weights each row of the weights has."""
    flips: bool
    facts: Mapping[str, int]
    """The properties `depth`, `leaves` and `largest`."""


def tables_of(nodes: Nodes, features: int | None, where: Operation | None = None) -> Tables:
    """
    The tables of the trees below `nodes.roots`.

    Args: `features` is the number of columns of `x`, None for an open one.
    Raises: StepwellError `invalid-model` for nodes in a circle.
    """
    heights, paths = _heights_and_paths(nodes, where)
    counts = [paths[root] for root in nodes.roots]
    largest = int(np.argmax(counts))
    layout = _Layout(nodes, shares=counts[largest] > MOST_LEAVES)
    for root in nodes.roots:
        layout.add(root, heights[root])
    depth = max(heights[root] for root in nodes.roots)
    table = layout.table()
    return Tables(
        table,
        np.array(layout.trees, np.int32),
        layout.bit_vectors(features, counts[largest]) if features and depth and not layout.shares else (),
        layout.leaves,
        bool((table[:, 1] < 0).any()),
        {"depth": depth, "leaves": counts[largest], "largest": largest},
    )


def _heights_and_paths(nodes: Nodes, where: Operation | None) -> tuple[list[int], list[int]]:
    """For each node below the roots the most steps to a leaf, and the number of paths to leaves."""
    count = len(nodes.features)
    heights, paths, is_open = [-1] * count, [1] * count, [False] * count
    stack = list(nodes.roots)
    while stack:
        node = stack[-1]
        children = () if nodes.is_leaf(node) else nodes.children[node]
        pending = [child for child in children if heights[child] < 0]
        if heights[node] < 0 and pending:
            if is_open[node] or any(is_open[child] for child in pending):
                raise StepwellError("invalid-model", where, "the nodes of a tree go in a circle")
            is_open[node] = True
            stack += pending
            continue
        if heights[node] < 0:
            heights[node] = 1 + max((heights[child] for child in children), default=-1)
            paths[node] = min(sum(paths[child] for child in children) or 1, 1 << 31)
        is_open[node] = False
        stack.pop()
    return heights, paths


class _Layout:
    """
    Nodes in pairs, depth first, and leaves from left to right; left is where the comparison of a node holds.

    Args: `shares`: successors of a node with several predecessors are one pair; else each has its own, and a
    leaf is on one path only.
    """

    def __init__(self, nodes: Nodes, *, shares: bool):
        self.shares = shares
        self.trees: list[tuple[int, int, int, int, int]] = []
        self.leaves: list[int] = []
        self._nodes = nodes
        self._rows: list[tuple[float, int, bool, int, int]] = []
        """Of each node threshold, feature, whether the number changes its sign, the pair, and the leaf."""
        self._cuts: list[tuple[float, int, bool, int, int]] = []
        """Threshold, feature, change of sign, and the range of leaves on the left, counted in the tree."""
        self._pairs: dict[int, int] = {}
        self._numbers: dict[int, int] = {}

    def add(self, root: int, depth: int) -> None:
        """Add a tree."""
        start, first_cut, first_leaf = len(self._rows), len(self._cuts), len(self.leaves)
        self._rows.append(_UNSET)
        # Nodes to visit, the row of each, and the cut whose left leaves are complete when it is visited.
        stack: list[tuple[int, int, int | None]] = [(root, start, None)]
        while stack:
            node, row, cut = stack.pop()
            if cut is not None:
                self._cuts[cut] = (*self._cuts[cut][:4], len(self.leaves) - first_leaf)
            if self._nodes.is_leaf(node):
                self._rows[row] = (np.nan, 0, False, row, self._leaf(node))
                continue
            threshold, feature, flips, left, right = self._comparison(node)
            pair = self._pairs.get(node) if self.shares else None
            self._rows[row] = (threshold, feature, flips, len(self._rows) if pair is None else pair, 0)
            if pair is None:
                pair = self._pairs[node] = len(self._rows)
                self._rows += [_UNSET, _UNSET]
                stack += [(right, pair, len(self._cuts)), (left, pair + 1, None)]
                first = len(self.leaves) - first_leaf
                self._cuts.append((threshold, feature, flips, first, first))
        self.trees.append((4 * start, depth, first_cut, len(self._cuts), first_leaf))

    def _leaf(self, node: int) -> int:
        """The number of a leaf, a new one unless leaves are shared."""
        if not self.shares or node not in self._numbers:
            self._numbers[node] = len(self.leaves)
            self.leaves.append(node)
        return self._numbers[node]

    def _comparison(self, node: int) -> tuple[float, int, bool, int, int]:
        """
        A node as `number <= threshold`, false for NaN, with feature, change of sign, left and right node.

        Where NaN is to count as not above, `x > threshold` is compared: -x <= -(the number after it).
        """
        nodes = self._nodes
        above, below = nodes.children[node]
        threshold = np.array(nodes.thresholds[node], nodes.dtype)
        if not nodes.missing[node]:
            return float(threshold), nodes.features[node], False, below, above
        if float(threshold) == np.inf:  # nothing is above
            return np.nan, nodes.features[node], False, above, below
        after = np.nextafter(threshold, np.array(np.inf, nodes.dtype))
        limit = np.inf if float(threshold) != float(threshold) else -float(after)
        return limit, nodes.features[node], True, above, below

    def table(self) -> npt.NDArray[np.signedinteger]:
        """The table of nodes."""
        thresholds, features, flips, pairs, leaves = zip(*self._rows, strict=True)
        bits = self._bits(thresholds)
        sign = np.where(flips, np.iinfo(bits.dtype).min, 0)
        columns = [bits, np.array(features) | sign, 4 * np.array(pairs), np.array(leaves)]
        return np.stack(columns, 1).astype(bits.dtype)

    def bit_vectors(self, features: int, most_leaves: int) -> tuple[Array, Array]:
        """The cuts, and their masks of 32 or 64 bits, in which the highest bit is the first leaf."""
        wide = 32 if most_leaves <= 32 else MOST_LEAVES
        bits = self._bits([cut[0] for cut in self._cuts])
        columns = [feature + features * flips for _, feature, flips, _, _ in self._cuts]
        ones = (1 << wide) - 1
        masks = [ones ^ (((1 << (end - first)) - 1) << (wide - end)) for *_, first, end in self._cuts]
        cuts = np.stack([bits, np.array(columns, bits.dtype)], 1)
        return cuts, np.array(masks, f"uint{wide}").view(f"int{wide}")

    def _bits(self, thresholds: Sequence[float]) -> npt.NDArray[np.signedinteger]:
        """The bits of thresholds as integers."""
        return np.array(thresholds, self._nodes.dtype).view(f"int{8 * self._nodes.dtype.itemsize}")


_UNSET = (np.nan, 0, False, 0, 0)
