"""The sample of a grid of parameters that `make test` runs."""

from __future__ import annotations

from itertools import combinations

from tests.support.combinations import every_pair


def test_each_two_values_meet() -> None:
    values = {"a": range(4), "b": "xyz", "c": [True, False]}
    _, grid = every_pair(**values).args
    rows = [param.values for param in grid]
    assert sorted(rows) == sorted((a, b, c) for a in values["a"] for b in values["b"] for c in values["c"])
    quick = [param.values for param in grid if not param.marks]
    assert len(quick) <= 13
    for i, j in combinations(range(3), 2):
        assert {(row[i], row[j]) for row in quick} == {(row[i], row[j]) for row in rows}


def test_parameters_that_vary_together() -> None:
    names, grid = every_pair(size__dtype=[(1, "f32"), (2, "f16")], mcpu=["host", "v3"]).args
    assert list(names) == ["size", "dtype", "mcpu"]
    assert (2, "f16", "host") in [tuple(param.values) for param in grid]
