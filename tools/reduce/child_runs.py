"""Runs of commands in processes that may die, or never end: the failures `crash` and `slow`."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence

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


def end_signature(status: int | None) -> Signature | None:
    """`slow` where there is no status, `crash` with the signal's name; None for other ends."""
    if status is None:
        return Signature("slow")
    return Signature("crash", signal.Signals(-status).name) if status < 0 else None
