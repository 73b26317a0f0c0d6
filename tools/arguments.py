"""Parsers of command lines whose errors are rendered like all other errors."""

from __future__ import annotations

import re
import sys
import warnings
from argparse import Action, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NoReturn, cast

from stepwell.runtime.errors import StepwellError, did_you_mean

_CHOICE = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)")
_UNKNOWN = "unrecognized arguments: "
_OPTION = re.compile(r"(?<!\S)--?[^\s=]+")

MAX_PORT = 65535
WRONG_USAGE = 2
"""The exit status of a command that was called in a wrong way."""


@contextmanager
def warnings_for_users() -> Generator[None]:
    """Print warnings without the source line of Stepwell that raised them, while the context is active."""
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
    """An argument parser that reports errors as `bad-usage`; also the class of subcommand parsers."""

    def parse_known_args(  # pyright: ignore[reportIncompatibleMethodOverride]  # the base has overloads
        self, args: Sequence[str] | None = None, namespace: Namespace | None = None
    ) -> tuple[Namespace, list[str]]:
        """The parsed arguments; an unknown argument is an error of the subcommand before it."""
        known, others = super().parse_known_args(args, namespace or Namespace())
        if others and "model" in known and not any(other.startswith("-") for other in others):
            self.error(f"{self.prog.split()[-1]} takes one MODEL, found {1 + len(others)}")
        if others:
            self.error(f"{_UNKNOWN}{' '.join(others)}")
        return known, []

    def error(self, message: str) -> NoReturn:
        help = f"{self._nearest(message)}`{self.prog} --help` lists what it takes"
        print(StepwellError("bad-usage", self.prog, message, help=help).render(), file=sys.stderr)
        self.exit(WRONG_USAGE)

    def _nearest(self, message: str) -> str:
        """The help text with the nearest known choice or option, for an error message of argparse."""
        if choice := _CHOICE.search(message):
            return did_you_mean(choice[1], re.split(r"[', ]+", choice[2]))
        if not message.startswith(_UNKNOWN):
            return ""
        options = [option for action in self._actions for option in action.option_strings]
        hints = (did_you_mean(word, options) for word in _OPTION.findall(message))
        return next(filter(None, hints), "")

    @property
    def actions(self) -> Sequence[Action]:
        """The arguments, `--help` and commands too."""
        return self._actions

    @property
    def parts(self) -> Mapping[str, CommandLine]:
        """The parsers of the parts of a command by name, such as `serve` of `stepwell rpc`."""
        found = next((action.choices for action in self._actions if action.dest == "part"), None)
        return cast("Mapping[str, CommandLine]", found or {})

    def arguments(self) -> Iterator[tuple[str, str]]:
        """Each argument but `--help`, as it is written, and its help text: for the page of commands."""
        for action in sorted(self._actions, key=lambda action: bool(action.option_strings)):
            if "--help" in action.option_strings or action.dest == "command":
                continue
            value = action.metavar or (action.choices and ",".join(map(str, action.choices))) or action.dest
            names = [f"{o} {value}" if action.nargs != 0 else o for o in action.option_strings]
            yield ", ".join(names) or f"{value}{'…' * (action.nargs == '+')}", action.help or ""


def port(text: str) -> int:
    """A port's number, 0 for any. Raises: ArgumentTypeError, which argparse reports."""
    if not (text.isascii() and text.isdecimal() and int(text[:6]) <= MAX_PORT):
        raise ArgumentTypeError(f"expected a number from 0 to {MAX_PORT}, found {text!r}")
    return int(text)


def positive(text: str, least: int = 1) -> int:
    """An integer of at least 1, or of at least `least`. Raises: ArgumentTypeError."""
    if not text.isdecimal() or int(text) < least:
        raise ArgumentTypeError(f"expected a number from {least} on, found {text!r}")
    return int(text)
