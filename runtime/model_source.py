"""
The program of a compiled model, as the runtime sees it: profiles and kernels, which a compiler makes.

The compiler gives an object of this kind to each model that it compiles; an artifact has none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True)
class ProfileRow:
    """A part of a model's call; the microseconds of all rows add up to those of the call."""

    kind: str
    """`kernel`; `host`, a call outside of compiled code; `allocation`; `outside`, the rest."""
    name: str
    """The name of a kernel as in `--emit linalg` and `--dump`, such as `k0`; of a host call, the callee."""
    kernel: str
    """The symbol of a kernel in the code."""
    nodes: tuple[str, ...]
    microseconds: float
    """The time of all runs in a call of the model (several where it is in a loop)."""
    share: float
    """The percentage of the time of the call."""
    gflops: float = 0.0
    """Arithmetic operations in 1e9 a second; exact for contractions, else one for each element."""
    gigabytes_per_second: float = 0.0
    """Bytes read and written, each counted once, in 1e9 a second."""
    percent_of_peak: float = 0.0
    """
    The least time that arithmetic or memory traffic needs, whichever is more, in percent of the measured
    time.

    Above 100 where an algorithm needs fewer operations (Winograd), a register has room for more numbers
    (bytes), or data stay in a faster cache.
    """
    arithmetic: str = ""
    """`winograd`: operations of the direct convolution; `integer`: the peak is that of f32; else empty."""


@dataclass(frozen=True)
class Profile:
    """The parts of a call in their order; printed, a table of them, the longest times first."""

    rows: tuple[ProfileRow, ...]
    text: str

    def __str__(self) -> str:
        return self.text

    def __iter__(self) -> Iterator[ProfileRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)


Level = Literal["linalg", "vector", "loops", "llvm", "ll", "asm"]
"""The levels of a kernel's text."""


class Kernel(Protocol):
    """A kernel of a compiled model; each text is made by compiling the kernel again."""

    @property
    def name(self) -> str:
        """The name in the program of level 2, such as `k3`."""
        ...

    @property
    def nodes(self) -> tuple[str, ...]:
        """The names of the model's nodes that it computes."""
        ...

    @property
    def schedule(self) -> str:
        """The schedules of its ops as text, a line each."""
        ...

    @property
    def asm(self) -> str:
        """The assembly."""
        ...

    def ir(self, level: Level = "vector") -> str:
        """The text at a level. Raises: StepwellError `bad-option`, `file-changed`."""
        ...


class ModelSource(Protocol):
    """The program that a model was compiled from, with its options."""

    @property
    def kernels(self) -> Mapping[str, Kernel]:
        """The kernels by name, in the order of their first call. Raises: StepwellError `file-changed`."""
        ...

    def profile(self, inputs: Sequence[object], threads: int, runs: int) -> Profile:
        """The parts of a call. Raises: StepwellError `file-changed`; as calling does."""
        ...
