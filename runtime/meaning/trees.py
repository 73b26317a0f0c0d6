"""The numpy meaning of ensembles of decision trees."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import Array, meaning

Integers = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.floating]


@meaning("graph.tree_ensemble")
def tree_ensemble(
    x: Numbers,
    features: Integers,
    thresholds: Numbers,
    children: Integers,
    missing: npt.NDArray[np.bool_],
    roots: Integers,
    weights: Numbers,
    *,
    steps: int,
    aggregate: str,
) -> Array:
    """Walk every tree for every row at once, then aggregate the weights of the leaves."""
    rows: Integers = np.arange(x.shape[0], dtype=np.int32)[:, None]
    node = np.broadcast_to(roots, (x.shape[0], roots.size))
    for _ in range(steps):
        value = x[rows, features[node]]
        below = (value <= thresholds[node]) | (np.isnan(value) & missing[node])
        node = children[node, below.astype(np.int32)]
    said = weights[node]
    join = {"sum": np.sum, "min": np.min, "max": np.max}[aggregate]
    return np.asarray(join(said, axis=1), weights.dtype)
