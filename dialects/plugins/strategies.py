"""Strategies: ways to compute an op of level 1, with conditions and estimated cycles; those of plugins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

from xdsl.ir import Operation, SSAValue

from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.plugins import Registry

DEFAULT = "default"
"""The strategy of every op that leaves the choice to the compiler's own passes."""


@dataclass(frozen=True)
class Situation:
    """The facts besides the op on which strategies depend."""

    target: TargetDescription
    lanes: int
    """The f32 lanes of a vector: the channels of a block, and the multiply-adds of a core in a cycle."""
    winograd: bool = True
    """Whether Winograd's algorithm may be used."""


Refusal: TypeAlias = Callable[[Any, Situation], str | None]
"""The reason why an op cannot be computed so; None where it can."""
Cycles: TypeAlias = Callable[[Any, Situation], float | None]
"""The estimated cycles of a sample on one core, without changes of layouts; None without an estimate."""
Insert: TypeAlias = Callable[[Operation], object]
Expand: TypeAlias = Callable[[Operation, Insert], Sequence[SSAValue]]
"""Inserts the ops that compute an op, and returns the values of its results."""


@dataclass(frozen=True)
class Strategy:
    """A way to compute an op."""

    op: str
    """The name of the op."""
    name: str
    refusal: Refusal
    cycles: Cycles
    expand: Expand | None = None
    """The ops of a plugin's strategy; None where a pass of the compiler carries it out."""
    defined: object = None
    """The function that the plugin registered."""


class StrategyName(NamedTuple):
    """The op of a strategy, and its name among those of the op."""

    op: str
    name: str

    def __str__(self) -> str:
        return f"{self.op}: {self.name}"


STRATEGIES: Registry[StrategyName, Strategy] = Registry("a strategy", changes_models=True)
"""The strategies that plugins have registered."""


def strategies_of_plugins(op: str) -> list[Strategy]:
    """The strategies that plugins have registered for an op."""
    return [strategy for key, strategy in STRATEGIES.items() if key.op == op]
