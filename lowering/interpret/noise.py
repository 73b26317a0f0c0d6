"""
Noise: results of level 1 changed by a unit in the last place, to see how much rounding may change a value.

That depends on the numbers: a sum that cancels loses most digits. One run without noise and one with it, on
the same inputs, differ by about as much as two correct orders of computation.

Source: Stott Parker, "Monte Carlo Arithmetic" (1997), in its simplest form.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from stepwell.runtime.meaning import Array

_SUMS = re.compile("conv|matmul|einsum|reduce|norm|softmax|pool|attention|rnn|resize")
"""Ops that add many terms, whose order is free: each term rounds."""
_STEPS = np.array([-1.0, 1.0])


class Noise:
    """A source of noise, seeded."""

    def __init__(self, seed: int = 0):
        self._random = np.random.default_rng(seed)

    def on_operands(self, op_name: str, values: Sequence[Array | None]) -> list[Array | None]:
        """The operands of an op; of sums, with noise."""
        if not _SUMS.search(op_name):
            return list(values)
        return [None if value is None else self._noisy(value) for value in values]

    def on_results(self, values: Sequence[Array]) -> list[Array]:
        """The results of an op with noise."""
        return [self._noisy(value) for value in values]

    def _noisy(self, value: Array) -> Array:
        """
        An array with each element changed by one unit in its last place, up or down.

        Integers, also those that are stored as floats, were computed without rounding.
        """
        array: Any = np.asarray(value)
        if array.dtype.kind != "f" or not array.size or (array == np.rint(array)).all():
            return value
        steps = self._random.choice(_STEPS, array.shape) * np.finfo(array.dtype).eps
        return np.asarray(array + array * steps, array.dtype)
