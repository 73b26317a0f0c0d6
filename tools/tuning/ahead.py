"""Candidates that several processes choose and compile, while others of a batch are measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import TypeAlias

from stepwell.runtime.errors import StepwellError
from stepwell.tools.tuning.candidate import Candidate
from stepwell.tools.tuning.clock import OutOfTime
from stepwell.tools.tuning.processes import BuildProcess, Built, Choice, Failed
from stepwell.tools.tuning.tasks import Task

_Made: TypeAlias = tuple[Choice, Built | Exception]


@dataclass(frozen=True)
class Prepared:
    """A candidate to choose and to build, or one for which both are under way."""

    choose: Callable[[], Choice]
    """Raises: StepwellError, Failed, OutOfTime."""
    build: Callable[[str], Built]
    """The code for the script of the choice. Raises: as `choose`."""


class Ahead:
    """
    Processes that choose and compile the candidates of a batch before these are asked for.

    The errors of a candidate are raised where it is asked for, so that a batch has the same records in the
    same order as with one process.
    """

    def __init__(self, jobs: int):
        self._builders = [BuildProcess() for _ in range(jobs)]
        self._free: SimpleQueue[BuildProcess] = SimpleQueue()
        for builder in self._builders:
            self._free.put(builder)
        self._threads = ThreadPoolExecutor(jobs)
        self._begun: list[Future[_Made]] = []

    def end_at(self, deadline: float) -> None:
        """Let no request go on after a time by `time.monotonic`."""
        for builder in self._builders:
            builder.end_at(deadline)

    def close(self) -> None:
        """End the processes; no thread starts another one."""
        self.end_at(0.0)
        self._threads.shutdown(wait=False, cancel_futures=True)
        for builder in self._builders:
            builder.close()

    def prepared(self, task: Task, candidates: Sequence[Candidate]) -> list[Prepared]:
        """The candidates of a batch, in order, all of which are under way."""
        for future in self._begun:  # of a batch that was ended
            future.cancel()
        self._begun = [self._threads.submit(self._made, task, candidate) for candidate in candidates]
        if task.threads > 1:
            wait(self._begun)  # kernels with threads are measured by the clock, on all cores
        return [Prepared(partial(_choice_of, each), partial(_code_of, each)) for each in self._begun]

    def _made(self, task: Task, candidate: Candidate) -> _Made:
        builder = self._free.get()
        try:
            choice = builder.choose(task, candidate)
            try:
                return choice, builder.build(choice.script)
            except (StepwellError, Failed, OutOfTime) as error:
                return choice, error
        finally:
            self._free.put(builder)


def _choice_of(future: Future[_Made]) -> Choice:
    return future.result()[0]


def _code_of(future: Future[_Made], script: str) -> Built:
    """The code of a candidate that was compiled. Raises: the error of its compilation."""
    built = future.result()[1]
    if isinstance(built, Exception):
        raise built
    assert built.script == script
    return built
