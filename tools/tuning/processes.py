"""Child processes of tuning, each of which a candidate may end; and the one that compiles candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, cast

from stepwell.runtime.child import Child, ChildError
from stepwell.runtime.frames import Frame
from stepwell.runtime.machine.fork import can_fork
from stepwell.runtime.rpc.messages import expect_success
from stepwell.tools.tuning import building
from stepwell.tools.tuning.candidate import (
    Candidate,
    FormedOp,
    TiledOp,
    candidate_from,
    formed_op_from,
    tiled_op_from,
)
from stepwell.tools.tuning.clock import OutOfTime
from stepwell.tools.tuning.tasks import Task

START_SECONDS = 15.0
_BUILD_SECONDS = 20.0
"""The deadline of a build; the slowest of our own kernels takes 6 s where the machine is busy."""


class Failed(Exception):
    """A candidate that its process did not survive. Args: `status` is `crash` or `timeout`."""

    def __init__(self, status: str, why: str):
        self.status, self.why = status, why
        super().__init__(f"{status}: {why}")


@dataclass(frozen=True)
class Choice:
    """A candidate whose open decisions choosers took."""

    script: str
    forms: tuple[FormedOp, ...]
    tiles: tuple[TiledOp, ...]
    rewrite: str = ""
    """The script that changed the kernel first, if any."""

    @property
    def candidate(self) -> Candidate:
        """The candidate with these decisions."""
        forms, tiles = ([op.chosen for op in ops] for ops in (self.forms, self.tiles))
        return Candidate(tuple(forms) or None, tuple(tiles), rewrite=self.rewrite)


@dataclass(frozen=True)
class Built:
    """The code of a candidate."""

    script: str
    code: bytes
    digest: str
    scratch: str
    vectors: int
    candidate: Candidate
    """All decisions that the code carries out."""


class Process:
    """A child process, started again after its death."""

    def __init__(self, program: str, memory_bytes: int | None = None):
        self._program, self._memory_bytes = program, memory_bytes
        self._child: Child | None = None
        self.deadline = float("inf")
        """The end of the run by `time.monotonic`: no request goes on after it."""

    def ask(self, head: Mapping[str, object], body: bytes = b"", seconds: float = START_SECONDS) -> Frame:
        """
        The answer to a request.

        Raises: Failed where it dies or hangs; OutOfTime at the end of the run; StepwellError of the request.
        """
        if (left := self.deadline - monotonic()) <= 0:
            raise OutOfTime
        fresh = self._child is None
        if self._child is None:
            memory = self._memory_bytes
            # A fork has the imports of this process, and no limit of memory.
            fork = memory is None and can_fork()
            self._child = Child(self._program, memory_bytes=memory, forward_errors=False, fork=fork)
        limit = seconds + (START_SECONDS if fresh else 0)
        try:
            return expect_success(self._child.ask(head, body, seconds=min(limit, left)))
        except ChildError as error:
            self._child = None
            if error.is_late and left < limit:
                raise OutOfTime from None
            raise Failed("timeout" if error.is_late else "crash", error.reason) from None

    @property
    def is_alive(self) -> bool:
        """Whether the process runs, with all earlier requests."""
        return self._child is not None

    def close(self) -> None:
        """End the process."""
        if self._child is not None:
            self._child.kill()
            self._child = None


class BuildProcess:
    """A process that chooses and compiles candidates, one after the other."""

    def __init__(self) -> None:
        self._process = Process(building.PROGRAM)
        self._task: Task | None = None
        self._choice = Candidate()

    def end_at(self, deadline: float) -> None:
        """Let no request go on after a time by `time.monotonic`: it raises OutOfTime."""
        self._process.deadline = deadline

    def close(self) -> None:
        """End the process."""
        self._process.close()

    def _open(self, task: Task) -> None:
        """Give the process a task, unless it has it."""
        if self._task is not task or not self._process.is_alive:
            head = {"op": "open", "target": task.target.to_json()}
            self._process.ask(head, task.module_text.encode(), seconds=_BUILD_SECONDS)
            self._task = task

    def choose(self, task: Task, candidate: Candidate) -> Choice:
        """The candidate with all decisions taken. Raises: StepwellError, Failed, OutOfTime."""
        self._open(task)
        head = self._process.ask({"op": "choose", **candidate.to_json()}, seconds=_BUILD_SECONDS).head
        rows = cast("dict[str, list[Mapping[str, Any]]]", head)
        forms, tiles = map(formed_op_from, rows["forms"]), map(tiled_op_from, rows["tiles"])
        choice = Choice(str(head["script"]), tuple(forms), tuple(tiles), candidate.rewrite)
        self._choice = choice.candidate
        return choice

    def read(self, task: Task, scripts: Sequence[str]) -> list[Candidate | None]:
        """The schedules of scripts of a database; None for one that is not legal. Raises: as `choose`."""
        if not scripts:
            return []
        self._open(task)
        seconds = _BUILD_SECONDS + len(scripts)
        rows = self._process.ask({"op": "read", "scripts": list(scripts)}, seconds=seconds).head["candidates"]
        return [None if row is None else candidate_from(row) for row in cast("list[Any]", rows)]

    def build(self, script: str) -> Built:
        """The code of the candidate that was chosen last. Raises: StepwellError, Failed, OutOfTime."""
        answer = self._process.ask({"op": "compile", "script": script}, seconds=_BUILD_SECONDS)
        head, vectors = answer.head, int(cast(int, answer.head["vectors"]))
        return Built(script, answer.body, str(head["code"]), str(head["scratch"]), vectors, self._choice)
