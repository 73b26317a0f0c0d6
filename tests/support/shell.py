"""A small shell inside the process: runs `RUN` lines and documented commands without spawning anything."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence

from stepwell.tools.lsp.run_lines import (
    Outcome,
    Result,
    Stage,
    Tool,
    filecheck,
    run_stages,
    run_tool,
    stages_of,
    stepwell_opt,
)
from tests.support.forks import forked


def run_line(line: str, substitutions: Mapping[str, str] | None = None) -> Outcome:
    """
    Run `tool args | tool args`, as `run_lines.py` does. Plugins that a tool loads are gone after it.

    Args: `substitutions` maps placeholders, such as `%s`, to their text.
    Raises: ValueError for a tool that does not run in process.
    """
    return run_stages(stages_of(line, substitutions), _run)


def runs_in_process(line: str) -> bool:
    """Whether all tools of a line are known here."""
    return all(stage.words[0] in TOOLS for stage in stages_of(line))


def _run(stage: Stage, stdin: str) -> Result:
    if (tool := TOOLS.get(stage.words[0])) is None:
        message = f"{stage.words[0]} does not run inside the test process: use one of {', '.join(TOOLS)}"
        raise ValueError(message)
    if "--load" in stage.words:
        return forked(lambda: run_tool(tool, stage, stdin))
    return run_tool(tool, stage, stdin)


def _stepwell(argv: Sequence[str]) -> int:
    from stepwell.tools.cli import main

    return main(argv)


def _cat(argv: Sequence[str]) -> int:
    for name in argv:
        with open(name, encoding="utf-8") as file:
            sys.stdout.write(file.read())
    return 0


def _filter(name: str) -> Tool:
    """A program that starts in a millisecond, unlike ours."""

    def run(argv: Sequence[str]) -> int:
        done = subprocess.run([name, *argv], input=sys.stdin.read(), stdout=subprocess.PIPE, text=True)
        sys.stdout.write(done.stdout)
        return done.returncode

    return run


TOOLS: dict[str, Tool] = {
    "stepwell": _stepwell,
    "stepwell-opt": stepwell_opt,
    "filecheck": filecheck,
    "cat": _cat,
    **{name: _filter(name) for name in ("grep", "head", "sed", "tail")},
}
