"""
The cost of the log and of spans while they are off: `python -m benchmarks.log_and_trace [MODEL…]`.

Each model is compiled without caches on one process; calls of the log and spans are counted and multiplied by
the time of one that is off. Printed: their number, microseconds of all, and the share of the compilation's
processor time. Code that runs has neither: a test compares it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from timeit import repeat
from typing import NamedTuple
from unittest.mock import Mock, patch

from benchmarks.zoo import model_path
from stepwell.passes import trace_events
from stepwell.passes.trace_events import span
from stepwell.runtime.log import Log, logger
from stepwell.tools.driver.compile import compile

MODELS = ("gru_seq", "unet_small")
_CALLS = 200_000


def cost_of(call: Callable[[], object]) -> float:
    """The seconds of a call, the least of five rounds."""
    return min(repeat(call, number=_CALLS, repeat=5)) / _CALLS


class Off(NamedTuple):
    """Calls of the log and spans of a compilation, their seconds while off, and all of its seconds."""

    calls: int
    spans: int
    cost: float
    seconds: float

    @property
    def share(self) -> float:
        """The share of the compilation's processor time."""
        return self.cost / self.seconds


def share_when_off(path: Path) -> Off:
    """The cost of log and trace, both off, in the compilation of a model."""
    log = logger("stepwell.passes.manager")
    start = process_time()
    compile(path, use_cache=False, processes=1)
    seconds = process_time() - start
    on, trace = Mock(return_value=False), Mock()
    trace.get.return_value = None
    with patch.object(Log, "on", on), patch.object(trace_events, "_TRACE", trace):
        compile(path, use_cache=False, processes=1)
    calls, spans = on.call_count, trace.get.call_count
    cost = calls * cost_of(lambda: log(1, "{} kernels", 1)) + spans * cost_of(_empty_span)
    return Off(calls, spans, cost, seconds)


def main(names: list[str]) -> None:
    """Measure and print a line a model."""
    for name in names or MODELS:
        if (path := model_path(name)) is None:
            print(f"{name}: not here")
            continue
        off = share_when_off(path)
        share = f"{1e6 * off.cost:.0f} us of {off.seconds:.2f} s: {100 * off.share:.4f} %"
        print(f"{name}: {off.calls} calls of the log and {off.spans} spans, {share}")


def _empty_span() -> None:
    with span("", ""):
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
