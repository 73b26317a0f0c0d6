"""Processes of this machine that build and measure candidates, each of which may end them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from time import monotonic
from typing import Any, TypeVar, cast

import numpy as np

from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.lowering.kernels.pool_code import pool_code
from stepwell.runtime.child import Child, ChildError
from stepwell.runtime.devices.table import expect_device_name
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import Frame
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.fork import can_fork
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.measuring import trials
from stepwell.runtime.measuring.trials import ROUND_SECONDS
from stepwell.runtime.rpc.messages import expect_success, packed_arrays, unpacked_arrays
from stepwell.tools.tuning import building
from stepwell.tools.tuning.candidate import Candidate, FormedOp, TiledOp, formed_op_from, tiled_op_from
from stepwell.tools.tuning.clock import OutOfTime
from stepwell.tools.tuning.tasks import Task

T = TypeVar("T")
_BUILD_SECONDS = 20.0
"""The deadline of a build; the slowest of our own kernels takes 6 s where the machine is busy."""
_START_SECONDS = 15.0
_LEAST_SECONDS = 2.0
_TIMES_EXPECTED = 50
_REPEAT = """
define void @repeat(i64 %n, ptr %kernel, ptr %args, ptr %dims, ptr %ctx) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %status = call i32 %kernel(ptr %args, ptr %dims, ptr %ctx)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""


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


@dataclass(frozen=True)
class Built:
    """The code of a candidate."""

    script: str
    code: bytes
    digest: str
    scratch: str
    vectors: int


class Process:
    """A child process, started again after its death."""

    def __init__(self, program: str, memory_bytes: int | None = None):
        self._program, self._memory_bytes = program, memory_bytes
        self._child: Child | None = None
        self.deadline = float("inf")
        """The end of the run by `time.monotonic`: no request goes on after it."""

    def ask(self, head: Mapping[str, object], body: bytes = b"", seconds: float = _START_SECONDS) -> Frame:
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
        limit = seconds + (_START_SECONDS if fresh else 0)
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


