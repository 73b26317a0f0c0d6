"""Random decision trees, and what they say by a walk from node to node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stepwell.lowering.onnx_to_graph.ml.tree_tables import Nodes
from stepwell.runtime.meaning import Array

FEATURES = 5
_NUMBERS = [-np.inf, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, np.inf, np.nan]
Numbers = npt.NDArray[np.floating]


def random_nodes(
    rng: np.random.Generator,
    sizes: Sequence[int],
    depth: int,
    dtype: npt.DTypeLike,
    *,
    missing: bool = True,
    shared: bool = False,
) -> Nodes:
    """
    Trees with at most as many leaves as `sizes` say, and thresholds that are met exactly.

    With `shared`, some nodes lead to leaves that others lead to as well.
    """
    nodes = Nodes(np.dtype(dtype))
    for size in sizes:
        nodes.roots.append(_leaf(nodes))
        open_leaves = [(nodes.roots[-1], 0)]
        for _ in range(size - 1):
            room = [i for i, (_, level) in enumerate(open_leaves) if level < depth]
            if not room:
                break
            node, level = open_leaves.pop(rng.choice(room))
            children = _leaf(nodes), _leaf(nodes)
            open_leaves += [(child, level + 1) for child in children]
            if shared and rng.random() < 0.3:
                children = children[0], open_leaves[rng.integers(len(open_leaves))][0]
            nodes.children[node] = children
            nodes.features[node] = int(rng.integers(FEATURES))
            nodes.thresholds[node] = float(rng.choice(_NUMBERS) if rng.random() < 0.7 else rng.normal())
            nodes.missing[node] = missing and bool(rng.integers(2))
    return nodes


def _leaf(nodes: Nodes) -> int:
    number = len(nodes.features)
    nodes.features.append(0)
    nodes.thresholds.append(0.0)
    nodes.children.append((number, number))
    nodes.missing.append(False)
    return number


def random_rows(rng: np.random.Generator, rows: int, dtype: npt.DTypeLike) -> Numbers:
    """Rows of features, as often equal to a threshold as not, with infinities and NaN."""
    drawn = rng.choice(_NUMBERS, (rows, FEATURES)), rng.normal(size=(rows, FEATURES))
    return np.where(rng.random((rows, FEATURES)) < 0.6, *drawn).astype(dtype)


def walked(nodes: Nodes, x: Numbers, weights: Numbers, aggregate: str) -> Array:
    """The aggregate for each row, tree by tree in the type of the weights, which have a row for each node."""
    start = {"sum": 0.0, "min": np.inf, "max": -np.inf}[aggregate]
    join = {"sum": np.add, "min": np.minimum, "max": np.maximum}[aggregate]
    result = np.full((len(x), weights.shape[1]), start, weights.dtype)
    for row, numbers in enumerate(x):
        for node in nodes.roots:
            while not nodes.is_leaf(node):
                number, threshold = numbers[nodes.features[node]], nodes.dtype.type(nodes.thresholds[node])
                is_below = number <= threshold or (np.isnan(number) and nodes.missing[node])
                node = nodes.children[node][int(is_below)]
            result[row] = join(result[row], weights[node])
    return result
