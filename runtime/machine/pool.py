"""
The thread pool of the process: native workers on Python's daemon threads, started by the first call.

A parallel loop calls `parallel_for` through the context. While the pool is busy, another call runs on its own
thread, and so does a loop inside a loop. The pool survives fork (the child starts its own workers) and ends
before the interpreter does.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading

import numpy as np

from stepwell.runtime.link.code import Code, LinkedCode
from stepwell.runtime.machine.chunk_times import ChunkTime, Ring
from stepwell.runtime.machine.loader import Library
from stepwell.runtime.machine.pool_state import (
    RECORDING_WORKER,
    STATE_BYTES,
    WORKER,
    WORKER_SPINS,
    StateField,
)

_CACHE_LINE = 64
_JOIN_SECONDS = 1.0
# Kernels store feature maps of a channel on the stack; some systems give threads 128 KiB of it.
_STACK_BYTES = 2 << 20
MAX_THREADS = 256

_lock = threading.Lock()
_all_workers: list[Workers] = []
"""One for each different code of the pool, nearly always one: code changes from version to version."""


class Pool:
    """The pool that a context points to: the shared workers, and the largest number of them for a loop."""

    def __init__(self, workers: Workers, threads: int):
        self.threads = threads
        self.workers = workers
        self._handle = np.array([workers.state_address, threads - 1], np.uint64)

    def start(self) -> None:
        """Start the workers: the first call does, since loading a model runs nothing of its code."""
        with _lock:
            self.workers.ensure(self.threads - 1)

    @property
    def parallel_for_address(self) -> int:
        """The address for the context's field `PARALLEL_FOR`."""
        return self.workers.parallel_for_address

    @property
    def state_address(self) -> int:
        """The address for the context's field `POOL`."""
        return int(self._handle.ctypes.data)


class Workers:
    """The worker threads, and the memory that they share."""

    def __init__(self, code: Code) -> None:
        self.code = code
        self.pools: dict[int, Pool] = {}
        self._library: Library = Library(code)
        self._library.keep()
        self.parallel_for_address = self._library.address("stepwell_parallel_for")
        self._records = isinstance(code, LinkedCode) and RECORDING_WORKER in code.functions
        worker = self._library.address(RECORDING_WORKER if self._records else WORKER)
        self._run = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(worker)
        self._stop = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._library.address("stepwell_stop"))
        memory = np.zeros(STATE_BYTES + _CACHE_LINE, np.uint8)
        start = -memory.ctypes.data % _CACHE_LINE
        self._state = memory[start : start + STATE_BYTES]
        self.state_address = int(self._state.ctypes.data)
        self._threads: list[threading.Thread] = []
        self._rings: list[Ring] = []
        self._prepare()

    def _prepare(self) -> None:
        """Set what a state without workers has besides zeros."""
        self.set_patience(WORKER_SPINS)
        if self._records:
            at = StateField.CHUNK_TIMES
            self._state[at : at + 8].view(np.uint64)[0] = self._ring(0).address

    def _ring(self, thread: int) -> Ring:
        """The ring of a thread: of the caller, 0, or of a worker."""
        if thread == len(self._rings):
            self._rings.append(Ring(self.state_address))
        return self._rings[thread]

    def take_chunks(self) -> list[list[ChunkTime]]:
        """
        For the caller and each worker the chunks since the last call of this; empty where none are recorded.

        No parallel loop may run meanwhile.
        """
        return [ring.take() for ring in self._rings]

    def set_patience(self, spins: int) -> None:
        """Set the number of times that an idle worker looks for work before it sleeps."""
        at = StateField.WORKER_SPINS
        self._state[at : at + 8].view(np.int64)[0] = spins

    @property
    def asleep(self) -> int:
        """The number of workers that sleep now."""
        at = StateField.SLEEPERS
        return int(self._state[at : at + 4].view(np.int32)[0])

    def ensure(self, count: int) -> None:
        """Start workers until there are `count`."""
        before = threading.stack_size(_STACK_BYTES)
        while len(self._threads) < count:
            thread = threading.Thread(
                target=self._run,
                args=(self._ring(len(self._threads) + 1).address if self._records else self.state_address,),
                name=f"stepwell-worker-{len(self._threads)}",
                daemon=True,
            )
            thread.start()  # ctypes releases the interpreter's lock while the worker runs
            self._threads.append(thread)
        threading.stack_size(before)

    def restart(self) -> None:
        """Start the same number of workers anew, in the child of a fork, which has none of the threads."""
        count = len(self._threads)
        self._threads = []
        self._state[:] = 0
        self._prepare()
        self.ensure(count)

    def end(self) -> None:
        """Let the workers return, if any were started; later parallel loops run on their caller alone."""
        if self._threads:
            self._stop(self.state_address)
        for thread in self._threads:
            thread.join(_JOIN_SECONDS)


def get_pool(code: Code, threads: int) -> Pool:
    """
    The pool for running on `threads` threads, the caller among them, once it is started. All pools of the
    same code share workers.

    Args: `code` defines `stepwell_parallel_for`, `stepwell_stop`, and `stepwell_worker` or, where it records
    the times of chunks, `stepwell_recording_worker`.
    Raises: ValueError for less than one thread or more than `MAX_THREADS`.
    """
    if not 1 <= threads <= MAX_THREADS:
        raise ValueError(f"threads must be between 1 and {MAX_THREADS}, found {threads}")
    with _lock:
        workers = next((known for known in _all_workers if known.code == code), None)
        if workers is None:
            workers = Workers(code)
            atexit.register(workers.end)
            if not _all_workers and hasattr(os, "register_at_fork"):
                os.register_at_fork(
                    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork
                )
            _all_workers.append(workers)
        return workers.pools.setdefault(threads, Pool(workers, threads))


def _after_fork() -> None:
    _lock.release()
    for workers in _all_workers:
        workers.restart()
