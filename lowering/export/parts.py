"""The parts of an exported file, whatever its format: code, weights, and symbols that programs use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.link.linker import FlatCode

Chunk: TypeAlias = bytes | bytearray | memoryview
"""A piece of a file: weights are not copied before they are written."""


@dataclass(frozen=True)
class ExportedSymbol:
    """A function that programs may call."""

    name: str
    is_weak: bool = False


@dataclass(frozen=True)
class Parts:
    """Code and weights before they are in a file."""

    name: str
    code: FlatCode
    symbols: tuple[ExportedSymbol, ...]
    weights: tuple[npt.NDArray[np.generic], ...] = ()
    """The weights of the file itself; empty where they are elsewhere."""
    json: str = ""
    """The description of the model, which the code contains too."""
    imports: str = ""
    """The symbol of a table of addresses that a loader writes; empty where the code has none."""
    stacks: Mapping[str, int] = field(default_factory=dict[str, int])
    """The most stack that a call of each function of the model takes; 0 where it is not known."""

    @property
    def weights_symbol(self) -> str:
        """The name of the first weight."""
        return f"{self.name}_weights"

    @property
    def stack_bytes(self) -> int:
        """The most stack that a call takes; 0 where it is not known."""
        return max(self.stacks.values()) if all(self.stacks.values()) else 0

    @property
    def weight_bytes(self) -> int:
        """The size of the weights, with the gaps between them."""
        return sum(len(chunk) for chunk in weight_chunks(self.weights))


def weight_chunks(weights: Sequence[npt.NDArray[np.generic]]) -> list[Chunk]:
    """The bytes of weights, each from a multiple of the alignment on, as `weight_offsets` has them."""
    chunks: list[Chunk] = []
    end = 0
    for array in weights:
        view = memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        gap = -end % ARENA_ALIGNMENT
        chunks += [bytes(gap), view] if gap else [view]
        end += gap + len(view)
    return chunks
