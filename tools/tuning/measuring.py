"""Measurements of candidates against the chooser's kernel: right results first, then a race."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, cast

import numpy as np

from stepwell.passes.base import Numerics
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array
from stepwell.runtime.rpc.interleaved import geometric_mean, median_ratio
from stepwell.tools.check.function_inputs import inputs_of_function
from stepwell.tools.check.judgement import judged
from stepwell.tools.records.record import LEAST_GAIN, Status
from stepwell.tools.tuning.features import estimate_us
from stepwell.tools.tuning.fleet import Built, Failed, LocalRunner, unwritten
from stepwell.tools.tuning.space import Space
from stepwell.tools.tuning.statistics import NOISY_SPREAD, spread_of
from stepwell.tools.tuning.tasks import Task

if TYPE_CHECKING:
    from stepwell.tools.measure.calibrate import MachineLimits

RACE_ROUNDS = (3, 9, 21)
"""A candidate that may still gain goes on to the next number of rounds."""
_HOPELESS = 0.98
_ATTEMPTS = 3
_CONFIRMATIONS = 2
"""
The new processes in which a gain is confirmed. Beside busy processes one alone has found a gain of a copy of
the kernel, once in 100 copies: where buffers and code are in memory is other in each.
"""
_SEEDS = (0, 1)


@dataclass(frozen=True)
class Measured:
    """The verdict on a candidate, with its times."""

    status: Status
    why: str = ""
    ratio: tuple[float, float, float] | None = None
    us: float = 0.0
    base_us: float = 0.0
    rounds: int = 0
    exact: bool = False
    code: str = ""


class Measurement:
    """Checks and races of candidates on a runner."""

    def __init__(self, runner: LocalRunner, exact: bool = False):
        """Args: `exact` accepts only candidates with the very bits of the chooser's kernel."""
        self._runner, self._exact = runner, exact
        self._wanted: tuple[Task, list[list[list[Array]]], list[list[list[Array]]]] | None = None
        self._limits: MachineLimits | None = None

    def time_base(self, task: Task, base: Built) -> float:
        """The seconds of a call of the chooser's kernel, over the cases. Raises: Failed, StepwellError."""
        if self._runner.clock == "model":
            return 1e-6
        cases = self._runner.race(task, [base], RACE_ROUNDS[0])
        return geometric_mean([median(kernels[0]) for kernels in cases])

    def share_of_limit(self, task: Task) -> float:
        """The share of the machine's measured limit that the chooser's kernel reaches; 0 without a limit."""
        if not task.seconds or self._runner.clock == "model":
            return 0.0
        if self._limits is None:
            from stepwell.tools.measure.calibrate import kept_limits

            self._limits = kept_limits()
        if self._limits is None or len(task.cases) > 1:
            return 0.0
        least = max(
            task.flops / self._limits.flops(task.threads),
            task.bytes / self._limits.bandwidth(task.threads, task.bytes),
        )
        return least / task.seconds

    def measure(self, task: Task, space: Space, base: Built, built: Built, number: int) -> Measured:
        """The verdict on a candidate. Args: `number` is that of the trial."""
        try:
            refused, exact = self._check(task, base, built, number)
            if refused is not None:
                return replace(refused, code=built.digest)
            found = self._race(task, space, base, built)
        except Failed as failed:
            return Measured(cast(Status, failed.status), failed.why, code=built.digest)
        except StepwellError as error:
            status: Status = "crash" if error.code == "stray-write" else "wrong"
            return Measured(status, error.message, code=built.digest)
        return replace(found, exact=exact, code=built.digest)

    def _check(self, task: Task, base: Built, built: Built, number: int) -> tuple[Measured | None, bool]:
        """The reason to refuse a candidate's results, or None; and whether they have the base's bits."""
        exact = True
        for seed in _SEEDS:
            inputs = inputs_for(task, seed)
            wanted, of_base = self._results(task, base, seed, inputs)
            found = self._runner.check(task, built, number, inputs)
            for want, own, have in zip(wanted, of_base, found, strict=True):
                exact = exact and all(a.tobytes() == b.tobytes() for a, b in zip(own, have, strict=True))
                judgement = judged(want, have, Numerics.APPROXIMATE if _is_low(want) else Numerics.ROUNDING)
                if judgement.right:
                    continue
                if any(unwritten(a, b) for a, b in zip(have, want, strict=True)):
                    return Measured("unwritten", "elements of the result were not written"), False
                why = f"the result differs by {judgement.difference:.1e} of its range"
                return Measured("wrong", why), False
        if self._exact and not exact:
            return Measured("wrong", "other bits than the chooser's kernel, and --exact"), False
        return None, exact

    def _results(
        self, task: Task, base: Built, seed: int, inputs: Sequence[Sequence[Array]]
    ) -> tuple[list[list[Array]], list[list[Array]]]:
        """The right results, and those of the chooser's kernel, by case; computed once for a task."""
        if self._wanted is None or self._wanted[0] is not task:
            self._wanted = task, [], []
        _, wanted, of_base = self._wanted
        while len(wanted) <= seed:
            arrays = inputs_for(task, len(wanted))
            mine = self._runner.check(task, base, -1, arrays)
            meant = [task.expected(each, case) for each, case in zip(arrays, task.cases, strict=True)]
            of_base.append(mine)
            wanted.append([own if want is None else want for want, own in zip(meant, mine, strict=True)])
        return wanted[seed], of_base[seed]

    def _race(self, task: Task, space: Space, base: Built, built: Built) -> Measured:
        """Time a candidate against the base, for as many rounds as it may gain."""
        if self._runner.clock == "model":
            return _estimated(task, space, built)
        for attempt in range(_ATTEMPTS):
            found = self._raced(task, [base, built])
            if found.status != "noisy" or attempt == _ATTEMPTS - 1:
                return found
        raise AssertionError("the last attempt returns")

    def _raced(self, task: Task, pair: Sequence[Built]) -> Measured:
        """The outcome of a race of the base and a candidate."""
        seconds: list[list[list[float]]] = [[[], []] for _ in task.cases]
        ratio = (1.0, 1.0, 1.0)
        for rounds in RACE_ROUNDS:
            first = len(seconds[0][0])
            more = self._runner.race(task, pair, rounds - first, first)
            for mine, new in zip(seconds, more, strict=True):
                for times, added in zip(mine, new, strict=True):
                    times += added
            ratio = median_ratio([(mine[0], mine[1]) for mine in seconds])
            if ratio[2] < _HOPELESS or (rounds > RACE_ROUNDS[0] and ratio[2] < LEAST_GAIN):
                break
        return self._verdict(seconds, ratio)

    def _verdict(
        self, seconds: Sequence[Sequence[Sequence[float]]], ratio: tuple[float, float, float]
    ) -> Measured:
        base_us, us = (1e6 * geometric_mean([median(mine[n]) for mine in seconds]) for n in (0, 1))
        rounds = len(seconds[0][0])
        worst = min(median(mine[0]) / median(mine[1]) for mine in seconds)
        spread = max(spread_of(mine[0]) for mine in seconds)
        if spread > NOISY_SPREAD and ratio[1] <= 1.0 <= ratio[2]:
            return Measured(
                "noisy", f"the base varies by {spread:.0%} between rounds", ratio, us, base_us, rounds
            )
        if ratio[1] <= LEAST_GAIN:
            return Measured("slower", "", ratio, us, base_us, rounds)
        if worst < 1.0:
            return Measured("slower", f"{worst:.2f} for one of the sizes", ratio, us, base_us, rounds)
        return Measured("ok", "not confirmed yet", ratio, us, base_us, rounds)

    def again(self, task: Task, space: Space, base: Built, built: Built) -> Measured:
        """
        The outcome of full races in new processes: the first one without a gain, else that of the least gain.

        Raises: Failed, StepwellError.
        """
        if self._runner.clock == "model":
            return _estimated(task, space, built)
        outcomes: list[Measured] = []
        for _ in range(_CONFIRMATIONS):
            self._runner.restart()
            seconds = self._runner.race(task, [base, built], RACE_ROUNDS[-1])
            ratio = median_ratio([(mine[0], mine[1]) for mine in seconds])
            outcomes.append(outcome := self._verdict(seconds, ratio))
            if outcome.status != "ok":
                return outcome
        return min(outcomes, key=lambda outcome: outcome.ratio or ())


def inputs_for(task: Task, seed: int) -> list[list[Array]]:
    """The inputs of each case, made up from a seed; those of seed 0 are the case's own."""
    if seed == 0:
        return [list(case.inputs) for case in task.cases]
    made: list[list[Array]] = []
    for case in task.cases:
        arrays = inputs_of_function(task.kernel, case.symbols, seed)
        made.append([np.ascontiguousarray(array) for array in arrays[: len(case.inputs)]])
    return made


def _is_low(arrays: Sequence[Array]) -> bool:
    """Whether results are of 16 bits, which kernels may compute in another type."""
    return any(array.dtype.itemsize == 2 for array in arrays)


def _estimated(task: Task, space: Space, built: Built) -> Measured:
    """The outcome by the estimate, which is the same in each run."""
    base_us = estimate_us(space, space.default, task.target)
    us = estimate_us(space, built.candidate, task.target)
    ratio = base_us / us
    status: Status = "ok" if ratio > LEAST_GAIN else "slower"
    return Measured(status, "", (ratio, ratio, ratio), us, base_us, 1)
