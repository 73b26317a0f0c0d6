"""The tuner: tasks take turns, candidates are built, checked and timed, and every trial becomes a record."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic

import numpy as np

from stepwell import __version__
from stepwell.dialects.sched_attributes import is_script
from stepwell.lowering.kernels.fingerprint import compiler_fingerprint
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.machine_name import machine_name, target_digest
from stepwell.tools.records.database import Content, Database, live_trials
from stepwell.tools.records.record import LEAST_GAIN, Trial
from stepwell.tools.tuning.ahead import Prepared
from stepwell.tools.tuning.candidate import Candidate, Tried, candidate_of
from stepwell.tools.tuning.clock import OutOfTime
from stepwell.tools.tuning.cost_model import (
    LEAST_CORRELATION,
    LEAST_RECORDS,
    CostModel,
    held_out_correlation,
    new_model,
)
from stepwell.tools.tuning.features import features_of
from stepwell.tools.tuning.fleet import LocalRunner, attempt
from stepwell.tools.tuning.fleets.interface import Batch, Fleet
from stepwell.tools.tuning.measuring import Measured, Measurement
from stepwell.tools.tuning.processes import Built, Choice, Failed
from stepwell.tools.tuning.search import BATCH, Proposer
from stepwell.tools.tuning.space import Space
from stepwell.tools.tuning.tasks import Task

NOT_IN_MODEL, NOT_AGAIN = "no gain in the model", "no gain in a second process"
REFUTED = (NOT_IN_MODEL, NOT_AGAIN)
"""The reasons why a trial that was faster is not used."""
PATIENCE = 32
"""The trials without a gain of 1 % after which a task ends."""
_BETTER = 1.01
NEAR_LIMIT, BEYOND_LIMIT = 0.95, 1.1
"""Shares of the machine's limit: a task ends at the first; a time beyond the second shows a wrong limit."""
_PRODUCT_INTENSITY = 8
"""Kernels with more operations per byte than this count as products and convolutions."""
_PRODUCT_ROOM, _OTHER_ROOM = 0.03, 0.2
"""
The share of a kernel's time that a search is expected to save if the limit is not known: searches by hand
gained 1.00 to 1.03 for products and convolutions, and 1.1 to 1.5 for transposes, row-wise ops and functions.
"""


@dataclass
class TaskState:
    """The state of a task: its space, the tried candidates, and the best so far."""

    task: Task
    space: Space
    base: Built
    tried: list[Tried] = field(default_factory=list[Tried])
    seen: set[object] = field(default_factory=set[object])
    scripts: set[str] = field(default_factory=set[str])
    codes: set[str] = field(default_factory=set[str])
    best: Trial | None = None
    """The fastest trial with correct results, confirmed or not."""
    since_gain: int = 0
    ended: str = ""
    """The reason why the task has ended; empty before."""
    correlation: float | None = None
    gains: list[float] = field(default_factory=list[float])
    """The best ratio after each batch."""
    share: float = 0.0
    """The share of the machine's limit that the chooser's kernel reaches; 0 if it is not known."""

    @property
    def room(self) -> float:
        """The share of the time of the chooser's kernel that a search can save, as an estimate."""
        if 0 < self.share <= BEYOND_LIMIT:
            return max(1.0 - self.share, 1.0 - NEAR_LIMIT)
        is_product = self.task.flops > _PRODUCT_INTENSITY * self.task.bytes
        return _PRODUCT_ROOM if is_product else _OTHER_ROOM

    @property
    def ratio(self) -> float:
        """The best ratio so far, at least 1."""
        return max(1.0, self.best.ratio[0]) if self.best is not None and self.best.ratio else 1.0

    @property
    def low(self) -> float:
        """The lower bound of the best ratio so far, at least 1."""
        return max(1.0, self.best.low) if self.best is not None else 1.0

    @property
    def expected_drop(self) -> float:
        """
        An estimate of the seconds that the next batch saves in the model: by the last two batches, or by
        `room`.
        """
        unknown = self.room * 3 / (1 + len(self.gains)) ** 2
        if len(self.gains) < 2:
            return self.task.weight * unknown
        before = self.gains[-3] if len(self.gains) > 2 else 1.0
        return self.task.weight * max(self.gains[-1] / before - 1.0, unknown)


@dataclass
class Settings:
    """The bounds and the method of a search."""

    seed: int = 0
    search: str = "evolve"
    cost_model: str = "ridge"
    exact: bool = False
    trials: int | None = None
    seconds: float | None = None


