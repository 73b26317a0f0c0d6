"""The speed of loops that compute register tiles, by the length of their sums."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter, thread_time
from typing import TypeAlias

import numpy as np

from stepwell.runtime.machine.loader import load_objects
from stepwell.runtime.memory import aligned_empty

_STEPS = {"short": 64, "long": 1024}
ROW_BYTES = 4 * (_STEPS["long"] + 16)  # no power of two: rows of a tile shall not map to the same cache sets
"""The bytes between rows that a loop reads."""
_ROUNDS = 5
_ROUND_SECONDS = 2e-4
_FUNCTION = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 2, *[ctypes.c_void_p] * 3)

TileRates: TypeAlias = dict[str, dict[tuple[int, int], float]]
"""Elements a second of each tile, by the length of its sums."""


def tile_rates(objects: Sequence[bytes], names: Mapping[tuple[int, int], str], deadline: float) -> TileRates:
    """
    The rates of loops (times, steps, rows, panel, results), by the name of each tile's function.

    Args: `deadline` by `perf_counter`: later rounds are left out.
    """
    library = load_objects(objects)
    rows, panel, out = (aligned_empty(1 << 20) for _ in range(3))
    for array in (rows, panel):
        array.view(np.uint8)[:] = 0  # small numbers: nothing overflows, nothing is denormal
    addresses = [int(array.ctypes.data) for array in (rows, panel, out)]
    runs = {tile: _FUNCTION(library.address(name)) for tile, name in names.items()}
    found: TileRates = {}
    for length, steps in _STEPS.items():
        rates = found[length] = dict.fromkeys(names, 0.0)
        for number in range(_ROUNDS):  # all tiles in each round: other load of the machine affects all alike
            if number and perf_counter() > deadline:
                break
            for tile, run in runs.items():
                m, v = tile
                rates[tile] = max(rates[tile], m * v * _steps_a_second(run, steps, addresses))
    return found


def _steps_a_second(run: Callable[..., None], steps: int, addresses: Sequence[int]) -> float:
    times = 1
    while True:
        start = thread_time()
        run(times, steps, *addresses)
        if (taken := thread_time() - start) >= _ROUND_SECONDS:
            return times * steps / taken
        times *= 4
