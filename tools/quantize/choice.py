"""The choice of layers: the worst stay in floats until a budget holds, the harmless ones come back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from stepwell.tools.quantize.metrics import Budget


class Measured(Protocol):
    """Whatever tells what layers cost: the simulation."""

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
    """The layers, the most harmful first: by what they lose alone, then by the noise that they make."""

    def harm(layer: str) -> tuple[float, float]:
        loss, ratio = simulation.alone(layer)
        return -loss, ratio

    return sorted(simulation.layers, key=harm)


def kept_in_floats(simulation: Measured, budget: Budget | None) -> list[str]:
    """
    The layers to keep in floats, the most harmful first, so that a budget holds in the simulation.

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
    """The least number for which something holds that holds for all above it, and for the highest."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