class Tuner:
    """The search over the tasks of a model with one runner; records are appended as they are made."""

    def __init__(
        self,
        tasks: Sequence[Task],
        runner: LocalRunner,
        database: Database,
        content: Content,
        settings: Settings,
        report: Callable[[Tuner], None] = lambda tuner: None,
        fleet: Fleet | None = None,
    ):
        """Args: `content` is the database's content; `report` is called after each trial."""
        self.fleet = fleet
        self.tasks, self.runner, self.settings = tasks, runner, settings
        self.database = database
        self._content, self._report = content, report
        self.states: dict[str, TaskState] = {}
        self.skipped: dict[str, str] = {}
        """Maps tasks that cannot be measured to the reason."""
        self.counts: Counter[str] = Counter()
        """The number of trials of this run by status."""
        self.filtered: Counter[str] = Counter()
        """The number of candidates that were filtered out before a trial, by filter."""
        self.number = 1 + max((trial.number for trial in content.trials), default=-1)
        self.made = 0
        self.measuring = Measurement(runner, settings.exact)
        self._version = f"{__version__}+src.{compiler_fingerprint()[:8]}"
        self._deadline = float("inf") if settings.seconds is None else monotonic() + settings.seconds

    @property
    def is_over(self) -> bool:
        """Whether the time or the number of trials is used up."""
        spent = self.settings.trials is not None and self.made >= self.settings.trials
        return spent or monotonic() >= self._deadline

    def open(self, announce: Callable[[str], None] = lambda text: None) -> None:
        """
        Build and time the kernels with the choosers' schedules, and read their trials from the database.

        Args: `announce` is called before each with a message.
        """
        with suppress(OutOfTime):
            for number, task in enumerate(self.tasks, 1):
                if monotonic() >= self._deadline:
                    break
                announce(f"timing kernel {number} of {len(self.tasks)}: {task.name}")
                self._open(task)

    def search(self) -> None:
        """Search until the budget is used up or all tasks have ended."""
        with suppress(OutOfTime):
            while not self.is_over and (state := self._next()) is not None:
                self._batch(state)

    def _open(self, task: Task) -> None:
        """Build and time the chooser's kernel of a task, and read its trials from the database."""
        try:
            choice = self.runner.choose(task, Candidate())
            base = self.runner.build(choice.script)
            task.seconds = self.measuring.time_base(task, base)
        except (Failed, StepwellError) as error:
            self.skipped[task.digest] = str(error).partition("\n")[0]
            return
        state = TaskState(task, Space(choice.forms, choice.tiles), base)
        state.scripts.add(choice.script)
        state.codes.add(base.digest)
        state.seen.add(state.space.default.key)
        self.states[task.digest] = state
        known = self._content.tasks.get(task.digest)
        if known is None or known.cold != task.cold:
            self.database.append([task.record])
        trials = live_trials(self.known(task))
        for trial, candidate in zip(trials, self._candidates(task, trials), strict=True):
            self._take_up(state, trial, candidate)
        self._end(state)

    def _candidates(self, task: Task, trials: Sequence[Trial]) -> list[Candidate | None]:
        """The schedules of trials of earlier runs; None for a schedule that is not legal here."""
        scripts = [trial.script for trial in trials if is_script(trial.script)]
        try:
            read = dict(zip(scripts, self.runner.read(task, scripts), strict=True))
        except (Failed, StepwellError):
            read = {}
        return [
            read.get(trial.script)
            if is_script(trial.script)
            else attempt(partial(candidate_of, trial.script))
            for trial in trials
        ]

    def known(self, task: Task) -> list[Trial]:
        """The trials of a task on this machine, of earlier runs and of this one."""
        here = machine_name(), target_digest(task.target), task.threads
        return [
            trial
            for trial in self._content.trials
            if trial.task == task.digest and (trial.machine, trial.target, trial.threads) == here
        ]

    def append(self, trial: Trial) -> None:
        """Append a record to the database."""
        self.database.append([trial])
        self._content.add(trial)

    def _take_up(self, state: TaskState, trial: Trial, candidate: Candidate | None) -> None:
        """Add a trial of an earlier run, or of this one, to a task's state, with its schedules."""
        state.scripts.add(trial.script)
        if trial.code:
            state.codes.add(trial.code)
        if candidate is None:
            return
        state.seen.add(candidate.key)
        ratio = trial.ratio[0] if trial.ratio is not None else None
        state.tried.append(Tried(candidate, ratio))
        state.since_gain += 1
        if trial.status == "ok" and trial.why not in REFUTED and trial.low > state.low:
            if state.best is None or trial.low > _BETTER * state.low:
                state.since_gain = 0
            state.best = trial

    def _next(self) -> TaskState | None:
        """The task whose next batch is expected to save most; None when all have ended."""
        left = [state for state in self.states.values() if not state.ended]
        return max(left, key=lambda state: state.expected_drop, default=None)

    def _end(self, state: TaskState) -> None:
        """End a task if there is a reason, and record the reason."""
        state.share = state.share or self.measuring.share_of_limit(state.task)
        share = state.share * state.ratio
        if state.space.is_empty:
            state.ended = "nothing to decide"
        elif NEAR_LIMIT <= share <= BEYOND_LIMIT:
            state.ended = f"left alone: {share:.0%} of the limit"
        elif state.since_gain >= PATIENCE:
            state.ended = f"no gain in {PATIENCE} trials"

    def _batch(self, state: TaskState) -> None:
        """Propose and try some candidates of a task."""
        rng = np.random.default_rng([self.settings.seed, int(state.task.digest[:8], 16), len(state.tried)])
        proposer = Proposer(state.space, state.task.target, self.settings.search, self._model(state))
        candidates = proposer.propose(state.tried, BATCH, rng, state.seen)
        if not candidates:
            state.ended = "the space is searched"
            return
        if self.fleet is not None:
            self._try_elsewhere(state, candidates, self.fleet)
        else:
            for prepared in self.runner.prepared(state.task, candidates):
                if self.is_over:
                    return
                self._try(state, prepared)
        state.gains.append(state.ratio)
        self._end(state)

    def _model(self, state: TaskState) -> CostModel | None:
        """A cost model fitted to all measured trials; None if its predictions are useless."""
        if self.settings.search != "evolve" or self.settings.cost_model == "none":
            return None
        rows = [
            (features_of(each.space, tried.candidate, each.task.target), float(np.log(tried.ratio)))
            for each in self.states.values()
            for tried in each.tried
            if tried.ratio is not None
        ]
        if len(rows) < LEAST_RECORDS:
            return None
        features, ratios = [row[0] for row in rows], [row[1] for row in rows]
        state.correlation = held_out_correlation(self.settings.cost_model, features, ratios)
        if state.correlation < LEAST_CORRELATION:
            return None
        model = new_model(self.settings.cost_model)
        if model is not None:
            model.fit(features, ratios)
        return model

    def _try(self, state: TaskState, prepared: Prepared) -> None:
        """Choose, build, check and time a candidate, and append its record."""
        if (choice := self._chosen(state, prepared.choose)) is None:
            return
        found = self._measured(state, prepared, choice.script)
        self._note(state, self.trial_of(state.task, choice.script, found), choice.candidate)
        self.number += 1

    def _try_elsewhere(self, state: TaskState, candidates: Sequence[Candidate], fleet: Fleet) -> None:
        """Choose candidates, let the machines of a fleet try them, and append the records as they arrive."""
        choices: dict[int, Choice] = {}
        for candidate in candidates:
            if self.settings.trials is not None and self.made + len(choices) >= self.settings.trials:
                break
            choose = partial(self.runner.choose, state.task, candidate)
            if (choice := self._chosen(state, choose)) is not None:
                choices[self.number] = choice
                self.number += 1
        scripts = [(number, choice.script) for number, choice in choices.items()]
        for answer in fleet.tried(Batch(state.task, scripts, self.runner.faults, self.settings.exact)):
            found = answer.measured
            if found.code in state.codes:
                found = Measured("duplicate", "another schedule gave the same code", code=found.code)
            elif found.code:
                state.codes.add(found.code)
            trial = replace(self.trial_of(state.task, answer.script, found), number=answer.number)
            if answer.machine is not None and answer.target:
                trial = replace(trial, machine=answer.machine, target=answer.target)
            self._note(state, trial, choices[answer.number].candidate)

    def _chosen(self, state: TaskState, choose: Callable[[], Choice]) -> Choice | None:
        """A candidate with all its decisions; None if it is filtered out."""
        try:
            choice = choose()
        except StepwellError:
            self.filtered["illegal"] += 1
            return None
        except Failed as failed:
            self.filtered[failed.status] += 1
            return None
        if choice.script in state.scripts:
            self.filtered["equal schedule"] += 1
            return None
        state.scripts.add(choice.script)
        return choice

    def _note(self, state: TaskState, trial: Trial, candidate: Candidate) -> None:
        """Append the record of a trial."""
        self.made += 1
        self.counts[trial.status] += 1
        self.append(trial)
        self._take_up(state, trial, candidate)
        self._report(self)

    def _measured(self, state: TaskState, prepared: Prepared, script: str) -> Measured:
        """The verdict on a candidate, by its schedules."""
        try:
            built = prepared.build(script)
        except StepwellError as error:
            status = "illegal" if error.code in ("bad-schedule", "unsupported") else "build-error"
            return Measured(status, error.message[:300])
        except Failed as failed:
            return Measured("build-error", failed.why)
        if built.digest in state.codes:
            return Measured("duplicate", "another schedule gave the same code", code=built.digest)
        state.codes.add(built.digest)
        return self.measuring.measure(state.task, state.space, state.base, built, self.number)

    def trial_of(self, task: Task, script: str, found: Measured, *, confirmed: bool = False) -> Trial:
        """The record of a measurement."""
        return Trial(
            task.digest, target_digest(task.target), machine_name(), task.threads, script,
            found.status, found.why, found.ratio, found.us, found.base_us, found.rounds,
            confirmed, found.exact, self.settings.seed, self.number, found.code, self._version,
        )  # fmt: skip

    def winners(self) -> list[tuple[TaskState, Trial]]:
        """The tasks whose best trial gains, and that trial."""
        found = [(state, state.best) for state in self.states.values() if state.best is not None]
        return [(state, best) for state, best in found if best.low > LEAST_GAIN and not best.confirmed]

    @property
    def load_average(self) -> float:
        """The load of the machine, of the last minute."""
        try:
            return os.getloadavg()[0]
        except OSError:
            return 0.0
