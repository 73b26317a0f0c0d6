"""Times of interleaved rounds, and how much they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Seconds: TypeAlias = Sequence[Sequence[float]]
"""Seconds of each kernel in each round."""

NOISY_SPREAD = 0.15
"""A base whose rounds differ by more than this says nothing about a candidate."""


def spread_of(seconds: Sequence[float]) -> float:
    """The distance of the quartiles of some times, relative to their median."""
    values: npt.NDArray[np.float64] = np.asarray(seconds)
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float((high - low) / middle)
