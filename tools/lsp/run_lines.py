"""`// RUN:` lines, run inside the process: the commands of a line as functions, without a shell."""

from __future__ import annotations

import io
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from glob import glob
from unittest.mock import patch

Tool = Callable[[Sequence[str]], int]
Result = tuple[int, str, str]
"""An exit status, and what was written to both outputs."""


@dataclass(frozen=True)
class Outcome:
    """
    The outcome of a command line: exit status (nonzero when any stage failed), last output, all error output.
    """

    status: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Stage:
    """A command of a line, the operator before it (`|`, `&&`, or nothing), and its redirections."""

    operator: str
    words: Sequence[str]
    inverted: bool
    """Whether `not` comes before it."""
    file: str
    """Where its output goes, if not on."""
    errors: str
    """`&1`: with the output; `pipe`: to where the output went before it was redirected."""


def stages_of(line: str, substitutions: Mapping[str, str] | None = None) -> list[Stage]:
    """
    The commands of a line.

    Args: `substitutions` maps placeholders, such as `%s`, to their text.
    Raises: ValueError for quotes that do not end.
    """
    for mark, value in (substitutions or {}).items():
        line = line.replace(mark, shlex.quote(value))
    found: list[tuple[str, list[str]]] = [("", [])]
    for word in shlex.split(line, comments=True):
        if word in ("|", "&&"):
            found.append((word, []))
        else:
            found[-1][1].extend(sorted(glob(word)) or [word])
    return [_stage(operator, words) for operator, words in found]


def _stage(operator: str, words: list[str]) -> Stage:
    kept: list[str] = []
    file = errors = ""
    waiting = iter(words)
    for word in waiting:
        if word == "2>&1":
            errors = "&1"
        elif word.startswith(">"):
            file = word[1:] or next(waiting, "")
            errors = "pipe" if errors else ""
        else:
            kept.append(word)
    inverted = kept[:1] == ["not"]
    return Stage(operator, kept[inverted:], inverted, file, errors)


def run_stages(stages: Sequence[Stage], run: Callable[[Stage, str], Result]) -> Outcome:
    """
    The outcome of a line: `not` inverts the exit status, `&&` goes on to another pipeline unless one failed.

    Args: `run` runs a stage with its standard input, such as `run_tool`.
    """
    output, errors, status = "", "", 0
    for stage in stages:
        if stage.operator == "&&":
            if status:
                break
            output = ""
        code, output, told = run(stage, output)
        if stage.file:
            with open(stage.file, "w", encoding="utf-8") as file:
                file.write(output)
            output = ""
        if stage.errors == "pipe":  # `2>&1 >file`: errors take the place of the output
            output, told = told, ""
        errors += told
        status = status or (int(not code) if stage.inverted else code)
    return Outcome(status, output, errors)


def run_tool(tool: Tool, stage: Stage, stdin: str) -> Result:
    """Run a tool as a command; returns its exit status and what it writes to both outputs."""
    stdout = io.StringIO()
    stderr = stdout if stage.errors == "&1" else io.StringIO()
    given = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    with redirect_stdout(stdout), redirect_stderr(stderr), patch.object(sys, "stdin", given):
        try:
            status = tool(stage.words[1:])
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    return status, stdout.getvalue(), "" if stderr is stdout else stderr.getvalue()


def stepwell_opt(argv: Sequence[str]) -> int:
    """The command `stepwell-opt`."""
    from stepwell.tools.opt import main

    return main(argv)


def filecheck(argv: Sequence[str]) -> int:
    """The command `filecheck`, of the package of this name. Raises: ImportError without it."""
    from filecheck.matcher import Matcher
    from filecheck.options import parse_argv_options

    return Matcher.from_opts(parse_argv_options(["filecheck", *argv])).run()
