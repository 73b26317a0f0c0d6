"""The best known schedules of kernels, for a target and this machine, from databases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stepwell.tools.records.database import best_of, file_bytes, live_trials, parsed
from stepwell.tools.records.record import TaskRecord, Trial

_TRIAL = b'{"v":1,"kind":"trial","task":"'
_DIGEST_CHARS = 32
_CONFIRMED = b'"confirmed":true'


class Lookup:
    """The trials of some tasks in databases, of which earlier ones win."""

    def __init__(self, files: Sequence[Path], tasks: Sequence[str], *, transfer: bool = False):
        """
        Args: `transfer` reads all tasks, for `nearest`.
        Raises: StepwellError `no-file`, `cannot-access`, `too-large`.
        """
        self.tasks: dict[str, TaskRecord] = {}
        self.skipped = 0
        """The number of lines that are no records, or of another version."""
        self.foreign = 0
        """The number of gains for these tasks, but of other machines and targets."""
        self._trials: list[list[Trial]] = []
        wanted = {task.encode() for task in tasks}

        def is_wanted(line: bytes) -> bool:
            """Whether a line may be a trial of these tasks: most of a large file is of others."""
            if not line.startswith(_TRIAL):
                return not line.startswith(b'{"v":1,"kind":"task"')
            return line[len(_TRIAL) : len(_TRIAL) + _DIGEST_CHARS] in wanted

        for file in files:
            content = parsed(file, file_bytes(file), None if transfer else is_wanted)
            self.tasks |= content.tasks
            content.warn(file)
            self.skipped += len(content.bad) + content.unknown + content.torn
            self._trials.append(content.trials)

    def best(self, task: str, machine: str, target: str, version: str) -> Trial | None:
        """
        The trial to use for a task: of this machine, else of the same target.

        Args: `version` is Stepwell's version, before `+`: trials of other versions are not used.
        """
        for trials in self._trials:
            mine = [t for t in trials if t.task == task and t.stepwell.partition("+")[0] == version]
            mine = live_trials([t for t in mine if t.target == target])
            best = best_of([t for t in mine if t.machine == machine]) or best_of(mine)
            if best is not None:
                return best
            self.foreign += sum(t.is_gain and t.target != target for t in trials if t.task == task)
        return None
