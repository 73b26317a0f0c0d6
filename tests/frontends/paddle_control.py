"""Functions of Paddle with loops and choices that depend on data, and some operands for each."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from tests.frontends.paddle_cases import Case, numbers


def control_cases() -> list[Case]:
    """All cases; those of one name but the digit at its end are runs of one program."""
    x, large, small = numbers(2, 3), np.full((2, 3), 7.0, np.float32), numbers(2, 3, low=0.1, high=0.5)
    runs = [
        Case(f"counted{i}", _counted, [given, np.array([n], np.int64)])
        for i, (given, n) in enumerate([(x, 0), (large, 5), (small, 9)])
    ]
    runs += [Case(f"chosen{i}", _chosen, [given]) for i, given in enumerate([large, -large])]
    runs += [Case(f"doubled{i}", _doubled, [given]) for i, given in enumerate([small, large * 20])]
    return runs + [Case(f"rows{i}", _rows, [numbers(n, 3)], open_batch=True) for i, n in enumerate([4, 1])]


def _counted(x: Any, n: Any) -> Any:
    """A choice in a loop."""
    y = x * 1.0  # version 2 takes `y = x` for one variable, and writes both
    i = import_module("paddle").zeros([1], "int64")
    while i < n:
        if y.sum() > 10.0:
            y = y - x * 0.5
        else:
            y = y + x
        i = i + 1
    return y, i


def _chosen(x: Any) -> Any:
    """A choice between values, one of which is there before, in a choice."""
    y = x * 2
    if x.max() > 0:
        if x.sum() > 5:
            y = x - 1
    else:
        y = x + y
    return y


def _doubled(x: Any) -> Any:
    """A loop that may have no iteration."""
    while x.max() < 100.0:
        x = x * 2
    return x


def _rows(x: Any) -> Any:
    """A loop over the rows of an open number, at positions that are counted."""
    total = x[0] * 0
    for i in range(x.shape[0]):
        total = total * 0.5 + x[i]
    return total
