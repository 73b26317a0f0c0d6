"""Reading programs for the commands: IR as text, one file or standard input, whole or in parts."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.runtime.errors import StepwellError

SPLIT_MARK = "// -----"


@dataclass(frozen=True)
class Source:
    """A file of IR, or a part of one; that starts with as many empty lines as precede it in the file."""

    name: str
    text: str


def read_sources(name: str, *, split: bool = False) -> list[Source]:
    """
    The parts of a file (`-`: standard input); one part unless `split`, which cuts at lines `// -----`.

    Raises: StepwellError `cannot-read`.
    """
    text = sys.stdin.read() if name == "-" else _read_text(name)
    name = "<stdin>" if name == "-" else name
    if not split:
        return [Source(name, text)]
    sources: list[Source] = []
    lines_before = 0
    for part in text.split(SPLIT_MARK):
        sources.append(Source(name, "\n" * lines_before + part))
        lines_before += part.count("\n")
    return sources


def _read_text(name: str) -> str:
    try:
        with open(name, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise StepwellError("cannot-read", name, str(error)) from None


def read_module(ctx: StepwellContext, source: Source) -> ModuleOp:
    """
    Parse a source; it is not verified.

    Raises: StepwellError `syntax`.
    """
    return parse_module(ctx, source.text, source.name)
