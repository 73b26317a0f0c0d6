"""Command lines: what is wrong with one is said as any other error is."""

from __future__ import annotations

import sys
import warnings
from argparse import ArgumentParser
from collections.abc import Generator
from contextlib import contextmanager
from typing import NoReturn

from stepwell.runtime.errors import StepwellError

WRONG_USAGE = 2
"""The exit status of a command that was called in a wrong way."""


@contextmanager
def warnings_for_users() -> Generator[None]:
    """Warnings without the line of ours that gave them."""
    before, warnings.formatwarning = warnings.formatwarning, _formatted
    try:
        yield
    finally:
        warnings.formatwarning = before


def _formatted(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    return f"warning: {message}\n"


class CommandLine(ArgumentParser):
    """A parser of arguments whose errors look like ours; subcommands are parsed by it too."""

    def error(self, message: str) -> NoReturn:
        help = f"`{self.prog} --help` lists what it takes"
        print(StepwellError("bad-usage", self.prog, message, help=help).render(), file=sys.stderr)
        self.exit(WRONG_USAGE)
