"""The source of a loop script: text, location, captured names, and errors at lines."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any, cast

from stepwell.frontend.script.language import BUILTINS, WORDS
from stepwell.runtime.errors import StepwellError

GRAMMAR = (
    "a script has `for` over range, grid, parallel, vectorized and unrolled, `while`, `if`, `with block(…)`, "
    "assignments to names and to elements, calls of functions of stepwell.script and of other scripts, and "
    "`return`"
)
MOST_CHARS = 1 << 20


@dataclass(frozen=True)
class Source:
    """The definition of a script."""

    function: ast.FunctionDef
    lines: tuple[str, ...]
    file: str
    first: int
    """The number of lines of the file before the text."""
    names: Mapping[str, object]
    """The values of names that the script does not assign itself."""

    @staticmethod
    def of_function(function: Callable[..., object]) -> Source:
        """The source of a Python function. Raises: StepwellError `script-syntax` where there is none."""
        from inspect import getclosurevars, getsourcefile, getsourcelines
        from textwrap import dedent

        name = getattr(function, "__name__", "the script")
        try:
            lines, first = getsourcelines(function)
            file = getsourcefile(function) or ""
        except (OSError, TypeError):
            message = f"the source of {name} is not in a file"
            help = "give the text itself: script(text)"
            raise StepwellError("script-syntax", None, message, help=help) from None
        text = dedent("".join(lines))
        known = {**BUILTINS, "range": range, **cast("Any", function).__globals__}
        names = {**known, **getclosurevars(function).nonlocals}
        return Source(
            _definitions(text, file, first - 1)[-1], tuple(text.splitlines()), file, first - 1, names
        )

    @staticmethod
    def of_text(text: str, file: str = "<script>") -> list[Source]:
        """The scripts of a text, in order; nothing of it runs. Raises: StepwellError `script-syntax`."""
        if len(text) > MOST_CHARS:
            message = f"the script has {len(text)} characters, at most {MOST_CHARS}"
            raise StepwellError("script-syntax", file, message)
        lines = tuple(text.splitlines())
        return [Source(function, lines, file, 0, WORDS) for function in _definitions(text, file, 0)]

    def knowing(self, names: Mapping[str, object]) -> Source:
        """The same definition, with further names that it may use."""
        return replace(self, names={**self.names, **names})

    def error_at(self, code: str, node: ast.AST, message: str, help: str | None = None) -> StepwellError:
        """An error at a node, with its line and a caret."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        excerpt = [text, " " * column + "^"] if text else []
        return StepwellError(code, self.place(node), message, help=help, excerpt=excerpt)

    def foreign(self, node: ast.AST, what: str) -> StepwellError:
        """The error of Python that is no part of scripts."""
        return self.error_at("script-syntax", node, f"a script has no {what}", GRAMMAR)

    def place(self, node: ast.AST) -> str:
        """The file, line and column of a node."""
        return f"{self.file}:{self.line(node)}:{getattr(node, 'col_offset', 0) + 1}"

    def line(self, node: ast.AST) -> int:
        """The line of a node in its file."""
        return self.first + getattr(node, "lineno", 1)

    def resolved(self, node: ast.expr) -> object:
        """The meaning of a name, or of an attribute of a module; None for an unknown name."""
        match node:
            case ast.Name(id=name):
                return self.names.get(name)
            case ast.Attribute(value=value, attr=attr):
                module = self.resolved(value)
                return getattr(module, attr, None) if isinstance(module, ModuleType) else None
            case _:
                return None


def _definitions(text: str, file: str, first: int) -> list[ast.FunctionDef]:
    """The functions of a text. Raises: StepwellError `script-syntax`."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        reason = getattr(error, "msg", None) or str(error) or type(error).__name__
        raise StepwellError("script-syntax", f"{file}:{first + line}", f"no Python: {reason}") from None
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    others = [n for n in body if not isinstance(n, ast.FunctionDef | ast.Import | ast.ImportFrom)]
    if not functions or others:
        place = f"{file}:{first + (others[0].lineno if others else 1)}"
        message = "a script is a function, and its text has functions and imports of stepwell.script alone"
        raise StepwellError("script-syntax", place, message)
    return functions
