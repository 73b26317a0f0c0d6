"""`stepwell.tune`: schedules of a model's kernels, searched for and recorded in a database."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Unpack

from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.compile import expect_runnable
from stepwell.tools.driver.devices.chosen import chosen_devices
from stepwell.tools.driver.options import CompileKeywords, CompileOptions, options_with
from stepwell.tools.records.database import Content, Database, live_trials
from stepwell.tools.records.record import Trial
from stepwell.tools.tuning.candidate import Candidate, candidate_of
from stepwell.tools.tuning.clock import Clock, OutOfTime
from stepwell.tools.tuning.cost_model import COST_MODELS, new_model
from stepwell.tools.tuning.fleet import Failed, LocalRunner, no_space
from stepwell.tools.tuning.fleets import Fleet, Security, fleet
from stepwell.tools.tuning.fleets.cluster import check_address
from stepwell.tools.tuning.graph_plan import search_plan
from stepwell.tools.tuning.in_model import WholeModel
from stepwell.tools.tuning.measuring import Measured
from stepwell.tools.tuning.optuna_search import load_optuna
from stepwell.tools.tuning.report import TaskReport, TuningReport
from stepwell.tools.tuning.search import SEARCHES
from stepwell.tools.tuning.space import Space
from stepwell.tools.tuning.tasks import Extracted, Task, extract_tasks
from stepwell.tools.tuning.tuner import NOT_AGAIN, NOT_IN_MODEL, Settings, TaskState, Tuner

if TYPE_CHECKING:
    from stepwell.tools.driver.options import Model

SUFFIX = ".tuning.jsonl"
_NOT_COMPARED = "the time ended before the model was compared: the same command does it"
_GRAPH_SHARE = 0.4
"""The part of the time in which choices for the whole model are compared."""


def tune(
    model: Model,
    *,
    db: str | Path | None = None,
    time: float | None = None,
    trials: int | None = None,
    kernels: Sequence[str] = (),
    threads: int = 1,
    seed: int = 0,
    search: str = "evolve",
    cost_model: str = "ridge",
    exact: bool = False,
    graph: bool = False,
    jobs: int = 1,
    runner: LocalRunner | None = None,
    cluster: str | Fleet | None = None,
    security: Security | None = None,
    report: Callable[[Tuner], None] | None = None,
    announce: Callable[[str], None] | None = None,
    options: CompileOptions | None = None,
    **keywords: Unpack[CompileKeywords],
) -> TuningReport:
    """
    Search faster schedules for the kernels of a model, and append what is found to a database.

    Args: `db` is the file (default: MODEL.onnx.tuning.jsonl beside the model); `time` the seconds in all,
    compiling the model and comparing it included (default: 600, unless `trials` bounds the candidates that
    are measured); `kernels` are parts of the names of nodes, whose kernels alone are tuned; `search` is one
    of `SEARCHES`, `cost_model` of `COST_MODELS`;
    `exact` admits only candidates with the bits of the untuned kernel; `graph` compares choices for the whole
    model first, such as Winograd convolutions, which change roundings; `jobs` processes compile candidates
    while one is measured, unless `runner` has its own; `cluster` are workers that try candidates: `local:N`,
    `tls://HOST:PORT` with `security`, `rpc://HOST:PORT`, or a `Fleet`; `report` is called after each trial,
    `announce` with what the run does before and after these; other keywords are options of the compilation.
    Returns: what was found; gains are used by `compile(model, tuning_db=db)`.
    Raises: StepwellError `bad-option`, `cannot-write`, `nothing-to-tune`, `timed-out`; as compiling.
    """
    options = options_with(options, keywords)
    seconds = _checked(time, trials, threads, seed, search, cost_model, jobs)
    if devices := chosen_devices(options):
        raise no_space(devices[0].runs_on)
    clock = Clock(seconds, announce or (lambda text: None))
    expect_runnable(options)
    _expect_cluster(cluster, security, jobs)
    database = Database(db if db is not None else _beside(model))
    database.check_writable()
    content = database.read()
    plans: list[str] = []
    if graph and not exact:
        end = float("inf") if seconds is None else _GRAPH_SHARE * seconds
        clock.announce("comparing choices for the whole model")
        planned = search_plan(model, options, threads, database, content, lambda: end - clock.seconds)
        options, plans = planned.options, planned.notes
    with clock.compiling():
        extracted = extract_tasks(model, replace(options, tuning_db=()), threads)
    tasks = _chosen(extracted.tasks, kernels)
    own = runner or LocalRunner(jobs=jobs)
    workers = fleet(cluster, security, own.clock) if isinstance(cluster, str) else cluster
    clock.begin_search()
    own.end_at(clock.end)
    run = _Run(extracted, options, own, database, content, clock, plans, workers)
    settings = Settings(seed, search, cost_model, exact, trials, clock.search_seconds)
    try:
        return run.run(tasks, settings, report, str(model) if isinstance(model, str | Path) else "the model")
    finally:
        run.close()
        if workers is not None and workers is not cluster:
            workers.close()
        if runner is None:
            own.close()


def _expect_cluster(cluster: object, security: Security | None, jobs: int) -> None:
    """Require a right address of workers, and no `jobs` beside workers. Raises: StepwellError."""
    if isinstance(cluster, str):
        check_address(cluster, security)
    if cluster is not None and jobs > 1:
        message = "workers of a cluster compile candidates themselves: name jobs or a cluster"
        raise StepwellError("bad-option", None, message)


def _checked(
    time: float | None, trials: int | None, threads: int, seed: int, search: str, cost_model: str, jobs: int
) -> float | None:
    """The seconds of a run. Raises: StepwellError `bad-option`."""
    if time is None:
        time = 600.0 if trials is None else None
    legal = [
        ("time", time is None or (isfinite(time) and time > 0), "a number of seconds above 0", time),
        ("trials", trials is None or trials > 0, "a number from 1 on", trials),
        ("threads", threads > 0, "a number from 1 on", threads),
        ("seed", seed >= 0, "a number from 0 on", seed),
        ("jobs", jobs > 0, "a number from 1 on", jobs),
        ("search", search in SEARCHES, f"one of {', '.join(SEARCHES)}", search),
        ("cost_model", cost_model in COST_MODELS, f"one of {', '.join(COST_MODELS)}", cost_model),
    ]
    for name, is_legal, expected, value in legal:
        if not is_legal:
            raise StepwellError("bad-option", None, f"{name} must be {expected}, found {value!r}")
    new_model(cost_model)
    if search == "optuna":
        load_optuna()
    return time


def _beside(model: object) -> Path:
    """The default database of a model. Raises: StepwellError `bad-option` for one that is no file."""
    if not isinstance(model, str | Path):
        raise StepwellError("bad-option", None, "this model is no file", help="name a database: db=FILE")
    return Path(f"{model}{SUFFIX}")


def _chosen(tasks: Sequence[Task], kernels: Sequence[str]) -> list[Task]:
    """The tasks with a node of some name, or with a digest. Raises: StepwellError `nothing-to-tune`."""
    if not tasks:
        raise StepwellError(
            "nothing-to-tune", None, "there is nothing to tune: the model has no kernels that run alone"
        )
    chosen = [
        task
        for task in tasks
        if not kernels
        or any(name in node or task.digest.startswith(name) for name in kernels for node in task.nodes)
    ]
    if not chosen:
        names = ", ".join(dict.fromkeys(node for task in tasks for node in task.nodes))
        message = f"no kernel computes a node named {', '.join(kernels)}"
        raise StepwellError("nothing-to-tune", None, message, note=f"the nodes are {names[:400]}")
    return chosen


class Planned(NamedTuple):
    """A kernel that would be tuned."""

    task: str
    name: str
    calls: int
    near: int
    """The number of candidates one decision away from the chooser's."""


