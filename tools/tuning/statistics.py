"""Ratios of interleaved times, with intervals: a gain is one when noise does not explain it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

Seconds: TypeAlias = Sequence[Sequence[float]]
"""Seconds of each kernel in each round."""

NOISY_SPREAD = 0.15
"""A base whose rounds differ by more than this says nothing about a candidate."""
_DRAWS = 1000


def ratio_of(cases: Sequence[tuple[Sequence[float], Sequence[float]]]) -> tuple[float, float, float]:
    """
    The base's time over the candidate's: the median of all rounds, and a 95 % interval of it.

    Args: for each case of sizes the seconds of both, round by round; cases count alike, by geometric mean.
    """
    logs = [np.log(np.asarray(base) / np.asarray(own)) for base, own in cases]
    rounds = np.mean([each for each in logs], axis=0)
    rng = np.random.default_rng(0)
    draws = np.median(rng.choice(rounds, (_DRAWS, len(rounds))), axis=1)
    low, high = cast(Sequence[float], np.exp(np.quantile(draws, [0.025, 0.975])))
    median = float(np.exp(np.median(rounds)))
    return median, min(float(low), median), max(float(high), median)


def spread_of(seconds: Sequence[float]) -> float:
    """The distance of the quartiles of some times, relative to their median."""
    values: npt.NDArray[np.float64] = np.asarray(seconds)
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float((high - low) / middle)
