"""Processes of this machine that build and measure candidates, each of which may end them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from typing import TypeVar, cast

import numpy as np

from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.lowering.kernels.pool_code import pool_code
from stepwell.runtime.devices.table import expect_device_name
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import Frame
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.measuring import trials
from stepwell.runtime.measuring.trials import ROUND_SECONDS
from stepwell.runtime.rpc.messages import packed_arrays, unpacked_arrays
from stepwell.tools.tuning.ahead import Ahead, Prepared
from stepwell.tools.tuning.candidate import Candidate
from stepwell.tools.tuning.processes import START_SECONDS, BuildProcess, Built, Choice, Failed, Process
from stepwell.tools.tuning.tasks import Task

T = TypeVar("T")
_LEAST_SECONDS = 2.0
_TIMES_EXPECTED = 50
_REPEAT = """
define i64 @repeat(i64 %n, ptr %kernel, ptr %table, i64 %count, i64 %first, ptr %dims, ptr %ctx) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %turn = phi i64 [%first, %entry], [%after, %loop]
  %row = getelementptr ptr, ptr %table, i64 %turn
  %args = load ptr, ptr %row
  %status = call i32 %kernel(ptr %args, ptr %dims, ptr %ctx)
  %one = add i64 %turn, 1
  %is_last = icmp sge i64 %one, %count
  %after = select i1 %is_last, i64 0, i64 %one
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i64 %after
}
"""


class LocalRunner:
    """
    Builds and measures candidates in processes of this machine.

    Args: `timeout` bounds a measurement in seconds (default: 50 times what is expected, at least 2 s);
    `memory_bytes` bounds that process (default: 4 times the memory of the kernel and 1 GiB); with `clock`
    "model" times are estimates, the same in each run; `faults` gives candidates, by number, a fault of
    `FAULTS`, for tests of the isolation; `jobs` processes compile the candidates of a batch, while one of
    these is measured.
    """

    def __init__(
        self,
        timeout: float | None = None,
        memory_bytes: int | None = None,
        device: str = "host",
        clock: str = "machine",
        faults: Mapping[int, str] | None = None,
        jobs: int = 1,
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
        if jobs < 1:
            raise StepwellError("bad-option", None, f"jobs must be a number from 1 on, found {jobs}")
        self._builder = BuildProcess()
        self._ahead = Ahead(jobs) if jobs > 1 else None
        self._runner: Process | None = None
        self._limit = 0
        self._task: Task | None = None
        self._kernels: dict[str, Built] = {}

    def end_at(self, deadline: float) -> None:
        """Let no request go on after a time by `time.monotonic`: it raises OutOfTime."""
        self._deadline = deadline
        self._builder.end_at(deadline)
        if self._ahead is not None:
            self._ahead.end_at(deadline)
        if self._runner is not None:
            self._runner.deadline = deadline

    def close(self) -> None:
        """End the processes."""
        self._builder.close()
        if self._ahead is not None:
            self._ahead.close()
        self.restart()

    def restart(self) -> None:
        """End the process that measures: the next measurement is in a new one."""
        if self._runner is not None:
            self._runner.close()
            self._runner = None
        self._task = None
        self._kernels = {}

    def new_process(self, limit: int) -> Process:
        """The process that measures. Args: `limit` is its memory's limit in bytes."""
        return Process(trials.PROGRAM, limit)

    def choose(self, task: Task, candidate: Candidate) -> Choice:
        """The candidate with all decisions taken. Raises: StepwellError, Failed."""
        return self._builder.choose(task, candidate)

    def read(self, task: Task, scripts: Sequence[str]) -> list[Candidate | None]:
        """The schedules of scripts; None for one that is not legal here. Raises: StepwellError, Failed."""
        return self._builder.read(task, scripts)

    def build(self, script: str) -> Built:
        """The code of the candidate that was chosen last. Raises: StepwellError, Failed."""
        return self._builder.build(script)

    def prepared(self, task: Task, candidates: Sequence[Candidate]) -> list[Prepared]:
        """The candidates of a batch, in order; with several jobs they are compiled from now on."""
        if self._ahead is not None:
            return self._ahead.prepared(task, candidates)
        return [Prepared(partial(self.choose, task, each), self.build) for each in candidates]

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
        self._ask(runner, head, _repeat_code(task.target), START_SECONDS)
        if task.threads > 1:
            self._ask(runner, {"op": "pool"}, _pool_object(task.target), START_SECONDS)
        for case in task.cases:
            rows, data = packed_arrays([*case.inputs, *case.outputs])
            more: dict[str, object] = {"symbols": dict(case.symbols), "inputs": len(case.inputs)}
            more |= {"cold": list(task.cold), "copies": task.copies(case)}
            self._ask(runner, {"op": "case", "arrays": rows, **more}, data, START_SECONDS)


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
