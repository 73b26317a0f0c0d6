"""Interleaved timing of several engines on a model, so that a drift of the machine affects all alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter, sleep
from typing import TypeAlias, cast

import numpy as np

Runner: TypeAlias = Callable[[], object]

ROUND_SECONDS = 0.05
"""The time for which each engine runs in a round, at least once."""
_DRAWS = 2000
_SETTLE_SECONDS = 0.002  # for threads of the engine before to go to sleep


@dataclass(frozen=True)
class Latency:
    """The latency of an engine in seconds: the median of each round."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median over the rounds, in seconds."""
        return float(np.median(self.rounds))


@dataclass(frozen=True)
class Ratio:
    """A peer's time over ours, round by round: above 1 we are faster."""

    median: float
    low: float
    high: float
    """95 % interval of the median."""

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f}-{self.high:.2f})"


def interleave(
    runners: Mapping[str, Runner], rounds: int, clock: Callable[[], float] = perf_counter
) -> dict[str, Latency]:
    """Time every runner in each of `rounds` rounds, in turn, after a warm-up."""
    repeats: dict[str, int] = {}
    for name, run in runners.items():
        run()
        start = clock()
        run()
        repeats[name] = max(1, min(1000, round(ROUND_SECONDS / max(clock() - start, 1e-7))))
    times: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(rounds):
        for name, run in runners.items():
            sleep(_SETTLE_SECONDS)
            run()
            times[name].append(_median_call(run, repeats[name], clock))
    return {name: Latency(tuple(values)) for name, values in times.items()}


def _median_call(run: Runner, repeats: int, clock: Callable[[], float]) -> float:
    samples: list[float] = []
    for _ in range(repeats):
        start = clock()
        run()
        samples.append(clock() - start)
    return float(np.median(samples))


def ratio(peer: Latency, ours: Latency) -> Ratio:
    """The median of a peer's time over ours, with its bootstrap interval."""
    return Ratio(*median_ratio([(peer.rounds, ours.rounds)]))


def median_ratio(cases: Sequence[tuple[Sequence[float], Sequence[float]]]) -> tuple[float, float, float]:
    """
    The median of all rounds of one time over another, and its 95 % interval by bootstrap.

    Args: for each case the times of both, round by round; cases count alike, by geometric mean.
    """
    logs = [np.log(np.asarray(peer) / np.asarray(ours)) for peer, ours in cases]
    rounds = np.mean(logs, axis=0)
    rng = np.random.default_rng(0)
    draws = np.median(rng.choice(rounds, (_DRAWS, len(rounds))), axis=1)
    low, high = cast(Sequence[float], np.exp(np.quantile(draws, [0.025, 0.975])))
    median = float(np.exp(np.median(rounds)))
    return median, min(float(low), median), max(float(high), median)


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean; NaN for no values."""
    return float(np.exp(np.mean(np.log(values)))) if values else float("nan")
