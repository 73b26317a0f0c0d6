"""MLIR's nesting of pipelines, `builtin.module(a,func.func(b))`, as a flat list of passes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from xdsl.passes import ModulePass

from stepwell.passes.base import FunctionPass
from stepwell.runtime.errors import StepwellError

_MODULE, _FUNCTION = "builtin.module", "func.func"
_ON_ANY_OP = frozenset({"canonicalize", "cse", "dce"})
"""Passes of xDSL's that do the same to a module as to each of its functions."""
_TOKEN = re.compile(
    r'(?P<options>\{(?:"(?:[^"\\]|\\.)*"|[^"}])*\}?|\[[^\]]*\]?)|(?P<open>(?P<anchor>[\w.-]+)\s*\(\s*)'
    r"|(?P<close>\s*\))|(?P<comma>\s*,\s*)|(?P<name>[\w-]+)|."
)


def flattened(pipeline: str) -> tuple[str, list[bool]]:
    """
    A pipeline without `builtin.module(…)` and `func.func(…)`, and for each of its passes whether the latter
    contains it.

    Raises: StepwellError `bad-pipeline` for parentheses that do not match, and for other names before them.
    """
    text, in_function = "", list[bool]()
    around: list[re.Match[str]] = []
    was_closed = False
    for token in _TOKEN.finditer(pipeline):
        if was_closed and (token["open"] or token["name"]):
            raise _bad("expected a comma before this", pipeline, token.span(token.lastgroup or 0))
        was_closed = token["close"] is not None
        if token["open"]:
            _expect_anchor(token, around, pipeline)
            around.append(token)
        elif not was_closed:
            text += token["comma"].strip() if token["comma"] else token[0]
        elif around:
            around.pop()
        else:
            raise _bad("this parenthesis closes nothing", pipeline, (token.end() - 1, token.end()))
        if token["name"]:
            in_function.append(any(outer["anchor"] == _FUNCTION for outer in around))
    if around:
        start = around[-1].end("anchor")
        raise _bad("this parenthesis is not closed", pipeline, (start, start + 1))
    return text.strip(), in_function


def expect_function_passes(steps: Sequence[ModulePass], in_function: Sequence[bool]) -> None:
    """Require passes inside of `func.func(…)` to work on functions. Raises: StepwellError `bad-pipeline`."""
    for step, inside in zip(steps, in_function, strict=True):
        if inside and not isinstance(step, FunctionPass) and step.name not in _ON_ANY_OP:
            raise StepwellError(
                "bad-pipeline",
                None,
                f"{step.name} works on a whole module, not inside of {_FUNCTION}(…)",
                help=f"pipelines need no nesting: -p {','.join(map(str, steps))}",
            )


def _expect_anchor(token: re.Match[str], around: Sequence[re.Match[str]], pipeline: str) -> None:
    """Require functions in a module, and nothing else. Raises: StepwellError `bad-pipeline`."""
    name, outer = token["anchor"], [match["anchor"] for match in around]
    if name not in (_MODULE, _FUNCTION):
        message = f"passes run inside of {_MODULE}(…) and {_FUNCTION}(…), found {name}(…)"
    elif name == _MODULE and outer:
        message = f"{_MODULE}(…) is the outermost, found it inside of {outer[-1]}(…)"
    elif _FUNCTION in outer:
        message = "functions are not nested"
    else:
        return
    raise _bad(message, pipeline, token.span("anchor"))


def _bad(message: str, pipeline: str, span: tuple[int, int]) -> StepwellError:
    """The error for a part of a pipeline."""
    start, end = span
    return StepwellError(
        "bad-pipeline",
        f"pass-pipeline:1:{start + 1}",
        message,
        excerpt=[pipeline, " " * start + "^" * (end - start)],
        help="pipelines need no nesting: -p pass,pass{option=value}",
    )
