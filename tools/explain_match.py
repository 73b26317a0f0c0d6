"""`stepwell-opt --explain-match`: where a pattern matches; if nowhere, what stopped it."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.passes.base import functions_of
from stepwell.passes.context import remark
from stepwell.patterns.explain import closest, place_of
from stepwell.patterns.files import load_patterns
from stepwell.patterns.registry import unknown_name
from stepwell.runtime.errors import StepwellError


def explain_match(module: ModuleOp, which: str, ctx: StepwellContext) -> str:
    """
    A line for each match of a pattern, or the deepest partial match of each function.

    Args: `which` is `@name`, of a pattern or rule in the module, or `file@name`; `:location` behind it keeps
    to the ops of a line, or to those whose location holds a text.
    Raises: StepwellError `no-file`, `bad-pattern`; `no-op` when no op is there.
    """
    file, _, name = which.rpartition("@")
    name, _, location = name.partition(":")
    found = load_patterns(file, module, ctx, remark)
    patterns = found.patterns | {name: rule.pattern for name, rule in found.rules.items()}
    if name not in patterns:
        raise unknown_name("pattern", name, patterns, file)
    lines: list[str] = []
    for func in functions_of(module):
        matched, nearest = closest(patterns[name], func, location)
        lines += [f"@{name} matches at {place_of(value)}" for value in matched]
        if nearest is not None:
            lines.append(f"@{name} in @{func.sym_name.data}: {nearest}")
    if location and not lines:
        raise StepwellError(
            "no-op", None, f"no op has the location {location!r}", help="give a line's number"
        )
    return "\n".join(lines)
