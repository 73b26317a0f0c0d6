"""Traces in Chrome's format, which ui.perfetto.dev and chrome://tracing show."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Event(NamedTuple):
    """An event of a thread: phase, name, numbers of process and thread, begin in nanoseconds, the rest."""

    phase: str
    name: str
    process: int
    thread: int
    begin: int
    more: Mapping[str, object]

    def fields(self, first: int) -> dict[str, object]:
        """The event as JSON values, with microseconds since a time in nanoseconds."""
        named = {"ph": self.phase, "name": self.name, "pid": self.process, "tid": self.thread}
        return {**named, "ts": (self.begin - first) / 1000 if self.begin else 0, **self.more}


def named(process: int, name: str, threads: Mapping[int, str]) -> list[Event]:
    """The events that name a process and its threads."""
    events = [Event("M", "process_name", process, 0, 0, {"args": {"name": name}})]
    rows = ((number, {"args": {"name": thread}}) for number, thread in threads.items())
    return events + [Event("M", "thread_name", process, number, 0, args) for number, args in rows]


def complete(
    process: int, thread: int, name: str, kind: str, span: tuple[int, int], args: Mapping[str, object]
) -> Event:
    """A span of a thread, with begin and end in nanoseconds."""
    begin, end = span
    more = {"dur": (end - begin) / 1000, "cat": kind, "args": args}
    return Event("X", name, process, thread, begin, more)


def instant(process: int, thread: int, name: str, time: int) -> Event:
    """A point in time of a thread."""
    return Event("i", name, process, thread, time, {"s": "t"})


def sample(process: int, time: int, **values: int) -> Event:
    """The memory in bytes, by use, from a time on."""
    return Event("C", "memory", process, 0, time, {"args": values})


def arrow(number: int, name: str, begin: tuple[int, int, int], end: tuple[int, int, int]) -> list[Event]:
    """An arrow between spans; its ends are process, thread, and a time that the span contains."""
    about: Mapping[str, object] = {"id": number, "cat": "arrow"}
    return [Event("s", name, *begin, about), Event("f", name, *end, {**about, "bp": "e"})]


def trace_text(events: Iterable[Event]) -> str:
    """A trace as JSON; its first event is at 0."""
    events = list(events)
    first = min((event.begin for event in events if event.begin), default=0)
    rows = ",\n".join(json.dumps(event.fields(first)) for event in events)
    return f'{{"displayTimeUnit": "ms", "traceEvents": [\n{rows}\n]}}\n'
