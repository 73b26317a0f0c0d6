"""`--json` of every command: what it found out, as JSON, alone on standard output or in a file."""

from __future__ import annotations

import json
import sys
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from math import isfinite
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np

from stepwell.runtime.files.whole_files import check_place, write_text
from stepwell.runtime.interface import TensorSpec
from stepwell.runtime.model_info import TensorInfo

Facts: TypeAlias = dict[str, object]

OPTION = "--json"
STANDARD_OUTPUT = "-"


def add_json(parser: ArgumentParser, *, is_part: bool = False) -> None:
    """Add `--json`, with a file's name or without. Args: `is_part` of a command that has it too."""
    parser.add_argument(
        OPTION,
        default=SUPPRESS if is_part else None,
        nargs="?",
        const=STANDARD_OUTPUT,
        type=_place,
        metavar="F.json",
        help="the results as JSON, in a file, or alone on standard output (without a name, or -)",
    )


def with_joined_places(arguments: Sequence[str]) -> list[str]:
    """
    Arguments in which `--json` is one word with its value: `--json MODEL` has none, as a value is `-` or ends
    in `.json`.
    """
    joined: list[str] = []
    for argument in arguments:
        if joined and joined[-1] == OPTION:
            joined[-1] = f"{OPTION}={argument if _is_place(argument) else STANDARD_OUTPUT}"
            if _is_place(argument):
                continue
        joined.append(argument)
    return joined


def _is_place(text: str) -> bool:
    return text == STANDARD_OUTPUT or text.endswith(".json")


def _place(text: str) -> str:
    if not _is_place(text):
        raise ArgumentTypeError(f"expected - or a name that ends in .json, found {text!r}")
    return text


@contextmanager
def facts_as_json(place: str | None) -> Generator[Facts]:
    """
    A dictionary for a command's results, which is written when the context ends, unless by an error.

    On standard output it is alone: all else that is printed in between goes to standard error.

    Args: `place` is the value of `--json`; None writes nothing.
    Raises: StepwellError `cannot-write`, before the command has done its work where that can be seen.
    """
    facts: Facts = {}
    if place is None:
        yield facts
        return
    if place != STANDARD_OUTPUT:
        check_place(Path(place))
        yield facts
        write_text(Path(place), _text(facts))
        return
    with redirect_stdout(sys.stderr):
        yield facts
    sys.stdout.write(_text(facts))


def _text(facts: Facts) -> str:
    return json.dumps(_plain(facts), indent=1, allow_nan=False) + "\n"


def _plain(value: object) -> object:
    """A value as JSON has it: paths as text, numbers that are not finite as null."""
    match value:
        case Mapping():
            items = cast("Mapping[object, object]", value).items()
            return {str(key): _plain(part) for key, part in items}
        case np.generic():
            return _plain(cast(object, value.item()))
        case str() | bool() | int() | None:
            return value
        case float():
            return value if isfinite(value) else None
        case list() | tuple():
            return [_plain(part) for part in cast("Sequence[object]", value)]
        case _:
            return str(value)


def tensor_facts(specs: Iterable[TensorSpec]) -> list[Facts]:
    """Inputs or outputs as JSON values: name, shape (open sizes as text), element type."""
    infos = map(TensorInfo.of, specs)
    return [
        {"name": info.name, "shape": info.shape, "dtype": str(info.dtype), "type": info.type}
        for info in infos
    ]
