"""Times of a model's calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np

WARM_UP_RUNS = 2
LEAST_RUNS = 10
MOST_RUNS = 10_000
ENOUGH_SECONDS = 1.0


@dataclass(frozen=True)
class Times:
    """The times of calls, in seconds and in their order; printed, least, median and most of them."""

    seconds: tuple[float, ...]
    threads: int

    @property
    def min(self) -> float:
        """The least time."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The median."""
        return float(np.median(self.seconds))

    @property
    def max(self) -> float:
        """The longest time."""
        return max(self.seconds)

    def __str__(self) -> str:
        low, median, high = (1e3 * value for value in (self.min, self.median, self.max))
        spread = f"{low:.3f} / {median:.3f} / {high:.3f} ms (min / median / max)"
        return f"{len(self.seconds)} runs, {self.threads} threads: {spread}"


def timed(call: Callable[[], object], threads: int, runs: int | None = None) -> Times:
    """
    The times of a call that is repeated after some for warming up.

    Args: `runs` is the number of times, by default as many as fit into a second, 10 at least.
    """
    for _ in range(WARM_UP_RUNS):
        call()
    seconds: list[float] = []
    begin = perf_counter()
    while len(seconds) < (LEAST_RUNS if runs is None else runs) or (
        runs is None and len(seconds) < MOST_RUNS and perf_counter() - begin < ENOUGH_SECONDS
    ):
        start = perf_counter()
        call()
        seconds.append(perf_counter() - start)
    return Times(tuple(seconds), threads)
