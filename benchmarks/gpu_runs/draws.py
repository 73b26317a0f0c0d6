"""Arrays that a recipe makes again, with the same bits on each machine and for each version of numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod, sqrt
from typing import Any

import numpy as np

from stepwell.runtime.interface import dtype_from_name

_NUMBERS = 1 << 16
_AT_ONCE = 1 << 22
"""Elements that are drawn together: the temporary arrays stay small beside the weights of a large model."""


@dataclass(frozen=True)
class Draw:
    """
    An array of numbers of 16 bits from a seed.

    Floats are `(2 u - 65535 + offset) * scale` in f32, rounded once; integers are `offset` and the `count`
    numbers from it on. The bits of PCG64 are the same in all versions of numpy, as those of distributions are
    not.
    """

    seed: int
    shape: Sequence[int]
    dtype: str
    scale: float = 0.0
    offset: int = 0
    count: int = 1

    @staticmethod
    def normalized(seed: int, shape: Sequence[int], mean: float = 0.0, deviation: float = 1.0) -> Draw:
        """Numbers of f32 with a mean and a standard deviation, all equally probable."""
        scale = float(np.float32(deviation * sqrt(3) / (_NUMBERS - 1)))
        return Draw(seed, shape, "float32", scale, round(mean / scale))

    @staticmethod
    def of_json(data: Mapping[str, Any]) -> Draw:
        """The recipe of `to_json`."""
        return Draw(**data)

    def to_json(self) -> dict[str, Any]:
        """The recipe as JSON values."""
        return asdict(self)

    def array(self) -> Any:
        """The array."""
        dtype = dtype_from_name(self.dtype)
        made = np.empty(prod(self.shape), dtype)
        bits = np.random.PCG64(self.seed)
        for begin in range(0, made.size, _AT_ONCE):
            size = min(_AT_ONCE, made.size - begin)
            words = np.asarray(bits.random_raw(-(-size // 4)), "<u8")
            made[begin : begin + size] = self._numbers(words.view("<u2")[:size].astype(np.int32)).astype(
                dtype
            )
        return made.reshape(tuple(self.shape))

    def _numbers(self, drawn: Any) -> Any:
        """Elements for numbers of 16 bits."""
        if self.scale:
            return (2 * drawn + (self.offset - _NUMBERS + 1)).astype(np.float32) * np.float32(self.scale)
        return (drawn.astype(np.int64) * self.count // _NUMBERS) + self.offset
