"""`stepwell trace`: calls of a model as spans in time: kernels on the caller, their chunks on all threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter_ns

from stepwell.passes.trace_events import PROCESS as COMPILATION
from stepwell.passes.trace_events import resident_bytes
from stepwell.passes.trace_format import Event, arrow, complete, named, sample
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.timing import KernelTimes, TimedCall
from stepwell.tools.measure.calibrate import MachineLimits
from stepwell.tools.measure.profile import Work

PROCESS = 2
"""The number of the calls in a trace; the caller is thread 0, workers of the pool have their number."""


@dataclass(frozen=True)
class TracedCall:
    """A call of a kernel or of the host, its last where it is in a loop: begin and end in nanoseconds."""

    index: int
    begin: int
    end: int
    times: int
    """How often it ran in the call of the model."""
    total_ns: int
    """The time of all these."""


@dataclass(frozen=True)
class TracedChunk:
    """A chunk of a parallel loop of a kernel on a thread: begin and end in nanoseconds."""

    thread: int
    kernel: str
    number: int
    begin: int
    end: int


@dataclass(frozen=True)
class TracedRun:
    """A call of a model, with its calls of kernels and of the host, and the chunks of their loops."""

    begin: int
    end: int
    calls: Sequence[TracedCall]
    chunks: Sequence[TracedChunk]
    resident: int
    """The bytes that the process had in use after it."""


@dataclass(frozen=True)
class Traced:
    """Runs of a model, and what their events say about its kernels."""

    model: CompiledModel
    work: Work
    runs: Sequence[TracedRun]

    def events(self, compiled: Mapping[str, tuple[int, int]]) -> list[Event]:
        """
        The events of the runs, process 2 of a trace.

        Args: `compiled` maps symbols of kernels to thread and end of their compilation, for arrows to the
        first run.
        """
        threads = {chunk.thread for run in self.runs for chunk in run.chunks} | {0}
        names = {thread: f"worker {thread}" if thread else "caller" for thread in sorted(threads)}
        events = named(PROCESS, "run", names)
        weights = sum(weight.nbytes for weight in self.model.image.weights)
        for number, run in enumerate(self.runs):
            events.append(complete(PROCESS, 0, f"run {number}", "run", (run.begin, run.end), {}))
            memory = {"arena": self.work.arena_bytes, "weights": weights, "RSS": run.resident}
            events += [sample(PROCESS, time, **memory) for time in (run.begin, run.end)]
            events += map(self._call_event, run.calls)
            events += [
                complete(PROCESS, c.thread, f"{c.kernel} chunk {c.number}", "chunk", (c.begin, c.end), {})
                for c in run.chunks
            ]
        for call in self.runs[0].calls if self.runs else ():
            symbol = self._timed(call).symbol
            if symbol in compiled:
                thread, end = compiled[symbol]
                ends = (COMPILATION, thread, end), (PROCESS, 0, call.begin)
                events += arrow(call.index + 1, self._timed(call).name, *ends)
        return events

    def _timed(self, call: TracedCall) -> TimedCall:
        return self.model.image.main.timed[call.index]

    def _call_event(self, call: TracedCall) -> Event:
        timed = self._timed(call)
        seconds = 1e-9 * call.total_ns
        rates = self.work.rates(call.index, call.times / seconds if seconds else 0.0)
        args: dict[str, object] = {"nodes": list(timed.nodes)}
        args |= dict(zip(("GFLOP/s", "GB/s", "percent of peak"), rates, strict=True))
        if call.times > 1:
            args |= {"times": call.times, "all times, us": call.total_ns / 1000}
        return complete(PROCESS, 0, timed.name, timed.kind, (call.begin, call.end), args)


def traced(model: CompiledModel, feeds: Mapping[str, object], runs: int, limits: MachineLimits) -> Traced:
    """
    Run a model once to warm up, then `runs` times, and record its calls.

    Kernels are recorded where it was compiled with `profile=True`.
    """
    inputs = [feeds[spec.name] for spec in model.interface.inputs]
    model(*inputs)
    model.take_chunks()
    return Traced(model, Work(model, inputs, limits), [_run(model, inputs) for _ in range(runs)])


def _run(model: CompiledModel, inputs: Sequence[object]) -> TracedRun:
    times, bodies = model.kernel_times or KernelTimes(0), model.loop_bodies()
    times.clear()
    begin = perf_counter_ns()
    model(*inputs)
    end = perf_counter_ns()
    rows = zip(times.last().tolist(), times.counts().tolist(), times.seconds().tolist(), strict=True)
    calls = [
        TracedCall(index, begin, end, count, round(1e9 * seconds))
        for index, ((begin, end), count, seconds) in enumerate(rows)
        if count
    ]
    chunks = [
        TracedChunk(thread, bodies[row.body], row.chunk, row.begin, row.end)
        for thread, rows in enumerate(model.take_chunks())
        for row in rows
        if row.body in bodies and begin <= row.begin
    ]
    return TracedRun(begin, end, calls, chunks, resident_bytes())
