"""The program of a session's process: it loads models, calls them on guarded memory, and measures them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import accumulate, pairwise
from time import perf_counter, process_time, sleep
from typing import IO, Any, cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import load_image
from stepwell.runtime.frames import BadFrame, Frame, Head, read_frame, write_frame
from stepwell.runtime.interface import Array
from stepwell.runtime.json_values import as_list, as_mapping, as_size, as_text
from stepwell.runtime.machine.machine_name import machine_name
from stepwell.runtime.machine.target import host_target, runnable_levels
from stepwell.runtime.machine.tile_rates import tile_rates
from stepwell.runtime.machine.variants import for_this_machine
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc.guarded_model import GuardedModel
from stepwell.runtime.rpc.interleaved import interleave
from stepwell.runtime.rpc.messages import failure, number, packed_arrays, unpacked_arrays

MAX_RUNS = 1_000_000
_MAX_THREADS = 1024


class _TimedModel(CompiledModel):
    """A model in memory as any other call has it, for its times."""

    def runner(self, arrays: Sequence[Array]) -> Callable[[], object]:
        """A function that calls it on all inputs of the code."""
        return lambda: self._invoke(arrays)


PROGRAM = "stepwell.runtime.rpc.runner:main"


class Runner:
    """The models of a session, by number, and the answers to its requests."""

    def __init__(self) -> None:
        self._models: list[tuple[GuardedModel, _TimedModel]] = []
        self._answers: dict[str, Callable[[Head, bytes], Frame]] = {
            "load": self._load,
            "run": self._run,
            "time": self._time,
            "compare": self._compare,
            "target": self._target,
            "call": self._call,
            "mark": self._mark,
            "tiles": self._tiles,
            "trial": self._trial,
        }
        self._trials: Any = None

    def answer(self, request: Frame) -> Frame:
        """The answer to a request; a failure is one too."""
        try:
            operation = self._answers.get(str(request.head.get("op")))
            if operation is None:
                raise BadFrame(f"there is no request {request.head.get('op')!r:.40}")
            return operation(request.head, request.body)
        except Exception as error:  # of a function of the user's: any
            return failure(error)

    def _load(self, head: Head, body: bytes) -> Frame:
        image = for_this_machine(load_image(as_text(head["path"])))
        threads = None if head.get("threads") is None else number(head, "threads", 1, _MAX_THREADS)
        self._models.append((GuardedModel(image, threads=threads), _TimedModel(image, threads=threads)))
        return Frame({"model": len(self._models) - 1, "threads": self._models[-1][0].threads}, b"")

    def _model(self, head: Head, key: str = "model") -> tuple[GuardedModel, _TimedModel]:
        return self._models[number(head, key, 0, len(self._models) - 1)]

    def _run(self, head: Head, body: bytes) -> Frame:
        outputs = self._model(head)[0].call_on_all(unpacked_arrays(head.get("arrays"), body))
        rows, data = packed_arrays(outputs)
        return Frame({"arrays": rows}, data)

    def _time(self, head: Head, body: bytes) -> Frame:
        guarded, model = self._model(head)
        arrays = unpacked_arrays(head.get("arrays"), body)
        runs, repeat, warmup, pause = (
            number(head, key, least, MAX_RUNS)
            for key, least in (("number", 1), ("repeat", 1), ("warmup", 0), ("cooldown_ms", 0))
        )
        guarded.call_on_all(arrays)  # a stray access is an error, not a time
        call = model.runner(arrays)
        for _ in range(warmup):
            call()
        seconds: list[float] = []
        for _ in range(repeat):
            sleep(pause / 1e3)
            start = perf_counter()
            for _ in range(runs):
                call()
            seconds.append((perf_counter() - start) / runs)
        times = model.kernel_times
        return Frame(
            {"seconds": seconds, "kernels": None if times is None else times.seconds().tolist()}, b""
        )

    def _compare(self, head: Head, body: bytes) -> Frame:
        models = {"model": self._model(head), "base": self._model(head, "base")}
        arrays = unpacked_arrays(head.get("arrays"), body)
        for guarded, _ in models.values():
            guarded.call_on_all(arrays)
        runners = {name: model.runner(arrays) for name, (_, model) in models.items()}
        clock = process_time if head.get("clock") == "process" else perf_counter
        found = interleave(runners, number(head, "rounds", 1, MAX_RUNS), clock)
        return Frame({name: list(latency.rounds) for name, latency in found.items()}, b"")

    def _target(self, head: Head, body: bytes) -> Frame:
        host = host_target()
        level = max(runnable_levels()[1:], key=_generation, default="host")
        sizes = {"cores": host.cores, "l1": host.l1_bytes, "l2": host.l2_bytes, "l3": host.l3_bytes}
        target = {"mcpu": level} | {name: size for name, size in sizes.items() if size}
        return Frame({"target": target, "machine": machine_name(), "host": host.to_json()}, b"")

    def _trial(self, head: Head, body: bytes) -> Frame:
        """The answer to a request about candidates of kernels, which `head` has."""
        if self._trials is None:
            # By name: messages of sessions are below of it.
            self._trials = import_module("stepwell.runtime.measuring.trials").Trials()
        return self._trials.answer(Frame(dict(as_mapping(head["request"])), body))

    def _tiles(self, head: Head, body: bytes) -> Frame:
        """The rates of compiled loops, of which `head` has the tiles, and sizes in the body."""
        rows = [as_list(row, 4) for row in as_list(head["tiles"])]
        ends = list(accumulate(as_size(size) for *_, size in rows))
        objects = [body[begin:end] for begin, end in pairwise([0, *ends])]
        names = {(as_size(m), as_size(v)): as_text(name) for m, v, name, _ in rows}
        seconds = number(head, "most_seconds", 1, MAX_RUNS)
        found = tile_rates(objects, names, perf_counter() + seconds)
        rates = {length: [[m, v, rate] for (m, v), rate in of.items()] for length, of in found.items()}
        return Frame({"rates": rates}, b"")

    def _mark(self, head: Head, body: bytes) -> Frame:
        print(as_text(head["mark"]), file=sys.stderr, flush=True)
        return Frame({}, b"")

    def _call(self, head: Head, body: bytes) -> Frame:
        module, dot, name = as_text(head["function"]).rpartition(".")
        if not dot:
            help = "name it MODULE.FUNCTION; `upload` brings the module's file"
            raise StepwellError("unknown-function", None, f"{name!r} names no module", help=help)
        if (folder := as_text(head["folder"])) not in sys.path:
            sys.path.insert(0, folder)
        try:
            function = getattr(import_module(module), name)
        except (ImportError, AttributeError) as error:
            raise StepwellError("unknown-function", None, str(error)) from None
        result = function(*unpacked_arrays(head.get("arrays"), body))
        results = cast("tuple[object, ...]", result) if isinstance(result, tuple) else (result,)
        rows, data = packed_arrays([np.asarray(value) for value in results])
        return Frame({"arrays": rows, "tuple": isinstance(result, tuple)}, data)


def _generation(level: str) -> int:
    """The number of features of a level: later ones have all of those before."""
    from stepwell.runtime.targets.cpu import cpu_rows

    return len(cpu_rows()[level].features)


def main(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until their stream ends."""
    runner = Runner()
    while (request := read_frame(requests)) is not None:
        answer = runner.answer(request)
        write_frame(answers, answer.head, answer.body)
