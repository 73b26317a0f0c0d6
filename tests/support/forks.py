"""Commands in forks of this process: they start with all modules imported, and leave nothing behind."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from stepwell.runtime.environment import CACHE
from stepwell.tools import cli

Result = tuple[int, str, str]
"""An exit status, and what was written to both outputs."""


def forked(command: Callable[[], Result]) -> Result:
    """The result of a command that ran in a fork. Raises: RuntimeError when the fork died of it."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _end_with(command, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read()
    _, status = os.waitpid(child, 0)
    if not answer:
        raise RuntimeError(f"the command died: status {os.waitstatus_to_exitcode(status)}")
    code, output, errors = json.loads(answer)
    return cast(int, code), cast(str, output), cast(str, errors)


def status_in(folder: Path, words: Sequence[str]) -> int:
    """The exit status of `stepwell` in a folder, whose cache it uses, in a fork."""

    def run() -> Result:
        os.chdir(folder)
        os.environ[CACHE.name] = str(folder / "cache")
        return cli.main(words), "", ""

    status, _, errors = forked(run)
    assert not errors, errors
    return status


def found_in(folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """The exit status of `stepwell` in a folder, and its results; none where it has ended with an error."""
    file = folder / "found.json"
    file.unlink(missing_ok=True)  # of a command before
    status = status_in(folder, [*words, "--json", file.name])
    return status, json.loads(file.read_text()) if file.exists() else {}


def _end_with(command: Callable[[], Result], writing: int) -> None:
    """Run a command in the fork, write the result, and end without the test runner's farewell."""
    try:
        result = command()
    except BaseException:
        result = 1, "", traceback.format_exc()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(json.dumps(result).encode())
    os._exit(0)
