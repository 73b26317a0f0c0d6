"""A program as text with a pipeline, and the options of `stepwell-opt` for a run."""

from __future__ import annotations

import re
import shlex
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from io import StringIO
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp
from xdsl.printer import Printer
from xdsl.traits import IsTerminator

from stepwell.runtime.errors import StepwellError
from stepwell.tools.opt.command import command_line

_RUN = re.compile(r"^//\s*RUN:\s*(?:not\s+)?(stepwell-opt\s.*?)\s*$", re.MULTILINE)
_SHELL = ("|", "&&", ">", "2>&1")
_VALUES = ("load", "disable_pass", "require_pass", "config")
"""Options that may be given again."""


@dataclass(frozen=True)
class IrCase:
    """A module's text, and passes that run on it."""

    text: str
    passes: tuple[str, ...]
    ops: int

    @staticmethod
    def of(module: ModuleOp, passes: Sequence[str], *, locations: bool = False) -> IrCase:
        """The case of a module, which is printed, with or without locations."""
        stream = StringIO()
        Printer(stream, print_debuginfo=locations).print_op(module)
        return IrCase(stream.getvalue() + "\n", tuple(passes), count_ops(module))

    @property
    def key(self) -> bytes:
        """A hash of the text and of the passes."""
        return blake2b("\0".join([self.text, *self.passes]).encode(), digest_size=16).digest()

    @property
    def pipeline(self) -> str:
        """The passes as the text of a pipeline."""
        return ",".join(self.passes)

    def __len__(self) -> int:
        return self.ops


def count_ops(module: ModuleOp) -> int:
    """The number of ops in a module's functions, without the functions and the ends of blocks."""
    inner = (op for function in module.ops for op in function.walk() if op is not function)
    return sum(not op.has_trait(IsTerminator) for op in inner)


def run_arguments(path: Path, text: str, pipeline: str | None, options: Sequence[str]) -> Namespace:
    """
    The arguments of `stepwell-opt` for a file: its own `RUN` line's, unless a pipeline is given, and options.

    No shell reads the line: what follows the command is ignored.

    Raises: StepwellError `bad-usage` without either, or for a line that the command does not take.
    """
    words = [] if pipeline is not None else _words_of_line(path, text)
    given = ["-p", pipeline] if pipeline is not None else []
    try:
        return command_line().parse_args([str(path), *words, *given, *options])
    except SystemExit:  # the parser has said why
        line = shlex.join(["stepwell-opt", str(path), *words, *given, *options])
        raise StepwellError("bad-usage", str(path), f"cannot read the options of: {line}") from None


def _words_of_line(path: Path, text: str) -> list[str]:
    match = _RUN.search(text)
    if match is None:
        help = "give the passes: -p PASS,PASS{option=value}"
        raise StepwellError(
            "bad-usage", str(path), "no pipeline, and no `// RUN: stepwell-opt` line", help=help
        )
    try:
        words = shlex.split(match[1])[1:]
    except ValueError as error:
        raise StepwellError("bad-usage", str(path), f"its `// RUN:` line cannot be read: {error}") from None
    end = next((index for index, word in enumerate(words) if word.startswith(_SHELL)), len(words))
    return [word.replace("%S", str(path.parent)) for word in words[:end] if word != "%s"]


def deciding_options(args: Namespace) -> list[str]:
    """The options of `stepwell-opt` that change the effect of passes, as arguments."""
    return list(_deciding(args))


def _deciding(args: Namespace) -> Iterator[str]:
    for name in _VALUES:
        for value in getattr(args, name):
            yield from (f"--{name.replace('_', '-')}", value)
    for limited, number in args.rewrite_limit:
        yield from ("--rewrite-limit", f"{limited}={number}")
    if args.opt_level is not None:
        yield from ("--opt-level", str(args.opt_level))
    for name in ("allow_unregistered_dialect", "verify_each"):
        if getattr(args, name):
            yield f"--{name.replace('_', '-')}"
