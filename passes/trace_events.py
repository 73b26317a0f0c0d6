"""`TraceEvents`: the levels, passes and kernels of a compilation as spans in time, of all its processes."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from pathlib import Path
from time import perf_counter_ns
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from stepwell.passes.context import PassContext
from stepwell.passes.instruments import Instrument
from stepwell.passes.trace_format import Event, complete, instant, named, sample, trace_text
from stepwell.runtime.files.whole_files import write_text

PROCESS = 1
"""The number of the compilation in a trace."""


class Span(NamedTuple):
    """A part of a compilation: begin and end in nanoseconds of the clock that all processes share."""

    name: str
    kind: str
    """`level`, `pass`, `kernel`, or `step` of a kernel."""
    begin: int
    end: int


class TraceEvents(Instrument):
    """
    Records the begin and end of each level, pass and kernel; `save` writes a trace in Chrome's format.

    Worker processes record too. Passes of the current process are on thread 0, those of workers on theirs.
    """

    in_workers = True

    def __init__(self) -> None:
        self.spans: dict[int, list[Span]] = {}
        """By thread; each is after those inside of it."""
        self.nodes: dict[str, Sequence[str]] = {}
        """The nodes of the model in each kernel, by the kernel's symbol."""
        self._cached: list[tuple[str, int]] = []
        self._memory: list[tuple[int, int]] = []
        self._begins: list[int] = []
        self._tokens: list[Token[TraceEvents | None]] = []

    def enter_pass_ctx(self) -> None:
        self._begins.clear()  # of a pass that failed
        self._tokens.append(_TRACE.set(self))

    def exit_pass_ctx(self) -> None:
        _TRACE.reset(self._tokens.pop())

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self._begins.append(perf_counter_ns())

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self.add(0, [Span(str(step), "pass", self._begins.pop(), perf_counter_ns())])

    def add(self, thread: int, spans: Sequence[Span]) -> None:
        """Add spans of a thread, and what memory this process has now."""
        self.spans.setdefault(thread, []).extend(spans)
        self._memory.append((perf_counter_ns(), resident_bytes()))

    def add_cached(self, kernel: str) -> None:
        """Add a kernel that was in the cache."""
        self._cached.append((kernel, perf_counter_ns()))

    def take(self) -> list[Span]:
        """The spans of this process, which are forgotten here."""
        return self.spans.pop(0, [])

    def ends(self) -> Mapping[str, tuple[int, int]]:
        """Maps the symbol of each compiled kernel to its thread, and the last moment of its compilation."""
        rows = ((thread, span) for thread, spans in self.spans.items() for span in spans)
        return {span.name: (thread, span.end - 1) for thread, span in rows if span.kind == "kernel"}

    def events(self) -> list[Event]:
        """The events of the compilation, process 1 of a trace."""
        events = named(PROCESS, "compile", {n: f"worker {n}" if n else "compiler" for n in self.spans})
        for thread, spans in sorted(self.spans.items()):
            for span in sorted(spans, key=lambda s: (s.begin, -s.end)):
                args = {"nodes": list(nodes)} if (nodes := self.nodes.get(span.name)) else {}
                events.append(complete(PROCESS, thread, span.name, span.kind, (span.begin, span.end), args))
        events += [instant(PROCESS, 0, f"cached {kernel}", time) for kernel, time in self._cached]
        return events + [sample(PROCESS, time, RSS=rss) for time, rss in self._memory]

    def save(self, path: str | Path) -> None:
        """Write the trace to a file. Raises: StepwellError `cannot-write`."""
        write_text(Path(path), trace_text(self.events()))


_TRACE: ContextVar[TraceEvents | None] = ContextVar("stepwell_trace", default=None)


def traces_of(context: PassContext) -> list[TraceEvents]:
    """The traces that a context's instruments record."""
    return [instrument for instrument in context.instruments if isinstance(instrument, TraceEvents)]


def current_trace() -> TraceEvents | None:
    """The trace that this thread records, if any."""
    return _TRACE.get()


@contextmanager
def span(name: str, kind: str) -> Generator[None]:
    """Record the time of a `with` block as a span of this thread's trace, if there is one."""
    if (trace := _TRACE.get()) is None:
        yield
        return
    begin = perf_counter_ns()
    yield
    trace.add(0, [Span(name, kind, begin, perf_counter_ns())])


def resident_bytes() -> int:
    """The memory that this process has in use; where the system does not say, the most that it had."""
    import resource

    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
