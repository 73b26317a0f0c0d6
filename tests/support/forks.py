"""Commands in forks of this process: they start with all modules imported, and leave nothing behind."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable
from typing import cast

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


def _end_with(command: Callable[[], Result], writing: int) -> None:
    """Run a command in the fork, write the result, and end without the test runner's farewell."""
    try:
        result = command()
    except BaseException:
        result = 1, "", traceback.format_exc()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(json.dumps(result).encode())
    os._exit(0)
