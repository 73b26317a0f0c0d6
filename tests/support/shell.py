"""A small shell inside the process: runs `RUN` lines and documented commands without spawning anything."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest.mock import patch

Tool = Callable[[Sequence[str]], int]


@dataclass(frozen=True)
class Outcome:
    """
    The outcome of a command line: exit status (nonzero when any stage failed), last output, all error output.
    """

    status: int
    stdout: str
    stderr: str


def run_line(line: str, substitutions: Mapping[str, str] | None = None) -> Outcome:
    """
    Run `tool args | tool args`: `not` inverts the exit status, `2>&1` joins the outputs, `> file` writes one,
    `&&` goes on to another pipeline unless one failed.

    Args: `substitutions` maps placeholders, such as `%s`, to their text.
    Raises: ValueError for a tool that does not run in process.
    """
    for mark, value in (substitutions or {}).items():
        line = line.replace(mark, shlex.quote(value))
    output, errors, status = "", "", 0
    for separator, words in _stages(line):
        if separator == "&&":
            if status:
                break
            output = ""
        outcome = _run_stage(words, output)
        output = outcome.stdout
        errors += outcome.stderr
        status = status or outcome.status
    return Outcome(status, output, errors)


def _stages(line: str) -> list[tuple[str, list[str]]]:
    """The commands of a line, each with the operator before it: `|`, `&&`, or nothing."""
    stages: list[tuple[str, list[str]]] = [("", [])]
    for word in shlex.split(line):
        if word in ("|", "&&"):
            stages.append((word, []))
        else:
            stages[-1][1].append(word)
    return stages


def _run_stage(words: list[str], stdin: str) -> Outcome:
    inverted = words[0] == "not"
    joined = "2>&1" in words
    target = words[words.index(">") + 1] if ">" in words else None
    name, *args = [w for w in words[: words.index(">") if target else None] if w != "2>&1"][inverted:]
    if name not in TOOLS:
        raise ValueError(f"{name} does not run inside the test process: use one of {', '.join(TOOLS)}")
    stdout = io.StringIO()
    stderr = stdout if joined else io.StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr), patch.object(sys, "stdin", _stdin(stdin)):
        try:
            status = TOOLS[name](args)
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    if target is not None:
        with open(target, "w", encoding="utf-8") as file:
            file.write(stdout.getvalue())
    text = "" if target is not None else stdout.getvalue()
    return Outcome(int(not status) if inverted else status, text, "" if joined else stderr.getvalue())


def _stdin(text: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(text.encode()), encoding="utf-8")


def _stepwell_opt(argv: Sequence[str]) -> int:
    from stepwell.tools.opt import main

    return main(argv)


def _stepwell(argv: Sequence[str]) -> int:
    from stepwell.tools.cli import main

    return main(argv)


def _filecheck(argv: Sequence[str]) -> int:
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options

    return Matcher.from_opts(parse_argv_options(["filecheck", *argv])).run()


def _cat(argv: Sequence[str]) -> int:
    for name in argv:
        with open(name, encoding="utf-8") as file:
            sys.stdout.write(file.read())
    return 0


TOOLS: dict[str, Tool] = {
    "stepwell": _stepwell,
    "stepwell-opt": _stepwell_opt,
    "filecheck": _filecheck,
    "cat": _cat,
}
