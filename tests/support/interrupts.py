"""Ctrl-C in tests, also where a shell started them in the background: there Python ignores the signal."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def interrupted_after(seconds: float) -> Generator[None]:
    """Let Ctrl-C arrive after some time inside of the block, which must end by KeyboardInterrupt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)
