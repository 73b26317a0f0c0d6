"""The choice of layers: the worst stay in floats until a budget holds, the harmless ones come back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from stepwell.tools.quantize.metrics import Budget


class Measured(Protocol):
    """The costs of layers, such as the simulation measures."""

    @property
    def layers(self) -> Sequence[str]:
        """All layers."""
        ...

    def value(self, quantized: Collection[str]) -> float:
        """The measure with some layers quantized."""
        ...

    def alone(self, layer: str) -> tuple[float, float]:
        """The loss of a layer alone, and the ratio of its outputs in dB."""
        ...


def ranking(simulation: Measured) -> list[str]:
    """The layers, the most harmful first: by the loss of each alone, then by the noise of outputs."""

    def harm(layer: str) -> tuple[float, float]:
        loss, ratio = simulation.alone(layer)
        return -loss, ratio

    return sorted(simulation.layers, key=harm)


def kept_in_floats(simulation: Measured, budget: Budget | None) -> list[str]:
    """
    The layers to leave in floats, the most harmful first, for a budget in the simulation.

    The worst k are switched off, with the least k by bisection; then each comes back, the least harmful
    first, if the budget still holds.
    """
    everything = set(simulation.layers)
    if budget is None or budget.holds(simulation.value(everything)):
        return []
    ranked = ranking(simulation)

    def holds(off: Collection[str]) -> bool:
        return budget.holds(simulation.value(everything.difference(off)))

    off = ranked[: _least(1, len(ranked), lambda count: holds(ranked[:count]))]
    for layer in reversed(ranked[: len(off)]):
        without = [each for each in off if each != layer]
        if holds(without):
            off = without
    return off


def _least(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The least number that a condition accepts, with all above it; the highest is accepted."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
