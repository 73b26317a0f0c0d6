"""The time of a tuning run, and what it does meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic, process_time

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from stepwell.passes.context import PassContext
from stepwell.passes.instruments import Instrument
from stepwell.runtime.errors import StepwellError

_RESERVED_SHARE = 0.4
_RESERVED_SECONDS = 3.0
"""The part of the time, at most, and the seconds that the comparison of whole models takes by itself."""


class OutOfTime(Exception):
    """The end of a run's time amid work, of which nothing is recorded."""


class Clock:
    """The time of a run, of which a part is left for the comparison of whole models."""

    def __init__(self, seconds: float | None = None, announce: Callable[[str], None] = lambda text: None):
        """Args: `seconds` from now on, None without a bound; `announce` is called with each step."""
        self._begin, self._used = monotonic(), process_time()
        self._bound, self._announce = seconds, announce
        self.end = float("inf") if seconds is None else self._begin + seconds
        """The end by `time.monotonic`."""
        self.search_seconds: float | None = None
        """The seconds for the search, once it begins; None without a bound."""

    def announce(self, what: str) -> None:
        """Report what begins."""
        self._announce(what)

    def begin_search(self) -> None:
        """End the first part of a run, which has imported a model."""
        if self._bound is None:
            return
        used = process_time() - self._used
        # Where other processes run too, what is left to do takes as much longer.
        slowdown = max(1.0, self.seconds / max(used, 0.1))
        reserved = min(_RESERVED_SHARE * self.left, slowdown * (_RESERVED_SECONDS + used))
        self.search_seconds = self.left - reserved

    @property
    def seconds(self) -> float:
        """The seconds since the begin."""
        return monotonic() - self._begin

    @property
    def left(self) -> float:
        """The seconds until the end."""
        return max(0.0, self.end - monotonic())

    @property
    def is_spent(self) -> bool:
        """Whether the time is over."""
        return monotonic() >= self.end

    @contextmanager
    def compiling(self) -> Generator[None]:
        """Watch a compilation. Raises: StepwellError `timed-out`, before a pass, where the time is over."""
        self.announce("compiling the model")
        with PassContext.current().watched_by([_Watch(self)]):
            yield

    def expect_time(self, before: str) -> None:
        """Require that time is left. Raises: StepwellError `timed-out`."""
        if self.is_spent:
            message = f"the time ended while the model was compiled, before {before}: nothing was tried"
            raise StepwellError("timed-out", None, message, help="give it more --time")


class _Watch(Instrument):
    """Reports the passes of a compilation, and ends it with the time of the run."""

    def __init__(self, clock: Clock):
        self._clock = clock

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self._clock.announce(f"compiling the model: {step.name}")
        self._clock.expect_time(f"{step.name} ran")
