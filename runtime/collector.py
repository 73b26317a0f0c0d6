"""Pauses of the garbage collector during passes, which create millions of IR objects that stay alive."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """
    A context manager without cyclic garbage collection inside.

    The collector repeatedly visits IR that is alive: passes over 10,000 ops take up to twice as long
    with it. For work on one module, whose garbage fits in memory; between two such blocks the collector runs.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