def planned(model: Model, kernels: Sequence[str], threads: int, options: CompileOptions) -> list[Planned]:
    """The kernels that would be tuned, without measuring any. Raises: as `tune`."""
    if devices := chosen_devices(options):
        raise no_space(devices[0].runs_on)
    runner = LocalRunner()
    rows: list[Planned] = []
    try:
        for task in _chosen(extract_tasks(model, options, threads).tasks, kernels):
            choice = runner.choose(task, Candidate())
            space = Space(choice.forms, choice.tiles)
            rows.append(
                Planned(task.digest, task.name, task.calls, len(list(space.neighbours(space.default))))
            )
    finally:
        runner.close()
    return rows


class _Run:
    """A tuning run: the search, the confirmation of gains, and the comparison of whole models."""

    def __init__(
        self,
        extracted: Extracted,
        options: CompileOptions,
        runner: LocalRunner,
        database: Database,
        content: Content,
        clock: Clock,
        notes: Sequence[str] = (),
        cluster: Fleet | None = None,
    ):
        self._extracted, self._options, self._runner = extracted, options, runner
        self._database, self._content, self._clock = database, content, clock
        self._model: WholeModel | None = None
        self._cluster = cluster
        self._notes: list[str] = [*notes]

    def close(self) -> None:
        """Remove temporary files."""
        if self._model is not None:
            self._model.close()

    def run(
        self, tasks: Sequence[Task], settings: Settings, report: Callable[[Tuner], None] | None, name: str
    ) -> TuningReport:
        """Search, confirm, and compare."""
        tuner = Tuner(
            tasks, self._runner, self._database, self._content, settings,
            report or (lambda tuner: None), self._cluster,
        )  # fmt: skip
        tuner.open(self._clock.announce)
        gain = self._agreed(tuner) if tuner.winners() else None  # of an earlier run, which was ended
        tuner.search()
        if gain is None or tuner.winners():
            gain = self._agreed(tuner) or gain
        return self._report(tuner, gain, name, settings)

    def _agreed(self, tuner: Tuner) -> tuple[float, float, float] | None:
        """Confirm the winners in a second process and in the model. Returns: the ratio of the model."""
        winners = self._confirmed(tuner)
        known = [
            (state, trial)
            for state in tuner.states.values()
            for trial in live_trials(tuner.known(state.task))
            if trial.is_gain and trial.task not in {w.task for _, w in winners}
        ]
        return self._in_model(tuner, winners, known)

    def _confirmed(self, tuner: Tuner) -> list[tuple[TaskState, Trial]]:
        """The winners that win again in a new process."""
        found: list[tuple[TaskState, Trial]] = []
        for state, trial in tuner.winners():
            self._clock.announce(f"confirming {state.task.name} in a new process")
            try:
                again = self._again(tuner, state, trial)
            except OutOfTime:
                self._notes.append("the time ended before all gains were confirmed: the same command does it")
                break
            if again.status == "ok" and again.ratio is not None and trial.ratio is not None:
                ratio = min(again.ratio, trial.ratio, key=lambda ratio: ratio[1])
                found.append((state, replace(trial, ratio=ratio, why="")))
            else:
                ratio = again.ratio or trial.ratio
                tuner.append(replace(trial, status="slower", why=NOT_AGAIN, ratio=ratio))
                state.best = None
        return found

    def _again(self, tuner: Tuner, state: TaskState, trial: Trial) -> Measured:
        """The second measurement of a trial."""
        try:
            choice = self._runner.choose(state.task, candidate_of(trial.script))
            built = self._runner.build(choice.script)
            return tuner.measuring.again(state.task, state.space, state.base, built)
        except Failed as failed:
            return Measured("crash", failed.why)
        except StepwellError as error:
            return Measured("illegal", error.message)

    def _in_model(
        self,
        tuner: Tuner,
        winners: Sequence[tuple[TaskState, Trial]],
        known: Sequence[tuple[TaskState, Trial]],
    ) -> tuple[float, float, float] | None:
        """Compare the model with and without the winners, and record those that stay. Returns: the ratio."""
        trials = [trial for _, trial in (*known, *winners)]
        if not trials:
            return None
        if self._runner.clock == "model":
            for state, trial in winners:
                state.best = replace(trial, confirmed=True)
                tuner.append(state.best)
            return None
        if winners and self._clock.is_spent:
            self._notes.append(_NOT_COMPARED)
            return None
        self._clock.announce("comparing the model with and without the gains")
        try:
            if self._model is None:
                threads = self._extracted.tasks[0].threads
                self._model = WholeModel(
                    self._extracted.program, self._options, threads, lambda: self._clock.left
                )
            verdict = self._model.verdict(trials)
            kept = list(winners) if verdict.agrees else []
            if verdict.agrees is False and winners:
                kept = [pair for pair in winners if self._model.verdict([pair[1]]).agrees]
                left = [trial for _, trial in (*known, *kept)]
                verdict = self._model.verdict(left) if left else None
        except StepwellError as error:
            why = f"the model was not compared, so that nothing is confirmed: {error.message}"
            self._notes.append(_NOT_COMPARED if self._clock.is_spent else why)
            return None
        if verdict is not None and verdict.agrees is None:
            self._notes.append("the machine was too noisy to compare the model: the same command tries again")
            return None
        for state, trial in winners:
            stays = any(trial is each for _, each in kept)
            tuner.append(replace(trial, confirmed=stays, why="" if stays else NOT_IN_MODEL))
            state.best = replace(trial, confirmed=True) if stays else None
        return verdict.ratio if verdict is not None else None

    def _report(
        self, tuner: Tuner, gain: tuple[float, float, float] | None, name: str, settings: Settings
    ) -> TuningReport:
        total = sum(state.task.weight for state in tuner.states.values()) or 1.0
        records = [trial for state in tuner.states.values() for trial in tuner.known(state.task)]
        if tuner.counts["noisy"]:
            load = f"the load average of this machine is {tuner.load_average:.1f}"
            self._notes.append(f"{tuner.counts['noisy']} trials were too noisy to judge: {load}")
        return TuningReport(
            name,
            str(self._database.path),
            [_task_report(state, tuner, total) for state in tuner.states.values()],
            gain,
            records,
            dict(tuner.counts),
            dict(tuner.filtered),
            dict(tuner.skipped),
            self._clock.seconds,
            {d: s.correlation for d, s in tuner.states.items() if s.correlation is not None},
            self._notes,
            self._extracted.tasks[0].threads,
        )


def _task_report(state: TaskState, tuner: Tuner, total: float) -> TaskReport:
    """The row of a task."""
    task = state.task
    gains = [trial for trial in live_trials(tuner.known(task)) if trial.is_gain]
    gain = max((trial.ratio[0] for trial in gains if trial.ratio is not None), default=1.0)
    base_us = 1e6 * task.seconds
    trials = len(live_trials(tuner.known(task)))
    unfinished = "searched in part" if trials else "not reached: give more --time"
    status = "confirmed" if gains else state.ended or unfinished
    space = sum(1 for _ in state.space.neighbours(state.space.default))
    return TaskReport(
        task.digest, task.name, task.weight / total, base_us, base_us / gain, gain, trials, status, space
    )
