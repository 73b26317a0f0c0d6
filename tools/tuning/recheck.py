"""Records that are measured again: which of them still hold, after an upgrade or on a changed machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.func import FuncOp

from stepwell import __version__
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.machine_name import machine_name, target_digest
from stepwell.runtime.machine.target import TargetDescription, host_target
from stepwell.runtime.machine.tile_shares import with_kept_shares
from stepwell.tools.records.database import Content, Database, best_of, live_trials
from stepwell.tools.records.record import TaskRecord, Trial
from stepwell.tools.tuning.candidate import Candidate, candidate_of
from stepwell.tools.tuning.fleet import Failed, LocalRunner
from stepwell.tools.tuning.measuring import Measured, Measurement
from stepwell.tools.tuning.space import Space
from stepwell.tools.tuning.tasks import Task, task_of_kernel


@dataclass(frozen=True)
class Checked:
    """A record that was measured again."""

    before: Trial
    after: Trial
    name: str

    @property
    def holds(self) -> bool:
        """Whether it is still a gain."""
        return self.after.is_gain


def task_of_record(
    record: TaskRecord, threads: int = 1, target: TargetDescription | None = None
) -> Task | None:
    """
    The task of a record, for a target or this machine; None where its text is no kernel that runs alone.
    """
    ctx = StepwellContext()
    try:
        module = parse_module(ctx, record.text, "record")
    except StepwellError:
        return None
    kernels = [op for op in module.ops if isinstance(op, FuncOp)]
    if len(kernels) != 1:
        return None
    task = task_of_kernel(kernels[0], target or with_kept_shares(host_target()), threads)
    if task is not None:
        task.nodes = (record.nodes,) if record.nodes else ()
        task.cold = task.inputs_among(record.cold)
    return task


def usable_trials(content: Content) -> list[Trial]:
    """The records that compilations for this machine would use."""
    target = target_digest(host_target())
    here = machine_name(), target
    mine = [t for t in live_trials(content.trials) if (t.machine, t.target) == here and not t.is_choice]
    tasks = dict.fromkeys((t.task, t.threads) for t in mine)
    best = (best_of(t for t in mine if (t.task, t.threads) == key) for key in tasks)
    return [trial for trial in best if trial is not None]


def recheck(
    database: Database, runner: LocalRunner, report: Callable[[Checked], None] = lambda row: None
) -> list[Checked]:
    """
    Measure the records of this machine again, and append what is found: confirmed, or stale.

    Raises: StepwellError as reading and appending.
    """
    content = database.read()
    found: list[Checked] = []
    for trial in usable_trials(content):
        record = content.tasks.get(trial.task)
        measured = Measured("illegal", "the database does not have the kernel")
        if record is not None and (task := task_of_record(record, trial.threads)) is not None:
            measured = _measured_again(task, trial, runner)
        found.append(Checked(trial, _after(trial, measured), record.nodes if record is not None else ""))
        database.append([found[-1].after])
        report(found[-1])
    return found


def _after(trial: Trial, measured: Measured) -> Trial:
    """The record of a trial after it was measured again."""
    common = replace(trial, stepwell=__version__, ratio=measured.ratio, rounds=measured.rounds)
    if measured.status == "ok":
        return replace(common, us=measured.us, base_us=measured.base_us, confirmed=True)
    why = measured.why or "no gain any more"
    return replace(common, status="stale", why=f"{measured.status}: {why}", confirmed=False)


def _measured_again(task: Task, trial: Trial, runner: LocalRunner) -> Measured:
    measurement = Measurement(runner)
    try:
        choice = runner.choose(task, Candidate())
        base = runner.build(choice.script)
        task.seconds = measurement.time_base(task, base)
        space = Space(choice.forms, choice.tiles)
        built = runner.build(runner.choose(task, candidate_of(trial.script)).script)
        return measurement.measure(task, space, base, built, -1)
    except Failed as failed:
        return Measured("crash", failed.why)
    except StepwellError as error:
        return Measured("illegal", error.message)


def rows_of(checked: Sequence[Checked]) -> list[list[str]]:
    """The cells of a table of what was measured again."""
    return [
        [
            row.name[:40] or row.before.task[:8],
            f"{row.before.ratio[0]:.2f}" if row.before.ratio else "-",
            f"{row.after.ratio[0]:.2f}" if row.after.ratio else "-",
            "holds" if row.holds else row.after.why,
        ]
        for row in checked
    ]
