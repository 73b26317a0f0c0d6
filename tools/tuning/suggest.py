"""Suggestions for the choosers: decisions that win in most tasks of a family, with the counterexamples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.dialects.sched import Schedule
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.rpc.interleaved import geometric_mean
from stepwell.tools.records.database import Content
from stepwell.tools.tuning.candidate import Candidate, TiledOp, candidate_of, register_level
from stepwell.tools.tuning.fleet import Choice, Failed, LocalRunner
from stepwell.tools.tuning.recheck import task_of_record, usable_trials

LEAST_TASKS = 5
LEAST_SHARE = 0.8


@dataclass(frozen=True)
class Decision:
    """A difference of the best schedule of a task from the chooser's."""

    family: str
    what: str
    name: str
    ratio: float


@dataclass(frozen=True)
class Suggestion:
    """A decision that wins in a family of tasks."""

    family: str
    what: str
    wins: int
    tasks: int
    ratio: float
    """The geometric mean of the wins."""
    others: Sequence[str]
    """The tasks of the family in which something else wins."""

    @property
    def is_rule(self) -> bool:
        """Whether the decision wins often enough to become a rule of the chooser."""
        return self.tasks >= LEAST_TASKS and self.wins >= LEAST_SHARE * self.tasks

    def __str__(self) -> str:
        text = f"{self.family}: {self.what}: {self.wins} of {self.tasks}, {self.ratio:.2f}x"
        return text + (f"; not {', '.join(self.others[:3])}" if self.others else "")


def family_of(op: TiledOp) -> str:
    """The family of an op by its loops and operands: product, rows, transpose, elementwise."""
    reads = [access for access in op.accesses if not access.is_result]
    if not all(op.parallel):
        return "product" if len(reads) > 1 else "rows"
    lanes = op.chosen.vectorize if op.chosen is not None else None
    if lanes is not None and any(access.strides[lanes] > 1 for access in reads):
        return "transpose"
    return "elementwise"


def decisions_between(op: TiledOp, chosen: Schedule, best: Schedule) -> list[str]:
    """The differences of a schedule from the chooser's, in words that fit every op of the family."""
    if chosen.form or best.form:
        return [f"form {best.form}"] if chosen.form != best.form else ["other sizes of the form"]
    found = ["blocks of the sum outside"] if len(best.levels()) > len(chosen.levels()) else []
    chosen, best = register_level(chosen), register_level(best)
    if [d for d in chosen.loops() if d in best.loops()] != [d for d in best.loops() if d in chosen.loops()]:
        found.append("another order of loops")
    for loop in range(op.rank):
        before, after = (s.tile[loop] or op.extents[loop] or 1 << 31 for s in (chosen, best))
        if before == after:
            continue
        kind = "lanes" if loop == chosen.vectorize else "results" if op.parallel[loop] else "sums"
        found.append(f"{'more' if after > before else 'fewer'} {kind} a tile")
    return list(dict.fromkeys(found))


def suggestions(content: Content, runner: LocalRunner) -> list[Suggestion]:
    """Decisions of the records of this machine, the most frequent first."""
    decisions: list[Decision] = []
    sizes: dict[str, set[str]] = {}
    for trial in usable_trials(content):
        record = content.tasks.get(trial.task)
        task = None if record is None else task_of_record(record, trial.threads)
        if task is None or trial.ratio is None:
            continue
        try:
            choice = runner.choose(task, Candidate())
            best = runner.choose(task, candidate_of(trial.script)).candidate
        except (Failed, StepwellError):
            continue
        for family, what in _differences(choice, best):
            sizes.setdefault(family, set()).add(task.name)
            decisions.append(Decision(family, what, task.name, trial.ratio[0]))
    return _counted(decisions, sizes)


def _differences(choice: Choice, best: Candidate) -> list[tuple[str, str]]:
    """The family and the description of each difference of a candidate from the chooser's."""
    found: list[tuple[str, str]] = []
    for op, schedule in zip(choice.tiles, best.tiles or (), strict=False):
        if op.chosen is not None and schedule is not None and schedule != op.chosen:
            found += [(family_of(op), words) for words in decisions_between(op, op.chosen, schedule)]
    for formed, schedule in zip(choice.forms, best.forms or (), strict=False):
        if schedule is not None and schedule != formed.chosen:
            same = schedule.form == formed.chosen.form
            what = "other sizes" if same else f"form {schedule.form} instead of {formed.chosen.form}"
            found.append((f"form {formed.chosen.form}", what))
    return found


def _counted(decisions: Sequence[Decision], sizes: dict[str, set[str]]) -> list[Suggestion]:
    groups: dict[tuple[str, str], dict[str, float]] = {}
    for each in decisions:
        groups.setdefault((each.family, each.what), {})[each.name] = each.ratio
    found = [
        Suggestion(
            family,
            what,
            len(wins),
            len(sizes[family]),
            geometric_mean(list(wins.values())),
            sorted(sizes[family] - wins.keys()),
        )
        for (family, what), wins in groups.items()
    ]
    return sorted(found, key=lambda each: (-each.wins / each.tasks, -each.wins, each.family, each.what))
