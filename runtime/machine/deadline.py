"""Deadlines of requests that follow each other, watched by one thread."""

from __future__ import annotations

from collections.abc import Callable
from threading import Condition
from time import monotonic

from stepwell.runtime.machine.fork import ReaderThread


class Deadline:
    """
    Calls a function when a request takes too long.

    The thread is started by the first request and serves those after it: a new one for each, as
    `threading.Timer` is, takes longer than the call of a small model.
    """

    def __init__(self, passed: Callable[[float], None]):
        """Args: `passed` is called, once a request, with the seconds that it was given."""
        self._passed = passed
        self._changed = Condition()
        self._end: tuple[float, float] | None = None
        self._wakes = float("inf")
        self._is_closed = False
        self._thread: ReaderThread | None = None

    def begin(self, seconds: float) -> None:
        """Watch a request that may take some seconds."""
        with self._changed:
            end = monotonic() + seconds
            self._end = (end, seconds)
            if self._thread is None:
                self._thread = ReaderThread(target=self._watch, daemon=True)
                self._thread.start()
            elif end < self._wakes:
                self._changed.notify()

    def end(self) -> None:
        """The request is over. The thread is not woken: it sleeps until the next deadline that it knew."""
        with self._changed:
            self._end = None

    def close(self) -> None:
        """End the thread."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def _watch(self) -> None:
        with self._changed:
            while not self._is_closed:
                if self._end is not None and self._end[0] <= monotonic():
                    seconds, self._end = self._end[1], None
                    self._passed(seconds)
                self._wakes = float("inf") if self._end is None else self._end[0]
                self._changed.wait(None if self._end is None else max(0, self._wakes - monotonic()))
