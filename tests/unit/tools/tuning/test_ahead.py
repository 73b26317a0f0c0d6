"""Candidates that are compiled ahead: several at once, in the order of the batch, with the errors of each."""

from __future__ import annotations

from threading import Barrier
from types import SimpleNamespace
from typing import cast

import pytest

from stepwell.runtime.errors import StepwellError
from stepwell.tools.tuning import ahead
from stepwell.tools.tuning.candidate import Candidate
from stepwell.tools.tuning.processes import Built, Choice, Failed
from stepwell.tools.tuning.tasks import Task


class Builder:
    """A build process that compiles nothing; two candidates named `pair` wait for each other."""

    both = Barrier(2, timeout=30)

    def choose(self, task: Task, candidate: Candidate) -> Choice:
        if candidate.sketch == "illegal":
            raise StepwellError("bad-schedule", None, "no such loop")
        if candidate.sketch == "pair":
            self.both.wait()
        return Choice(candidate.sketch, (), ())

    def build(self, script: str) -> Built:
        if script == "crash":
            raise Failed("crash", "it died")
        return Built(script, script.encode(), script, "", 0, Candidate())

    def end_at(self, deadline: float) -> None: ...

    def close(self) -> None: ...


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_is_compiled_by_several_processes_and_read_in_order(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ahead, "BuildProcess", Builder)
    task = cast(Task, SimpleNamespace(threads=threads))
    made = ahead.Ahead(2)
    names = ["pair", "pair", "illegal", "crash", "last"]
    batch = made.prepared(task, [Candidate(sketch=name) for name in names])
    assert [batch[n].build(batch[n].choose().script).code for n in (0, 1, 4)] == [b"pair", b"pair", b"last"]
    with pytest.raises(StepwellError, match="no such loop"):
        batch[2].choose()
    assert batch[3].choose().script == "crash"
    with pytest.raises(Failed, match="it died"):
        batch[3].build("crash")
    made.close()
