"""Forked processes, with the imports of this one; only where no thread could make that unsafe."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from subprocess import TimeoutExpired
from time import monotonic, sleep
from typing import IO, Any, NoReturn

Program = Callable[[IO[bytes], IO[bytes]], None]
"""A program for the streams of requests and answers."""


class ReaderThread(threading.Thread):
    """A thread that only waits for a stream: a forked process needs none of its locks."""


def can_fork() -> bool:
    """
    Whether this process can fork: on Linux, where no other thread runs Python, and there are no more threads
    than those of Python and of numpy's BLAS.

    A lock that another thread has locked would stay locked in the forked process. The C library takes care of
    its own locks, and idle threads of BLAS have locked none. Nothing is known about threads of other
    libraries (of a GPU, of a server).
    """
    if sys.platform != "linux":
        return False
    running = threading.enumerate()
    others = (thread for thread in running if thread is not threading.current_thread())
    if not all(isinstance(thread, ReaderThread) for thread in others):
        return False
    of_blas = len(os.sched_getaffinity(0)) - 1
    return len(os.listdir("/proc/self/task")) <= len(running) + of_blas


class Fork:
    """A forked process for a program, which has the attributes of `subprocess.Popen` that `Child` uses."""

    def __init__(self, program: Program):
        """Raises: OSError or RuntimeError when this process cannot be forked."""
        requests, answers, errors = os.pipe(), os.pipe(), os.pipe()
        self.returncode: int | Any = None  # as typeshed has it for Popen
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, about threads of BLAS
                self.pid = os.fork()
        except BaseException:
            for descriptor in (*requests, *answers, *errors):
                os.close(descriptor)
            raise
        if self.pid == 0:
            _run(program, requests[0], answers[1], errors[1])
        for descriptor in (requests[0], answers[1], errors[1]):
            os.close(descriptor)
        self.stdin: IO[bytes] = os.fdopen(requests[1], "wb")
        self.stdout: IO[bytes] = os.fdopen(answers[0], "rb")
        self.stderr: IO[bytes] = os.fdopen(errors[0], "rb")

    def kill(self) -> None:
        """End the process at once; nothing where it has ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, that of a signal negative. Raises: TimeoutExpired after `timeout` seconds."""
        end = None if timeout is None else monotonic() + timeout
        while self.returncode is None:
            try:
                pid, status = os.waitpid(self.pid, 0 if end is None else os.WNOHANG)
            except ChildProcessError:  # the program ignores SIGCHLD
                self.returncode = 0
                break
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
            elif end is not None and monotonic() > end:
                raise TimeoutExpired("a forked process", timeout or 0)
            else:
                sleep(0.001)
        return self.returncode

    def close(self) -> None:
        """Kill the process, unless it has ended, and close the streams."""
        self.kill()
        self.wait()
        for stream in (self.stdin, self.stdout, self.stderr):
            with suppress(OSError):  # of a process that took no more
                stream.close()


def without_output() -> None:
    """Drop the output of this process: a full pipe without a reader would stop the process."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nothing, descriptor)


def status_in_fork(call: Callable[[], int], seconds: float) -> int | None:
    """
    The exit status of a call in a forked process without output, that of a signal negative.

    Returns: None where it takes longer than `seconds`; then it is killed.
    Raises: OSError or RuntimeError when this process cannot be forked.
    """

    def run(requests: IO[bytes], answers: IO[bytes]) -> None:
        del requests, answers
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        without_output()
        sys.exit(call())

    fork = Fork(run)
    try:
        return fork.wait(seconds)
    except TimeoutExpired:
        return None
    finally:
        fork.close()


def _run(program: Program, requests: int, answers: int, errors: int) -> NoReturn:
    """Run a program in a forked process, and exit without the parent's exit handlers."""
    status = 1
    try:
        _part_from_parent(requests, answers, errors)
        with os.fdopen(requests, "rb") as given, os.fdopen(answers, "wb") as made:
            Context().run(program, given, made)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _part_from_parent(requests: int, answers: int, errors: int) -> None:
    """Leave the parent its signals, profilers and files: locks on these would outlive it."""
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    sys.settrace(None)
    sys.setprofile(None)
    nothing = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):
        if (descriptor := int(name)) not in (1, 2, requests, answers, errors, nothing):
            # Its number stays in use: an object that has it can still close it.
            with suppress(OSError):  # the folder that was listed
                os.fstat(descriptor)
                os.dup2(nothing, descriptor)
    for descriptor in (1, 2):  # what is printed is no answer
        os.dup2(errors, descriptor)
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  # the old ones contain text that the parent will write
    sys.stderr = open(2, "w", closefd=False, buffering=1, errors="backslashreplace")  # noqa: SIM115
