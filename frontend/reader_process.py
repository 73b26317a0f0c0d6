"""A process for readers of frameworks: their parsers abort on bad files, and a model can contain code."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence

from stepwell.runtime.errors import StepwellError


def run_reader(
    arguments: Sequence[str],
    failure: StepwellError,
    seconds: int,
    data: bytes = b"",
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """
    The ended process of a Python program, which imports nothing from the working directory.

    Args: `failure` is the error for a program that takes longer than `seconds`; `data` is its input.
    Raises: StepwellError.
    """
    try:
        return subprocess.run(
            [sys.executable, "-P", *arguments],
            input=data,
            capture_output=True,
            timeout=seconds,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        raise failure.with_note(f"it took more than {seconds} seconds") from None


def reported_error(
    done: subprocess.CompletedProcess[bytes], where: str, otherwise: StepwellError
) -> StepwellError:
    """The error that a process wrote as JSON on the last line of its output; else another one."""
    try:
        found = json.loads(done.stdout.decode("utf-8", "replace").rstrip().rpartition("\n")[2])
        return StepwellError(found["code"], where, found["message"], help=found["help"])
    except (ValueError, TypeError, KeyError):
        return otherwise


def ending(status: int) -> str:
    """How a process ended: `SIGABRT`, or `status 1`."""
    return signal.Signals(-status).name if status < 0 else f"status {status}"
