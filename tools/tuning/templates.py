"""Templates: functions from decisions to a formula with a schedule; tuning chooses the decisions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stepwell import __version__
from stepwell.passes.context import remark
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.machine_name import machine_name, target_digest
from stepwell.runtime.machine.target import host_target
from stepwell.runtime.machine.tile_shares import with_kept_shares
from stepwell.tools.api.formulas import build as build_formula
from stepwell.tools.api.formulas import lower
from stepwell.tools.api.schedules import Schedule
from stepwell.tools.driver.compilation import kernels_of
from stepwell.tools.records.database import Content, Database, best_of, live_trials
from stepwell.tools.records.record import LEAST_GAIN, Status, TaskRecord, Trial
from stepwell.tools.tuning.candidate import Candidate
from stepwell.tools.tuning.features import estimate_us
from stepwell.tools.tuning.fleet import Built, Failed, LocalRunner
from stepwell.tools.tuning.measuring import Measured, Measurement
from stepwell.tools.tuning.space import Space as KernelSpace
from stepwell.tools.tuning.tasks import Task, task_of_kernel
from stepwell.tools.tuning.template_space import Choice, ExcludedError, Space

if TYPE_CHECKING:
    from stepwell.frontend.te.tensors import Tensor
    from stepwell.runtime.model import CompiledModel

SEARCHES = ("genetic", "evolve", "random", "grid")
_RANDOM_SHARE = 0.3
_MOST_ATTEMPTS = 100
_DIGEST_BYTES = 16


@dataclass(frozen=True)
class Template:
    """A function of a `Space` and arguments, which returns inputs and a schedule."""

    name: str
    function: Callable[..., object]

    def __call__(self, space: Space, *arguments: object) -> tuple[list[Tensor], Schedule]:
        """The inputs and the schedule of a choice. Raises: StepwellError `bad-space`, of the steps."""
        made = self.function(space, *arguments)
        if not isinstance(made, tuple) or len(cast("tuple[object, ...]", made)) != 2:
            raise StepwellError("bad-space", None, f"template {self.name} returns inputs and a schedule")
        inputs, schedule = cast("tuple[Any, Any]", made)
        if not isinstance(schedule, Schedule):
            message = f"template {self.name} returns inputs and a schedule, found {type(schedule).__name__}"
            raise StepwellError("bad-space", None, message, help="te.create_schedule makes one")
        return list(inputs), schedule

    def space(self, *arguments: object) -> Space:
        """The decisions for some arguments."""
        return Space.of(lambda space: self(space, *arguments))


def template(name: str) -> Callable[[Callable[..., object]], Template]:
    """A decorator: makes a template of a function."""
    return lambda function: Template(name, function)


@dataclass
class TemplateReport:
    """The results of tuning a template."""

    digest: str
    counts: dict[str, int]
    best: Trial | None
    size: int
    """The number of choices of the space."""


def tune_template(
    made: Template,
    arguments: Sequence[object],
    *,
    db: str | Path,
    trials: int = 64,
    search: str = "genetic",
    seed: int = 0,
    runner: LocalRunner | None = None,
) -> TemplateReport:
    """
    Search the choices of a template, and append what is found to a database.

    Raises: StepwellError `bad-option`, `bad-space`, `cannot-write`; as the template.
    """
    if search not in SEARCHES or trials < 1:
        message = (
            f"a search is one of {', '.join(SEARCHES)} and trials are from 1 on, found {search!r}, {trials}"
        )
        raise StepwellError("bad-option", None, message)
    database = Database(db)
    database.check_writable()
    own = runner or LocalRunner()
    try:
        return _TemplateRun(made, arguments, database, own, seed).run(trials, search)
    finally:
        if runner is None:
            own.close()


def build_template(
    made: Template, arguments: Sequence[object], *, db: str | Path, **keywords: Any
) -> CompiledModel:
    """
    The compiled formula of a template with the best choice of a database; without one, by our choosers.

    Raises: StepwellError `no-file`; as the template.
    """
    best = best_of(_trials_here(Database(db).read(), _digest(made, arguments)))
    if best is not None and best.is_gain:
        try:
            inputs, schedule = made(Space(_choice_of(best.script)), *arguments)
            return build_formula(inputs, schedule, **keywords)
        except (ExcludedError, StepwellError) as error:
            remark(None, f"the choice of the database is not possible: {error}")
    else:
        remark(None, f"template {made.name} has no tuned choice for these arguments: the choosers decide")
    inputs, schedule = _first_possible(made, arguments)
    return build_formula(inputs, schedule.outputs, **keywords)


def _first_possible(made: Template, arguments: Sequence[object]) -> tuple[list[Tensor], Schedule]:
    """The formula by the first choice that nothing excludes. Raises: StepwellError `bad-space`."""
    space = made.space(*arguments)
    for index in range(len(space)):
        try:
            return made(Space(space[index]), *arguments)
        except (ExcludedError, StepwellError) as error:
            if isinstance(error, StepwellError) and error.code != "illegal-schedule":
                raise
    raise StepwellError("bad-space", None, f"no choice of template {made.name} is possible")


def _digest(made: Template, arguments: Sequence[object]) -> str:
    text = json.dumps(["template", made.name, [str(each) for each in arguments]])
    return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _trials_here(content: Content, digest: str) -> list[Trial]:
    target = target_digest(with_kept_shares(host_target()))
    return [t for t in live_trials(content.trials) if t.task == digest and t.target == target]


def _choice_of(script: str) -> Choice:
    """The choice that a record spells. Raises: StepwellError `bad-schedule`."""
    try:
        row: object = json.loads(script)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        raise StepwellError("bad-schedule", None, f"a choice is an object, found {script:.80}")
    return {str(k): v for k, v in cast("dict[object, object]", row).items() if isinstance(v, int)}


class _TemplateRun:
    """The search of a template's choices."""

    def __init__(
        self, made: Template, arguments: Sequence[object], database: Database, runner: LocalRunner, seed: int
    ):
        self._made, self._arguments, self._database, self._runner = made, arguments, database, runner
        self._seed, self._digest = seed, _digest(made, arguments)
        self._space = made.space(*arguments)
        self._measurement = Measurement(runner)
        self._ratios: dict[int, float] = {}
        """The ratio of each choice that was measured, by number; 0 for one that failed."""
        self._counts: dict[str, int] = {}

    def run(self, trials: int, search: str) -> TemplateReport:
        """Search, and confirm the best."""
        content = self._database.read()
        for trial in _trials_here(content, self._digest):
            self._ratios[self._space.index(_choice_of(trial.script))] = trial.ratio[0] if trial.ratio else 0.0
        base = self._opened()
        if self._digest not in content.tasks:
            arguments = ", ".join(str(each) for each in self._arguments)
            name = f"{self._made.name}({arguments})"[:200]
            self._database.append(
                [TaskRecord(self._digest, base.task.text, base.task.flops, base.task.bytes, name)]
            )
        best: tuple[Trial, _Base] | None = None
        for index in self._proposed(search, trials):
            trial, tried = self._try(base, index)
            self._database.append([trial])
            self._ratios[index] = trial.ratio[0] if trial.ratio is not None else 0.0
            self._counts[trial.status] = self._counts.get(trial.status, 0) + 1
            if trial.status == "ok" and tried is not None and (best is None or trial.low > best[0].low):
                best = trial, tried
        confirmed = None if best is None else self._confirmed(base, *best)
        return TemplateReport(self._digest, self._counts, confirmed, len(self._space))

    def _opened(self) -> _Base:
        """The formula as our choosers schedule it, built and timed."""
        inputs, schedule = _first_possible(self._made, self._arguments)
        base = self._built(_task(lower(inputs, schedule.outputs)))
        base.task.seconds = self._measurement.time_base(base.task, base.built)
        return base

    def _built(self, task: Task) -> _Base:
        choice = self._runner.choose(task, Candidate())
        built = self._runner.build(choice.script)
        space = KernelSpace(choice.forms, choice.tiles)
        return _Base(task, built, estimate_us(space, built.candidate, task.target))

    def _proposed(self, search: str, trials: int) -> Iterator[int]:
        """The numbers of choices to try: a function of what was measured and the seed."""
        for number in range(trials):
            rng = np.random.default_rng([self._seed, len(self._ratios), number])
            index = self._next(search, rng)
            if index is None:
                return
            yield index

    def _next(self, search: str, rng: np.random.Generator) -> int | None:
        size = len(self._space)
        if len(self._ratios) >= size:
            return None
        if search != "grid":
            best = sorted(self._ratios, key=lambda index: (-self._ratios[index], index))[:8]
            for _ in range(_MOST_ATTEMPTS):
                index = self._space.sample(rng)
                if search in ("genetic", "evolve") and best and rng.random() >= _RANDOM_SHARE:
                    near = list(self._space.neighbours(best[int(rng.integers(len(best)))]))
                    index = near[int(rng.integers(len(near)))] if near else index
                if index not in self._ratios:
                    return index
        return next(index for index in range(size) if index not in self._ratios)

    def _try(self, base: _Base, index: int) -> tuple[Trial, _Base | None]:
        """The record of a choice, with the code if any."""
        choice = self._space[index]
        try:
            inputs, schedule = self._made(Space(choice), *self._arguments)
            tried = self._built(_task(lower(inputs, schedule)))
        except ExcludedError:
            return self._trial(base, choice, Measured("illegal", "the template excludes it")), None
        except Failed as failed:
            return self._trial(base, choice, Measured("build-error", failed.why)), None
        except StepwellError as error:
            status: Status = (
                "illegal" if error.code in ("illegal-schedule", "bad-schedule") else "build-error"
            )
            return self._trial(base, choice, Measured(status, error.message[:300])), None
        if self._runner.clock == "model":
            ratio = base.estimate / tried.estimate
            found = Measured(
                "ok" if ratio > LEAST_GAIN else "slower",
                "",
                (ratio, ratio, ratio),
                tried.estimate,
                base.estimate,
            )
        else:
            empty = KernelSpace((), ())
            found = self._measurement.measure(base.task, empty, base.built, tried.built, len(self._ratios))
        return self._trial(base, choice, found), tried

    def _confirmed(self, base: _Base, trial: Trial, tried: _Base) -> Trial | None:
        """The record of the best choice, if it wins in a second process too."""
        if self._runner.clock != "model":
            again = self._measurement.again(base.task, KernelSpace((), ()), base.built, tried.built)
            if again.status != "ok":
                return None
        found = replace(trial, confirmed=True, why="")
        self._database.append([found])
        return found

    def _trial(self, base: _Base, choice: Mapping[str, int], found: Measured) -> Trial:
        return Trial(
            self._digest, target_digest(base.task.target), machine_name(), base.task.threads,
            json.dumps(choice), found.status, found.why, found.ratio, found.us, found.base_us, found.rounds,
            False, found.exact, self._seed, len(self._ratios), found.code, __version__,
        )  # fmt: skip


@dataclass
class _Base:
    """A kernel that was built."""

    task: Task
    built: Built
    estimate: float


def _task(module: Any) -> Task:
    """The task of a program of one kernel. Raises: StepwellError `bad-space`."""
    kernels = list(kernels_of(module.op))
    task = task_of_kernel(kernels[0], with_kept_shares(host_target()), 1) if len(kernels) == 1 else None
    if task is None:
        raise StepwellError("bad-space", None, f"a template makes one kernel, found {len(kernels)}")
    return task
