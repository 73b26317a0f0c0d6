"""
The cost of the log and of spans while they are off: `python -m benchmarks.log_and_trace [MODEL…]`.

Each model is compiled without caches on one process; calls of the log and spans are counted and multiplied by
the time of one that is off. Printed: their number, microseconds of all, and the share of the compilation's
processor time. Code that runs has neither: a test compares it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import process_time
from timeit import repeat
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


def main(names: list[str]) -> None:
    """Measure and print a line a model."""
    log = logger("stepwell.passes.manager")
    off = cost_of(lambda: log(1, "{} kernels", 1)), cost_of(_empty_span)
    print(f"off: a call of the log {1e9 * off[0]:.0f} ns, a span {1e9 * off[1]:.0f} ns")
    for name in names or MODELS:
        if (path := model_path(name)) is None:
            print(f"{name}: not here")
            continue
        start = process_time()
        compile(path, use_cache=False, processes=1)
        seconds = process_time() - start
        on, trace = Mock(return_value=False), Mock()
        trace.get.return_value = None
        with patch.object(Log, "on", on), patch.object(trace_events, "_TRACE", trace):
            compile(path, use_cache=False, processes=1)
        calls, spans = on.call_count, trace.get.call_count
        cost = calls * off[0] + spans * off[1]
        share = f"{1e6 * cost:.0f} us of {seconds:.2f} s: {100 * cost / seconds:.4f} %"
        print(f"{name}: {calls} calls of the log and {spans} spans, {share}")


def _empty_span() -> None:
    with span("", ""):
        pass


if __name__ == "__main__":
    main(sys.argv[1:])
