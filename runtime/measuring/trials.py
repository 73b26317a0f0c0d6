"""The program of a process that calls and times candidates of kernels, each of which can crash it."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Sequence
from time import sleep
from typing import IO

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.frames import BadFrame, Frame, Head, read_frame, write_frame
from stepwell.runtime.interface import Array
from stepwell.runtime.json_values import as_mapping, as_size, as_sizes, as_text, as_texts
from stepwell.runtime.machine.loader import linked, load_objects
from stepwell.runtime.machine.pool import Pool, get_pool
from stepwell.runtime.measuring.kernel_call import PLACES_BYTES, Clock, KernelCall, Sizes
from stepwell.runtime.rpc.messages import failure, number, packed_arrays, unpacked_arrays

PROGRAM = "stepwell.runtime.measuring.trials:main"
ROUND_SECONDS = 0.01
"""For how long a kernel runs in a round, over all cases; at least once."""
FAULTS = ("crash", "hang", "wrong", "unwritten", "stray")
"""Faults that a candidate is made to have, for tests of what isolates them."""
MAX_ROUNDS = 10_000
MAX_COPIES = 256
"""The most copies of inputs that a model reads from memory."""


class Trials:
    """The kernels of a task, by name, in its cases; and the answers to requests about them."""

    def __init__(self) -> None:
        self._clock: Clock | None = None
        self._pool: Pool | None = None
        self._threads = 1
        self._cases: list[Sizes] = []
        self._kernels: dict[str, KernelCall] = {}
        self._faults: dict[str, str] = {}
        self._answers: dict[str, Callable[[Head, bytes], Frame]] = {
            "open": self._open,
            "pool": self._open_pool,
            "case": self._case,
            "load": self._load,
            "check": self._check,
            "race": self._race,
        }

    def answer(self, request: Frame) -> Frame:
        """The answer to a request; a failure is one too."""
        try:
            operation = self._answers.get(str(request.head.get("op")))
            if operation is None:
                raise BadFrame(f"there is no request {request.head.get('op')!r:.40}")
            return operation(request.head, request.body)
        except Exception as error:
            return failure(error)

    def _open(self, head: Head, body: bytes) -> Frame:
        """A new task. The body is the object file with `repeat`."""
        self._threads = number(head, "threads", 1, 1024)
        self._clock = Clock(load_objects([body]), self._threads)
        self._cases, self._kernels, self._faults = [], {}, {}
        return Frame({}, b"")

    def _open_pool(self, head: Head, body: bytes) -> Frame:
        """Threads for the kernels. The body is the object file of the pool."""
        self._pool = get_pool(linked([body]), self._threads)
        return Frame({}, b"")

    def _case(self, head: Head, body: bytes) -> Frame:
        arrays = unpacked_arrays(head["arrays"], body)
        symbols = {str(name): as_size(value) for name, value in as_mapping(head["symbols"]).items()}
        inputs = number(head, "inputs", 0, len(arrays))
        cold = [n for n in as_sizes(head.get("cold", [])) if n < inputs]
        copies = number({"copies": 1, **head}, "copies", 1, MAX_COPIES)
        self._cases.append(Sizes(symbols, arrays[:inputs], arrays[inputs:], cold, copies))
        return Frame({}, b"")

    def _load(self, head: Head, body: bytes) -> Frame:
        name = as_text(head["name"])
        self._kernels[name] = KernelCall(load_objects([body]), as_text(head["scratch"]), self._pool)
        if (fault := head.get("fault")) is not None:
            self._faults[name] = as_text(fault)
        return Frame({}, b"")

    def _check(self, head: Head, body: bytes) -> Frame:
        """The results of a kernel in a case, on inputs of the case or on others, which the body has."""
        name, case = as_text(head["name"]), self._cases[number(head, "case", 0, len(self._cases) - 1)]
        if head.get("arrays") is not None:
            case = Sizes(case.symbols, unpacked_arrays(head["arrays"], body), case.outputs)
        outputs = self._kernels[name].guarded(case)
        rows, data = packed_arrays(self._spoiled(name, case, outputs))
        return Frame({"arrays": rows}, data)

    def _spoiled(self, name: str, case: Sizes, outputs: list[Array]) -> list[Array]:
        """Results as the fault of a kernel leaves them."""
        match self._faults.get(name):
            case "crash":
                os.kill(os.getpid(), signal.SIGSEGV)
            case "hang":
                while True:
                    sleep(1)
            case "stray":
                ctypes.memset(8, 0, 8)  # where no memory is
            case "wrong":
                outputs[0][...] = np.add(outputs[0], 1)
            case "unwritten":
                outputs[0].view(np.uint8).reshape(-1)[-outputs[0].itemsize :] = 0xFF
            case _:
                pass
        return outputs

    def _race(self, head: Head, body: bytes) -> Frame:
        """Seconds of kernels, round by round in turn, at another place of the buffers in each round."""
        names = as_texts(head["names"])
        rounds = number(head, "rounds", 1, MAX_ROUNDS)
        first = number(head, "first", 0, MAX_ROUNDS)
        found: list[list[list[float]]] = [[[] for _ in names] for _ in self._cases]
        for index, case in enumerate(self._cases):
            for place in range(len(PLACES_BYTES)):
                mine = [r for r in range(first, first + rounds) if r % len(PLACES_BYTES) == place]
                self._race_at(case, place, names, len(mine), found[index])
        return Frame({"seconds": found}, b"")

    def _race_at(
        self, case: Sizes, place: int, names: Sequence[str], rounds: int, found: list[list[float]]
    ) -> None:
        clock = self._clock
        if clock is None:
            raise StepwellError("bad-message", None, "there is no task")
        if not rounds:
            return
        copies = case.placed(place)
        calls = [(self._kernels[name], self._kernels[name].arguments(case, copies)) for name in names]
        once = [min(clock.seconds(*each, 1) for _ in range(2)) for each in calls]
        times = [
            max(1, min(100_000, round(ROUND_SECONDS / len(self._cases) / max(seconds, 1e-8))))
            for seconds in once
        ]
        for turn in range(rounds):
            order = range(len(calls)) if turn % 2 == 0 else range(len(calls) - 1, -1, -1)
            for each in order:
                found[each].append(clock.seconds(*calls[each], times[each]))


def main(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until their stream ends."""
    trials = Trials()
    while (request := read_frame(requests)) is not None:
        answer = trials.answer(request)
        write_frame(answers, answer.head, answer.body)
