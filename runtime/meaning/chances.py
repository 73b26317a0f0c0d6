"""Probabilities of classes from pairwise probabilities (support vector machines)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import meaning

Floats = npt.NDArray[np.floating[Any]]


@meaning("host.couple_chances")
def couple_chances(pairs: Floats, *, classes: int) -> Floats:
    """
    The probabilities of classes [rows, classes] that fit best to those of the first of each pair [rows,
    pairs].

    The number of steps is part of the result: they end when no class is off by more than 0.005 / classes.
    Source: Wu, Lin, Weng 2004, "Probability estimates for multi-class classification by pairwise coupling",
    the second method, as LIBSVM has it.
    """
    wins = np.zeros((len(pairs), classes, classes), np.float32)
    bounded = np.clip(pairs, np.float32(1e-7), np.float32(1 - 1e-7))
    for index, (i, j) in enumerate(combinations(range(classes), 2)):
        wins[:, i, j], wins[:, j, i] = bounded[:, index], 1 - bounded[:, index]
    cost = -wins * wins.transpose(0, 2, 1)
    diagonal = np.arange(classes)
    cost[:, diagonal, diagonal] = (wins * wins).sum(1)
    chances = np.full((len(pairs), classes), 1 / classes, np.float32)
    moving = np.arange(len(pairs))
    for _ in range(max(100, classes)):
        slope = np.einsum("rij,rj->ri", cost[moving], chances[moving])
        value = (chances[moving] * slope).sum(1)
        is_off = np.abs(slope - value[:, None]).max(1, initial=0) >= 0.005 / classes
        moving, slope, value = moving[is_off], slope[is_off], value[is_off]
        if not len(moving):
            break
        chances[moving] = _swept(chances[moving], cost[moving], slope, value)
    return chances


def _swept(chances: Floats, cost: Floats, slope: Floats, value: Floats) -> Floats:
    """The probabilities after an update of each class in turn, scaled so that they add up to 1."""
    for t in range(chances.shape[1]):
        own = cost[:, t, t]
        step = (value - slope[:, t]) / own
        scale = 1 + step
        chances[:, t] += step
        value = (value + step * (step * own + 2 * slope[:, t])) / (scale * scale)
        slope = (slope + step[:, None] * cost[:, t]) / scale[:, None]
        chances /= scale[:, None]
    return chances
