"""Conversion of any exception to a `StepwellError`, which commands print."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.plugins import plugin_error

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it."""


GRACE_SECONDS = 1.0
"""The time that a call has to end after Ctrl-C."""


@contextmanager
def ending_when_interrupted() -> Generator[None]:
    """
    A block with calls of native code, which Ctrl-C does not reach: the process ends when it is still inside a
    second later. Only on the main thread of POSIX, and where nothing else waits for signals.
    """
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        yield
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    left = threading.Event()
    watcher = threading.Thread(target=_end_after_interrupt, args=(read, left), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        left.set()
        signal.set_wakeup_fd(before)
        os.close(write)
        watcher.join()
        os.close(read)


def _end_after_interrupt(read: int, left: threading.Event) -> None:
    """Wait for Ctrl-C, whose number comes through a pipe, and end the process if that does not."""
    while number := os.read(read, 1):
        if number[0] == signal.SIGINT and not left.wait(GRACE_SECONDS):
            print("interrupted in native code", file=sys.stderr, flush=True)
            os._exit(INTERRUPTED)


def say_interrupted(stop: KeyboardInterrupt) -> int:
    """Print the pass that Ctrl-C ended, if any; returns the exit status."""
    for note in getattr(stop, "__notes__", ()):
        print(f"interrupted {note}", file=sys.stderr)
    return INTERRUPTED


def show_fatal_signals() -> None:
    """
    Let fatal signals such as SIGSEGV print the Python calls before them, to the process's own stderr: a
    redirected one may be no file.
    """
    if not faulthandler.is_enabled() and sys.__stderr__ is not None:
        faulthandler.enable(sys.__stderr__)


def user_error(error: Exception) -> StepwellError:
    """
    The error to print: refusals of the system and errors of plugins are users' errors, other exceptions
    internal ones.
    """
    if isinstance(error, StepwellError):
        return error
    if isinstance(error, MemoryError):
        return out_of_memory(error)
    if isinstance(error, OSError) and error.strerror is not None:
        return StepwellError("cannot-access", str(error.filename or ""), error.strerror)
    if (failed := plugin_error(error)) is not None:
        return failed
    return InternalError(None, f"{type(error).__name__}: {error}", note="`--debug` shows where")


def out_of_memory(error: MemoryError) -> StepwellError:
    """The error for an allocation that failed."""
    return StepwellError(
        "out-of-memory",
        None,
        f"the memory does not suffice: {error}" if str(error) else "the memory does not suffice",
        help="fix smaller shapes with --input-shape NAME=1x3x224x224",
    )
