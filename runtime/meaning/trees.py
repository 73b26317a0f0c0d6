"""The numpy meaning of ensembles of decision trees."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import Array, meaning

Integers = npt.NDArray[np.int32 | np.int64]
Numbers = npt.NDArray[np.floating]


@meaning("graph.tree_ensemble")
def tree_ensemble(
    x: Numbers,
    nodes: Integers,
    trees: Integers,
    weights: Numbers,
    *_bit_vectors: Array,
    depth: int,
    leaves: int,
    largest: int,
    aggregate: str,
    flips: bool = False,
) -> Array:
    """Walk every tree for every row at once, then aggregate the weights of the leaves."""
    rows: Integers = np.arange(x.shape[0], dtype=np.int64)[:, None]
    thresholds, features = nodes[:, 0].view(x.dtype), nodes[:, 1]
    flipped = features < 0
    features = features & np.iinfo(features.dtype).max
    at = np.broadcast_to(trees[:, 0] // 4, (x.shape[0], trees.shape[0]))
    for _ in range(depth):
        value = x[rows, features[at]]
        value = np.where(flipped[at], -value, value)
        at = nodes[at, 2] // 4 + (value <= thresholds[at])
    said = weights[nodes[at, 3]]
    join = {"sum": np.sum, "min": np.min, "max": np.max}[aggregate]
    return np.asarray(join(said, axis=1), weights.dtype)
