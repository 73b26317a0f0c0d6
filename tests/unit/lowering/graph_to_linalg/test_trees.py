"""Ensembles of trees: lowered, they come to the leaves that the text of ai.onnx.ml says."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from stepwell.dialects import graph
from stepwell.runtime.meaning import Array
from tests.kernels import expect_lowering

RNG = np.random.default_rng(3)


def forest(trees: int, depth: int, features: int, targets: int, dtype: npt.DTypeLike) -> list[Array]:
    """Complete trees with random thresholds, in one table."""
    inner, size = 2**depth - 1, 2 ** (depth + 1) - 1
    places = np.arange(trees * size) % size
    starts = np.arange(trees * size) - places
    children = np.stack([2 * places + 1, 2 * places + 2], 1)
    children = np.where((places < inner)[:, None], children, places[:, None]) + starts[:, None]
    return [
        RNG.integers(0, features, trees * size).astype(np.int32),
        RNG.standard_normal(trees * size).astype(dtype),
        children.astype(np.int32),
        RNG.integers(0, 2, trees * size).astype(np.bool_),
        (np.arange(trees) * size).astype(np.int32),
        RNG.standard_normal((trees * size, targets)).astype(np.float32),
    ]


@pytest.mark.parametrize("aggregate", ["sum", "min", "max"])
@pytest.mark.parametrize(
    ("trees", "depth", "dtype"), [(5, 3, np.float32), (1, 0, np.float32), (2, 4, np.float64)]
)
def test_lowering(trees: int, depth: int, dtype: Any, aggregate: str) -> None:
    x = RNG.standard_normal((17, 6)).astype(dtype)
    x[2, :] = np.nan
    tables = forest(trees, depth, 6, 3, dtype)
    build = lambda x, *t: graph.TreeEnsembleOp(x, t, steps=depth, aggregate=aggregate)  # noqa: E731
    expect_lowering(build, [x, *tables], tolerance=1e-6)
    expect_lowering(build, [x, *tables], [["N", 6], *[None] * 6], tolerance=1e-6)


def test_a_deep_tree_is_walked_in_parts() -> None:
    depth, length = 60, 61
    chain = np.arange(length)
    children = np.stack([chain, np.minimum(chain + 1, length - 1)], 1).astype(np.int32)
    tables = [
        np.zeros(length, np.int32),
        np.linspace(1, 0, length, dtype=np.float32),
        children,
        np.zeros(length, np.bool_),
        np.zeros(1, np.int32),
        chain.astype(np.float32)[:, None],
    ]
    x = RNG.uniform(0, 1, (9, 1)).astype(np.float32)
    expect_lowering(lambda x, *t: graph.TreeEnsembleOp(x, t, steps=depth), [x, *tables], tolerance=1e-6)
