"""Runs that may die, or never end: in processes, the failures `crash` and `slow`; here, with a limit."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from threading import current_thread, main_thread

from stepwell.runtime.child import run_command
from stepwell.runtime.machine.fork import can_fork, status_in_fork
from stepwell.tools.reduce.signature import Signature


def status_in_child(call: Callable[[], int], command: Sequence[str], seconds: float) -> int | None:
    """
    The exit status of a call in a forked process, or else of the command that does the same in a new one.

    Returns: for a signal its negative number; None where it takes longer than `seconds`.
    """
    if can_fork():
        return status_in_fork(call, seconds)
    ended = run_command(command, seconds)
    return None if ended is None else ended.status


class _Over(BaseException):
    """The time of a call is over; no handler of `Exception` on the way takes it."""


def within(seconds: float | None, call: Callable[[], Signature | None]) -> Signature | None:
    """
    The result of a call in this process; `slow` where it takes longer, even if it never returned by itself.

    Only the main thread of a system with timers can be interrupted; elsewhere the call takes its time.
    """
    if seconds is None or not hasattr(signal, "setitimer") or current_thread() is not main_thread():
        return call()

    def stop(number: int, frame: object) -> None:
        raise _Over

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return call()
    except _Over:
        return Signature("slow")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def end_signature(status: int | None) -> Signature | None:
    """`slow` where there is no status, `crash` with the signal's name; None for other ends."""
    if status is None:
        return Signature("slow")
    return Signature("crash", signal.Signals(-status).name) if status < 0 else None
