"""
`stepwell __complete SHELL ARGUMENT…`: candidates for the last argument of a command line, from the parsers.

The scripts of `stepwell completion` call it at each Tab; a line of its output is a candidate, a tab, a text.
"""

from __future__ import annotations

import os
import re
from argparse import SUPPRESS, Action
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from stepwell.tools.arguments import CommandLine

_ALL_FILES = ("FILE", "DIR", "FOLDER")
_SUFFIX = re.compile(r"F(\.\w+)")


class Candidate(NamedTuple):
    """A way to complete a text, and what it means."""

    text: str
    meaning: str = ""


def complete(shell: str, words: Sequence[str]) -> list[Candidate]:
    """
    The candidates for the last argument of a command line, which begins with the name of a program of ours.

    Args: `shell` decides what a candidate replaces: bash splits arguments at `=`.
    """
    name, *given, current = _joined(words)
    parser, given = _parser(Path(name).name, given)
    action, kept = _expected(parser, given), ""
    if current.startswith("-") and (action is None or not action.option_strings):
        option, equals, value = current.partition("=")
        if not equals:
            return [c for c in _options(parser) if c.text.startswith(current)]
        action, current = _option(parser, option), value
        kept = "" if shell == "bash" else f"{option}="
    if action is None:
        return []
    found = (c for c in _values(action, current) if c.text.startswith(current))
    return [Candidate(kept + c.text, " ".join(c.meaning.split())) for c in found]


def _joined(words: Sequence[str]) -> list[str]:
    """The arguments of a line that bash has split at `=`."""
    joined: list[str] = []
    for word in words:
        if joined and (word == "=" or joined[-1].endswith("=")) and joined[-1].startswith("--"):
            joined[-1] += word
        else:
            joined.append(word)
    return joined


def _parser(program: str, given: Sequence[str]) -> tuple[CommandLine, Sequence[str]]:
    """The parser of a line, and the arguments after its name."""
    if program == "stepwell-opt":
        from stepwell.tools.opt.command import command_line

        return command_line(), given
    from stepwell.tools.cli import COMMANDS, command_lines

    at = next((i for i, word in enumerate(given) if not word.startswith("-")), len(given))
    chosen = given[at] if at < len(given) else ""
    parsers = command_lines((chosen,) if chosen in COMMANDS else ())
    return _part(parsers[chosen], given[at + 1 :]) if chosen in COMMANDS else (parsers["stepwell"], given)


def _part(parser: CommandLine, given: Sequence[str]) -> tuple[CommandLine, Sequence[str]]:
    """The parser of a command, or of a given part, and the arguments after the name."""
    at = next((i for i, word in enumerate(given) if word in parser.parts), None)
    return (parser, given) if at is None else (parser.parts[given[at]], given[at + 1 :])


def _option(parser: CommandLine, word: str) -> Action | None:
    return next((action for action in parser.actions if word in action.option_strings), None)


def _expected(parser: CommandLine, given: Sequence[str]) -> Action | None:
    """The argument whose value comes next: an option's, else that of a position."""
    pending: Action | None = None
    positions = 0
    for word in given:
        if pending is not None:
            pending = None
        elif word.startswith("-") and word != "-":
            action = _option(parser, word)
            pending = action if action is not None and action.nargs not in (0, "?") else None
        else:
            positions += 1
    if pending is not None:
        return pending
    positional = [action for action in parser.actions if not action.option_strings]
    if positional and positions >= len(positional):
        return positional[-1] if positional[-1].nargs in ("+", "*") else None
    return positional[positions] if positional else None


def _options(parser: CommandLine) -> Iterator[Candidate]:
    for action in parser.actions:
        if action.help != SUPPRESS:
            yield from (Candidate(option, action.help or "") for option in action.option_strings)


def _values(action: Action, current: str) -> Iterable[Candidate]:
    """The values that an argument can have, as far as they are names or files."""
    choices = cast(object, action.choices)
    if isinstance(choices, Mapping):  # the commands, or the parts of one
        parts = cast("Mapping[str, CommandLine]", choices)
        return (Candidate(name, part.description or "") for name, part in parts.items())
    if action.choices is not None:
        return (Candidate(str(choice)) for choice in action.choices)
    if option := next((option for option in action.option_strings if option in _NAMES), None):
        before = current[: current.rfind(",") + 1] if option in _LISTS else ""
        return (Candidate(before + c.text, c.meaning) for c in _NAMES[option]())
    name = str(action.metavar or action.dest)
    if name in _ALL_FILES:
        return _files(current, () if name == "FILE" else ("/",))
    if suffix := _SUFFIX.fullmatch(name):
        return _files(current, (suffix[1],))
    suffixes = _suffixes(name)
    return _files(current, suffixes) if suffixes else ()


def _suffixes(name: str) -> tuple[str, ...]:
    """The suffixes of the files that an argument of a name may be; none for one that is no file."""
    from stepwell.frontend.formats import model_suffixes

    match name:
        case "MODEL":
            return (*model_suffixes(), ".mlir", ".stepwell")
        case "file":
            return (*model_suffixes(), ".mlir")
        case "PLUGIN":
            return (".py",)
        case _:
            return ()


def _files(current: str, suffixes: tuple[str, ...]) -> Iterator[Candidate]:
    """The files below a path that is being written whose names end so (or all), and the folders."""
    folder, name = os.path.split(current)
    try:
        entries = sorted(os.scandir(os.path.expanduser(folder) or "."), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.startswith(".") and not name.startswith("."):
            continue
        path = os.path.join(folder, entry.name)
        if entry.is_dir():
            yield Candidate(f"{path}/")
        elif not suffixes or entry.name.endswith(suffixes):
            yield Candidate(path)


def _passes() -> Iterator[Candidate]:
    from stepwell.passes.registry import all_passes

    return (Candidate(name, text) for name, text in all_passes().items())


def _backends() -> Iterator[Candidate]:
    from stepwell.runtime.backends import backend_names

    return map(Candidate, backend_names())


def _cpus() -> Iterator[Candidate]:
    from stepwell.runtime.machine.target import CPU_LEVELS

    return map(Candidate, CPU_LEVELS)


def _analyses() -> Iterator[Candidate]:
    from stepwell.passes.analysis.registry import ANALYSES

    return (Candidate(name, entry.summary) for name, entry in ANALYSES.items())


def _configs() -> Iterator[Candidate]:
    from stepwell.passes.context import list_configs

    return (Candidate(f"{key}=", str(option)) for key, option in list_configs().items())


_NAMES: Mapping[str, Callable[[], Iterator[Candidate]]] = {
    "--backend": _backends,
    "--config": _configs,
    "--disable-pass": _passes,
    "--mcpu": _cpus,
    "--passes": _passes,
    "--print-analysis": _analyses,
    "--print-ir-after": _passes,
    "--print-ir-before": _passes,
    "--require-pass": _passes,
}
"""The names that an option takes."""
_LISTS = ("--backend", "--passes")
"""The options that take several, with commas between."""


def main(arguments: Sequence[str]) -> int:
    """Print the candidates for a shell and its arguments; returns the exit status."""
    shell, *words = arguments
    for candidate in complete(shell, words):
        print(f"{candidate.text}\t{candidate.meaning}")
    return 0