class LocalRunner:
    """
    Builds and measures candidates in processes of this machine.

    Args: `timeout` bounds a measurement in seconds (default: 50 times what is expected, at least 2 s);
    `memory_bytes` bounds that process (default: 4 times the memory of the kernel and 1 GiB); with `clock`
    "model" times are estimates, the same in each run; `faults` gives candidates, by number, a fault of
    `FAULTS`, for tests of the isolation.
    """

    def __init__(
        self,
        timeout: float | None = None,
        memory_bytes: int | None = None,
        device: str = "host",
        clock: str = "machine",
        faults: Mapping[int, str] | None = None,
    ):
        """Raises: StepwellError `bad-option`; `nothing-to-tune` for a device, `no-device` for none."""
        if device != "host":
            raise no_space(expect_device_name(device))
        if clock not in ("machine", "model"):
            raise StepwellError("bad-option", None, f"clock must be machine or model, found {clock!r}")
        if wrong := [kind for kind in (faults or {}).values() if kind not in trials.FAULTS]:
            message = f"a fault is one of {', '.join(trials.FAULTS)}, found {wrong[0]!r}"
            raise StepwellError("bad-option", None, message)
        self.clock, self.faults = clock, dict(faults or {})
        self._timeout, self._memory_bytes = timeout, memory_bytes
        self._deadline = float("inf")
        self._builder = Process(building.PROGRAM)
        self._runner: Process | None = None
        self._limit = 0
        self._task: Task | None = None
        self._built_task: Task | None = None
        self._kernels: dict[str, Built] = {}

    def end_at(self, deadline: float) -> None:
        """Let no request go on after a time by `time.monotonic`: it raises OutOfTime."""
        self._deadline = self._builder.deadline = deadline
        if self._runner is not None:
            self._runner.deadline = deadline

    def close(self) -> None:
        """End the processes."""
        self._builder.close()
        self.restart()

    def restart(self) -> None:
        """End the process that measures: the next measurement is in a new one."""
        if self._runner is not None:
            self._runner.close()
            self._runner = None
        self._task = None
        self._kernels = {}

    def new_process(self, limit: int) -> Process:
        """The process that measures. Args: `limit` is that of its memory, in bytes."""
        return Process(trials.PROGRAM, limit)

    def choose(self, task: Task, candidate: Candidate) -> Choice:
        """The candidate with all decisions taken. Raises: StepwellError, Failed."""
        self._open_builder(task)
        head = self._builder.ask({"op": "choose", **candidate.to_json()}, seconds=_BUILD_SECONDS).head
        rows = cast("dict[str, list[Mapping[str, Any]]]", head)
        forms, tiles = map(formed_op_from, rows["forms"]), map(tiled_op_from, rows["tiles"])
        return Choice(str(head["script"]), tuple(forms), tuple(tiles))

    def build(self, script: str) -> Built:
        """The code of the candidate that was chosen last. Raises: StepwellError, Failed."""
        answer = self._builder.ask({"op": "compile", "script": script}, seconds=_BUILD_SECONDS)
        head = answer.head
        return Built(
            script, answer.body, str(head["code"]), str(head["scratch"]), int(cast(int, head["vectors"]))
        )

    def _open_builder(self, task: Task) -> None:
        if self._built_task is task and self._builder.is_alive:
            return
        head = {"op": "open", "target": task.target.to_json()}
        self._builder.ask(head, task.module_text.encode(), seconds=_BUILD_SECONDS)
        self._built_task = task

    def check(
        self, task: Task, built: Built, number: int, inputs: Sequence[Sequence[Array]]
    ) -> list[list[Array]]:
        """The results of a candidate between guard pages, by case. Raises: Failed, StepwellError."""
        process = self._with(task, [built], number)
        found: list[list[Array]] = []
        for index, arrays in enumerate(inputs):
            rows, data = packed_arrays(arrays)
            head = {"op": "check", "name": built.digest, "case": index, "arrays": rows}
            answer = self._ask(process, head, data, self._seconds(task, 2))
            found.append(unpacked_arrays(answer.head["arrays"], answer.body))
        return found

    def race(
        self, task: Task, kernels: Sequence[Built], rounds: int, first: int = 0
    ) -> list[list[list[float]]]:
        """
        Seconds of kernels in turn: by case, kernel and round. Raises: Failed, StepwellError.

        Args: `first` is the number of rounds before, which decides where buffers are.
        """
        process = self._with(task, kernels)
        head = {"op": "race", "names": [k.digest for k in kernels], "rounds": rounds, "first": first}
        answer = self._ask(process, head, b"", self._seconds(task, rounds * len(kernels)))
        return cast("list[list[list[float]]]", answer.head["seconds"])

    def _seconds(self, task: Task, rounds: int) -> float:
        """The deadline of some rounds."""
        if self._timeout is not None:
            return self._timeout
        expected = rounds * max(ROUND_SECONDS, 2 * len(task.cases) * task.seconds)
        return max(_LEAST_SECONDS, _TIMES_EXPECTED * expected)

    def _ask(self, process: Process, head: Mapping[str, object], body: bytes, seconds: float) -> Frame:
        try:
            return process.ask(head, body, seconds)
        except Failed:
            self.restart()
            raise

    def _with(self, task: Task, kernels: Sequence[Built], number: int | None = None) -> Process:
        """The process that measures, with a task and kernels."""
        limit = self._memory_bytes or 4 * task.memory_bytes + (1 << 30)
        if self._runner is not None and limit > self._limit:
            self.restart()
        if self._runner is None:
            self._runner, self._limit = self.new_process(limit), limit
            self._runner.deadline = self._deadline
        if self._task is not task:
            self._open_runner(self._runner, task)
            self._task, self._kernels = task, {}
        for kernel in kernels:
            if kernel.digest in self._kernels:
                continue
            fault = self.faults.get(number) if number is not None else None
            head = {"op": "load", "name": kernel.digest, "scratch": kernel.scratch, "fault": fault}
            self._ask(self._runner, head, kernel.code, _LEAST_SECONDS)
            self._kernels[kernel.digest] = kernel
        return self._runner

    def _open_runner(self, runner: Process, task: Task) -> None:
        head = {"op": "open", "threads": task.threads}
        self._ask(runner, head, _repeat_code(task.target), _START_SECONDS)
        if task.threads > 1:
            self._ask(runner, {"op": "pool"}, _pool_object(task.target), _START_SECONDS)
        for case in task.cases:
            rows, data = packed_arrays([*case.inputs, *case.outputs])
            more = {"symbols": dict(case.symbols), "inputs": len(case.inputs)}
            self._ask(runner, {"op": "case", "arrays": rows, **more}, data, _START_SECONDS)


@cache
def _repeat_code(target: TargetDescription) -> bytes:
    """The object file of the loop around calls that are timed."""
    return compile_to_object(_REPEAT, target, optimize=False)


@cache
def _pool_object(target: TargetDescription) -> bytes:
    return compile_to_object(pool_code(target.arch, "linux" in target.triple), target, optimize=False)


def no_space(device: str) -> StepwellError:
    """The error that nothing is to be tuned on a device."""
    message = (
        f"there is nothing to tune on {device}: schedules for devices follow from shapes and target alone"
    )
    help = f"stepwell bench MODEL --device {device}"
    return StepwellError("nothing-to-tune", None, message, help=help)


def unwritten(found: Array, wanted: Array) -> bool:
    """Whether a result has elements that were not written: they have the pattern of before."""
    kind = wanted.dtype.kind
    if kind in "fc":
        return bool(np.any(np.isnan(found) & ~np.isnan(wanted)))
    if kind in "iub":
        bytes = np.ascontiguousarray(found).view(np.uint8).reshape(-1, max(1, found.dtype.itemsize))
        left = (bytes == 0xA5).all(axis=1) if found.size else np.zeros(0, bool)
        return bool(np.any(left & (found != wanted).reshape(-1)))
    return False


def attempt(work: Callable[[], T]) -> T | None:
    """The result of work that may fail with a candidate; None where it does."""
    with suppress(Failed, StepwellError):
        return work()
    return None
