"""Commands of the user's that judge a file: `stepwell bisect --test` and `stepwell reduce --test`."""

from __future__ import annotations

from collections.abc import Mapping

from stepwell.runtime.child import run_command
from stepwell.runtime.errors import StepwellError

CANNOT_TELL = 125
"""The exit status of a test that cannot judge a file, as of `git bisect run`."""
_SHELL = "/bin/sh"
_NOT_RUN = (126, 127)
"""The exit status of a shell that cannot run a command."""


def with_files(command: str, files: Mapping[str, str]) -> str:
    """A test command with names of files in the place of marks such as `{}`, quoted as a shell needs them."""
    for mark, file in files.items():
        command = command.replace(mark, file)
    return command


def status_of_test(command: str, text: str, seconds: float, at: str = "") -> int | None:
    """
    The exit status of a test command; None where it takes longer.

    Args: `command` is the user's, for messages, and `text` the same with files; `at` says which run it is.
    Raises: StepwellError `bad-test` where the shell cannot run or read it.
    """
    ended = run_command(text, seconds)
    if ended is None or ended.status == 0:
        return None if ended is None else 0
    if ended.status in _NOT_RUN:
        raise bad_test(command, f"the shell cannot run the command{at}", note=ended.errors.strip())
    # A shell ends with 2 at an error of syntax, as do many commands that have judged a file.
    read = run_command([_SHELL, "-n", "-c", text], seconds)
    if read is not None and read.status != 0:
        raise bad_test(command, f"the shell cannot read the command{at}", note=read.errors.strip())
    return ended.status


def bad_test(command: str, message: str, *, note: str = "", help: str | None = None) -> StepwellError:
    """The error of a command that judges nothing."""
    return StepwellError("bad-test", command, message, note=note or (), help=help)
