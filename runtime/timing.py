"""A model that tells its times: which kernels it calls, how much each does, how long each took."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.abi import WORDS_PER_TIME
from stepwell.runtime.dims import Dim


@dataclass(frozen=True)
class TimedKernel:
    """A call of a kernel in `main`: the nodes of the model in it, and its work as dimension expressions."""

    name: str
    nodes: tuple[str, ...]
    flops: Dim
    """Arithmetic operations; 0 where it moves data, or its work depends on data."""
    bytes: Dim
    """Of what it reads and writes, each once."""
    arithmetic: str = ""
    """`winograd`, whose operations are those of the direct convolution, `integer`, or neither."""

    def to_json(self) -> list[object]:
        """The call as plain JSON values."""
        return [self.name, list(self.nodes), str(self.flops), str(self.bytes), self.arithmetic]

    @staticmethod
    def from_json(data: Sequence[object]) -> TimedKernel:
        """What `to_json` wrote. Raises: ValueError or TypeError when it is not one."""
        name, nodes, flops, moved, arithmetic = data
        names = tuple(str(node) for node in cast(Sequence[object], nodes))
        return TimedKernel(str(name), names, Dim.of(str(flops)), Dim.of(str(moved)), str(arithmetic))


class KernelTimes:
    """Where a model's code writes when its kernels began and ended; that of the last call."""

    def __init__(self, kernels: int):
        self._times = np.zeros((kernels, 2, WORDS_PER_TIME), np.int64)
        library = ctypes.CDLL(None)
        self.clock_address = cast(int, ctypes.cast(library.clock_gettime, ctypes.c_void_p).value)
        self.times_address = int(self._times.ctypes.data)

    def seconds(self) -> npt.NDArray[np.float64]:
        """How long each kernel took in the last call; 0 for one that did not run."""
        seconds, nanoseconds = (self._times[:, 1] - self._times[:, 0]).astype(np.float64).T
        return seconds + 1e-9 * nanoseconds

    def clear(self) -> None:
        """Forget the last call."""
        self._times[:] = 0


def work_of(
    kernels: Sequence[TimedKernel], symbols: Mapping[str, int]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Operations and bytes of each kernel for the symbol values of a call; 0 where they are not known."""

    def amount(dim: Dim) -> float:
        return float(dim.evaluate(symbols)) if dim.symbols() <= symbols.keys() else 0.0

    return np.array([amount(k.flops) for k in kernels]), np.array([amount(k.bytes) for k in kernels])
