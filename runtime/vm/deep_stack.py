"""
Threads with a stack of a gigabyte, for recursion in native code: reserved, so that only touched pages cost.

A thread is started once (90 us) and kept. Meanwhile the caller waits in Python, where Ctrl-C reaches it.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from time import perf_counter

_SIZES = tuple(1 << bits for bits in (30, 28, 26, 24))
# For segments and calls back into Python at the deepest point.
_SPARE_BYTES = 2 << 20
# A shorter call cannot have touched much of the stack: 100 bytes take 10 ns at least.
_LONG_SECONDS = 1e-3
PAGES_KEPT = 1 << 20
"""Bytes at the begin of a stack that stay."""
_LOOK_SECONDS = 0.05
_DONT_NEED = 4
_starting = threading.Lock()


class DeepStack:
    """A thread that runs one call at a time."""

    def __init__(self) -> None:
        """Raises: MemoryError where no such thread can be started."""
        # Locks that one thread takes and the other releases: a semaphore takes several times as long.
        self._go, self._done = threading.Lock(), threading.Lock()
        self._go.acquire()
        self._done.acquire()
        self._job: Callable[[], None] = _nothing
        self.size_bytes = 0
        """What a call may use."""
        for size in _SIZES:
            with suppress(RuntimeError, ValueError):
                self._thread = _started(self._serve, size)
                self.size_bytes = size - _SPARE_BYTES
                return
        raise MemoryError("no thread with a large stack can be started")

    @property
    def is_alive(self) -> bool:
        """Whether it can run calls: not in a process that was forked."""
        return self._thread.is_alive()

    def run(self, job: Callable[[], None], interrupt: Callable[[], None]) -> None:
        """
        Run a function, which raises nothing. Raises: KeyboardInterrupt, after `interrupt` has ended it.
        """
        self._job = job
        self._go.release()
        try:
            self._done.acquire()
        except BaseException:
            interrupt()
            while not self._done.acquire(timeout=_LOOK_SECONDS):
                interrupt()  # a call that was about to start would miss the first one
            raise

    def _serve(self) -> None:
        while True:
            self._go.acquire()
            self._job()
            self._job = _nothing
            self._done.release()


def _started(target: Callable[[], None], size: int) -> threading.Thread:
    with _starting:  # the size is that of all threads to come
        before = threading.stack_size(size)
        try:
            thread = threading.Thread(target=target, name="stepwell deep stack", daemon=True)
            thread.start()
            return thread
        finally:
            threading.stack_size(before)


def _nothing() -> None:
    pass


_idle: list[DeepStack] = []


def taken() -> DeepStack:
    """A thread for one call, to be given back. Raises: MemoryError."""
    while _idle:
        with suppress(IndexError):
            if (stack := _idle.pop()).is_alive:
                return stack
    return DeepStack()


def give_back(stack: DeepStack) -> None:
    """Keep a thread for the next call."""
    _idle.append(stack)


def forget_pages(lowest: int, end: int, seconds: float) -> None:
    """Give back the memory of a stack from an address to another, after a call that took so long."""
    page = 4096
    start = -(-lowest // page) * page
    size = (end - start) // page * page
    if lowest and seconds >= _LONG_SECONDS and size > 0 and (advise := _advise()) is not None:
        advise(ctypes.c_void_p(start), ctypes.c_size_t(size), _DONT_NEED)


@cache
def _advise() -> Callable[..., int] | None:
    """`madvise` of the C library, None where there is none."""
    try:
        return ctypes.CDLL(None).madvise
    except (AttributeError, OSError, TypeError):
        return None


clock = perf_counter
"""The clock of a call's seconds."""
