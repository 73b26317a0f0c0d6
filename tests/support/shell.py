"""A small shell inside the process: runs `RUN` lines and documented commands without spawning anything."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from glob import glob
from unittest.mock import patch

from tests.support.forks import forked

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
    Run `tool args | tool args`: `not` inverts the exit status, `&&` goes on to another pipeline unless one
    failed, `2>&1` and `> file` direct outputs as in a shell, `*` stands for names of files, and a comment
    ends the line. Plugins that a tool loads are gone after it.

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


def runs_in_process(line: str) -> bool:
    """Whether all tools of a line are known here."""
    return all(words[words[0] == "not"] in TOOLS for _, words in _stages(line))


def _stages(line: str) -> list[tuple[str, list[str]]]:
    """The commands of a line, each with the operator before it: `|`, `&&`, or nothing."""
    stages: list[tuple[str, list[str]]] = [("", [])]
    for word in shlex.split(line, comments=True):
        if word in ("|", "&&"):
            stages.append((word, []))
        else:
            stages[-1][1].extend(sorted(glob(word)) or [word])
    return stages


def _run_stage(words: list[str], stdin: str) -> Outcome:
    words, redirected = _split(words)
    inverted = words[0] == "not"
    name, *args = words[inverted:]
    if name not in TOOLS:
        raise ValueError(f"{name} does not run inside the test process: use one of {', '.join(TOOLS)}")

    def run() -> tuple[int, str, str]:
        return _run_tool(TOOLS[name], args, stdin, is_joined=redirected[1] == "&1")

    status, output, errors = forked(run) if "--load" in args else run()
    if redirected[0]:
        with open(redirected[0], "w", encoding="utf-8") as file:
            file.write(output)
        output = ""
    if redirected[1] == "pipe":  # `2>&1 >file`: errors take the place of the output
        output, errors = errors, ""
    return Outcome(int(not status) if inverted else status, output, errors)


def _split(words: list[str]) -> tuple[list[str], tuple[str, str]]:
    """
    A command without its redirections; the file for its output, and where errors go: `&1` with the output,
    `pipe` to where the output went before it was redirected.
    """
    kept: list[str] = []
    file = errors = ""
    waiting = iter(words)
    for word in waiting:
        if word == "2>&1":
            errors = "&1"
        elif word.startswith(">"):
            file = word[1:] or next(waiting)
            errors = "pipe" if errors else ""
        else:
            kept.append(word)
    return kept, (file, errors)


def _run_tool(tool: Tool, args: Sequence[str], stdin: str, *, is_joined: bool) -> tuple[int, str, str]:
    """Run a tool; returns its exit status and what it writes to both outputs."""
    stdout = io.StringIO()
    stderr = stdout if is_joined else io.StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr), patch.object(sys, "stdin", _stdin(stdin)):
        try:
            status = tool(args)
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return status, stdout.getvalue(), "" if is_joined else stderr.getvalue()


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
