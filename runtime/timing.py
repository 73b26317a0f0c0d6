"""Timing of a model: the calls of kernels and of the host, the work of each, and the measured times."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.abi import WORDS_PER_TIME, WORDS_PER_TIMED_CALL
from stepwell.runtime.dims import Dim
from stepwell.runtime.json_values import as_text, as_texts


class TimedCall(NamedTuple):
    """A call in `main`: the nodes of the model in it, and its work as dimension expressions."""

    kind: str
    """`kernel`, or `host` for what runs outside of compiled code."""
    name: str
    """The name of a kernel in the program, such as `k0`; of a host call, the callee."""
    symbol: str
    """The name of a kernel in the code, a hash of its content; else empty."""
    nodes: tuple[str, ...]
    flops: Dim
    """Arithmetic operations; 0 where it moves data, or its work depends on data."""
    bytes: Dim
    """The bytes read and written, each counted once."""
    arithmetic: str = ""
    """`winograd`, whose operations are those of the direct convolution, `integer`, or neither."""

    def to_json(self) -> list[object]:
        """The call as plain JSON values."""
        named = [self.kind, self.name, self.symbol, list(self.nodes)]
        return [*named, str(self.flops), str(self.bytes), self.arithmetic]

    @staticmethod
    def from_json(data: Sequence[object]) -> TimedCall:
        """The call that `to_json` wrote. Raises: ValueError or TypeError when `data` is none."""
        kind, name, symbol, nodes, flops, moved, arithmetic = data
        work = Dim.of(as_text(flops)), Dim.of(as_text(moved)), as_text(arithmetic)
        return TimedCall(as_text(kind), as_text(name), as_text(symbol), as_texts(nodes), *work)


def shown_names(calls: Sequence[TimedCall]) -> Mapping[str, str]:
    """For the symbol of each kernel its name in the program, with the nodes of its first call."""
    kernels = {call.symbol: call for call in reversed(calls) if call.symbol}
    return {symbol: " ".join((call.name, *call.nodes)) for symbol, call in kernels.items()}


class KernelTimes:
    """The times of the last call of a model: of kernels, host calls and allocations."""

    def __init__(self, calls: int):
        self._times = np.zeros((calls, WORDS_PER_TIMED_CALL), np.int64)
        self.allocation = 0.0
        """Seconds that requests for memory whose size depends on data have taken."""
        library = ctypes.CDLL(None)
        self.clock_address = cast(int, ctypes.cast(library.clock_gettime, ctypes.c_void_p).value)
        self.times_address = int(self._times.ctypes.data)

    def seconds(self) -> npt.NDArray[np.float64]:
        """The time of each timed call, summed over rounds of a loop; 0 for a call that did not run."""
        seconds, nanoseconds = self._times[:, -1 - WORDS_PER_TIME : -1].astype(np.float64).T
        return seconds + 1e-9 * nanoseconds

    def last(self) -> npt.NDArray[np.int64]:
        """Begin and end of each timed call in nanoseconds of the monotonic clock, the last in a loop."""
        words = self._times[:, : 2 * WORDS_PER_TIME].reshape(-1, 2, WORDS_PER_TIME)
        return words[:, :, 0] * 10**9 + words[:, :, 1]

    def counts(self) -> npt.NDArray[np.int64]:
        """The number of runs of each timed call."""
        return self._times[:, -1].copy()

    def clear(self) -> None:
        """Forget the last call."""
        self._times[:] = 0
        self.allocation = 0.0

    def timed(self, allocate: Callable[[int, int, int], int]) -> Callable[[int, int, int], int]:
        """An allocation function that adds its time to `allocation`."""

        def call(context: int, slot: int, size_bytes: int) -> int:
            start = perf_counter()
            address = allocate(context, slot, size_bytes)
            self.allocation += perf_counter() - start
            return address

        return call


def work_of(
    calls: Sequence[TimedCall], symbols: Mapping[str, int]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Operations and bytes of each call for the symbol values of a call; 0 where they are not known."""

    def amount(dim: Dim) -> float:
        return float(dim.evaluate(symbols)) if dim.symbols() <= symbols.keys() else 0.0

    return np.array([amount(k.flops) for k in calls]), np.array([amount(k.bytes) for k in calls])
