"""
Single kernels on two threads against one: `python -m benchmarks.threads`.

The time is that of the heaviest kernel of a model, by its own clock, so that neither the call nor conversions
of layouts count; both models run in turn, each for some milliseconds. A kernel is compute-bound when it
reaches 30 % of the FMA peak on one thread; others should gain as much as copies of that size. The last column
is the use of the machine by other processes meanwhile: only figures with 0 there are reliable.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import cpu_count
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.cases.kernels import Case
from benchmarks.kernels import GROUPS
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.timing import work_of
from stepwell.tools.driver.compile import compile
from stepwell.tools.measure.calibrate import machine_limits

_CASES: Mapping[str, Sequence[str]] = {
    "matmul": ("128x768x768", "196x1024x256", "16x768x768", "784x128x1152", "12 x 128x128x64 ABᵀ"),
    "conv": (
        "3x3 64->64 @56x56",
        "3x3 256->256 @14x14",
        "1x1 64->256 @56x56",
        "1x1 2048->512 @7x7",
        "3x3 192->192 @56x56, groups 192",
        "3x3 128->128 @56x56, groups 32",
    ),
    "rows": ("softmax 512x1024", "LayerNormalization 2048x1024", "maxpool 3x3/2 1x64x112x112"),
    "elementwise": ("Relu 4096x1024", "Add 4096x1024 to 4096x1024", "Gelu 192x256"),
    "movement": ("transpose [1, 0] of 4096x1024", "concat axis 1 of 2 1x64x56x56"),
}
_WINOGRAD = ("3x3 64->64 @56x56", "3x3 256->256 @14x14")
Seconds: TypeAlias = npt.NDArray[np.float64]
_COMPUTE_BOUND = 0.3
_WANTED = ((200e-6, 1.8), (100e-6, 1.6))
"""The wanted speed-ups of compute-bound kernels: (seconds on one thread from which it holds, speed-up)."""
_OF_A_COPY = 0.9
_SETTLE_SECONDS = 0.03
"""
Seconds of calls before the measured ones, after which a sleeping worker runs again, even on a busy machine.
"""
_CALLS = 5


@dataclass(frozen=True)
class Scaling:
    """The measurement of a kernel on one thread and on two."""

    name: str
    seconds: tuple[float, float]
    flops: float
    bytes: float
    others: float
    """The use of the machine by other processes, in processors."""

    @property
    def speed_up(self) -> float:
        """Time on one thread over time on two."""
        return self.seconds[0] / self.seconds[1]

    @property
    def of_the_peak(self) -> float:
        """The share of the FMA peak of one thread."""
        return self.flops / self.seconds[0] / machine_limits().flops(1)

    def wanted(self) -> float | None:
        """The least speed-up; None for kernels that are too short for one."""
        if self.of_the_peak >= _COMPUTE_BOUND:
            return next((least for seconds, least in _WANTED if self.seconds[0] >= seconds), None)
        limits = machine_limits()
        if self.seconds[0] < _WANTED[-1][0]:
            return None
        return _OF_A_COPY * limits.bandwidth(2, self.bytes) / limits.bandwidth(1, self.bytes)

    def row(self) -> str:
        """A line of the table."""
        one, two = (f"{1e6 * seconds:.0f}" for seconds in self.seconds)
        wanted = self.wanted()
        verdict = "-" if wanted is None else f"{wanted:.2f}{'' if self.speed_up >= wanted else ' (missed)'}"
        cells = [self.name, one, f"{self.of_the_peak:.0%}", two, f"{self.speed_up:.2f}", verdict]
        return f"| {' | '.join([*cells, f'{self.others:.2f}'])} |"


def scaling(case: Case, rounds: int, winograd: Literal["fast", "off"] = "off") -> Scaling:
    """Run a kernel on one thread and on two, in turn."""
    feeds = case.feeds()
    models = [compile(case.model(), threads=n, winograd=winograd, profile=True) for n in (1, 2)]
    others = _Others()
    times: list[list[Seconds]] = [[_kernel_times(model, feeds) for model in models] for _ in range(rounds)]
    taken = others.processors()
    medians = np.median(np.array(times), axis=0)
    heaviest = int(medians[0].argmax())
    one, two = medians[:, heaviest]
    flops, moved = work_of(models[0].image.main.timed, {})
    name = case.name if winograd == "off" else f"{case.name}, Winograd"
    return Scaling(name, (float(one), float(two)), float(flops[heaviest]), float(moved[heaviest]), taken)


def _kernel_times(model: CompiledModel, feeds: Mapping[str, Array]) -> Seconds:
    """The median time of each kernel over some calls, once the threads are awake."""
    assert model.kernel_times is not None
    start = perf_counter()
    while perf_counter() - start < _SETTLE_SECONDS:
        model.run(feeds)
    times: list[Seconds] = []
    for _ in range(_CALLS):
        model.run(feeds)
        times.append(model.kernel_times.seconds())
    return np.median(times, axis=0)


class _Others:
    """The use of the machine by other processes, from the creation of this object on."""

    def __init__(self) -> None:
        self._start = self._now()

    def processors(self) -> float:
        """The average number of processors that other processes used."""
        elapsed, busy, own = (now - then for now, then in zip(self._now(), self._start, strict=True))
        return max(0.0, busy - own) / elapsed

    @staticmethod
    def _now() -> tuple[float, float, float]:
        """Seconds of the clock, of all busy processors, and of this process."""
        idle = float(Path("/proc/uptime").read_text().split()[1])
        now = perf_counter()
        return now, (cpu_count() or 1) * now - idle, process_time()


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print a table in Markdown; returns the exit status."""
    parser = ArgumentParser(prog="benchmarks.threads", description=__doc__)
    parser.add_argument("--match", default="", help="only kernels whose name contains this")
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args(argv)
    limits = machine_limits()
    copies = ", ".join(
        f"{name} {figures[2] / figures[1]:.2f}" if 2 in figures else f"{name} -"
        for name, figures in (("memory", limits.memory_gbps), ("the cache", limits.cache_gbps))
    )
    others = _Others()
    sleep(_SETTLE_SECONDS)
    print(f"two threads against one, copies in {copies}; others take {others.processors():.2f} processors\n")
    print("| kernel | 1 thread, µs | of peak | 2 threads, µs | speed-up | wanted | others |")
    print("|---|---|---|---|---|---|---|")
    for group, names in _CASES.items():
        for case in GROUPS[group]:
            if case.name in names and args.match in case.name:
                print(scaling(case, args.rounds).row(), flush=True)
                if case.name in _WINOGRAD:
                    print(scaling(case, args.rounds, "fast").row(), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
