"""The garbage collector and the compiler: IR is made by the million, and lives until a pass is done."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Generator[None]:
    """
    No cyclic garbage collection inside of the block.

    The collector looks again and again at IR that is alive: passes over 10,000 ops take up to twice as long
    with it. For work on one module, whose garbage fits in memory; between two such blocks the collector runs.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
