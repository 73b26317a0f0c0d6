"""Grids of parameters of which `make test` runs a sample in which each two values meet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, product
from typing import Any

import pytest


def every_pair(**values: Sequence[Any]) -> pytest.MarkDecorator:
    """
    `parametrize` over all combinations of the values of each name; most of them are marked slow.

    The others are a sample: each value of a parameter runs with each value of every other parameter at least
    once (pairwise testing: Cohen et al., The AETG System, 1997). A name such as `left__right` stands for two
    parameters that vary together; its values are tuples.
    """
    grid = list(product(*(range(len(each)) for each in values.values())))
    sample = set(_sample(grid))
    params: list[Any] = []
    for row in grid:
        chosen = {name: each[i] for (name, each), i in zip(values.items(), row, strict=True)}
        flat = [part for name, value in chosen.items() for part in (value if "__" in name else [value])]
        params.append(pytest.param(*flat, marks=[] if row in sample else pytest.mark.slow))
    return pytest.mark.parametrize([part for name in values for part in name.split("__")], params)


def _sample(grid: Sequence[tuple[int, ...]]) -> Iterable[tuple[int, ...]]:
    """Rows that have all pairs of the grid, each time the one with the most that are still missing."""
    missing = {pair for row in grid for pair in _pairs(row)}
    while missing:
        best = max(grid, key=lambda row: len(missing & _pairs(row)))
        missing -= _pairs(best)
        yield best


def _pairs(row: tuple[int, ...]) -> set[tuple[tuple[int, int], ...]]:
    return set(combinations(enumerate(row), 2))
