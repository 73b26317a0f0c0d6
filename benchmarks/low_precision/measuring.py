"""Clock, rounds and threads of a measurement, and figures of ratios to other engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from benchmarks.deploy.figures import Figure, judged
from stepwell.runtime.rpc.interleaved import Runner, geometric_mean, interleave


@dataclass(frozen=True)
class Measuring:
    """The way engines are timed: in turns, each by the least median of some rounds."""

    clock: Callable[[], float]
    rounds: int
    threads: int
    layers: int | None
    """Of decoders; None for all that the model has."""
    folder: Path

    def least(self, runners: Mapping[str, Runner]) -> dict[str, float]:
        """The seconds of a call of each runner."""
        found = interleave(runners, self.rounds, self.clock)
        return {name: min(latency.rounds) for name, latency in found.items()}


def is_installed(package: str) -> bool:
    """Whether a package can be imported; without importing it."""
    return find_spec(package) is not None


def ratios(what: str, found: Mapping[str, float], bound: float, of: str) -> Figure:
    """A figure of a peer's times over ours by case, none of which may be less than a bound."""
    each = " ".join(f"{name} {ratio:.2f}" for name, ratio in found.items())
    return judged(what, each, f"each >= {bound} of {of}", min(found.values()) >= bound)


def means(what: str, found: Sequence[float], bound: float, least: float, of: str) -> Figure:
    """A figure of the geometric mean of a peer's times over ours, and of the least of them."""
    mean, lowest = geometric_mean(found), min(found)
    text, wanted = f"{mean:.2f}, least {lowest:.2f}", f"mean >= {bound}, each >= {least} of {of}"
    return judged(what, text, wanted, mean >= bound and lowest >= least)
