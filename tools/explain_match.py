"""`stepwell-opt --explain-match`: where a pattern matches; if nowhere, what stopped it."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.passes.base import functions_of
from stepwell.passes.context import remark
from stepwell.patterns.explain import closest, place_of
from stepwell.patterns.files import load_patterns
from stepwell.patterns.registry import unknown_name


def explain_match(module: ModuleOp, which: str, ctx: StepwellContext) -> str:
    """
    A line for each match of a pattern, or the deepest partial match of each function.

    Args: `which` is `@name`, of a pattern or rule in the module, or `file@name`.
    Raises: StepwellError `no-file`, `bad-pattern`.
    """
    file, _, name = which.rpartition("@")
    found = load_patterns(file, module, ctx, remark)
    patterns = found.patterns | {name: rule.pattern for name, rule in found.rules.items()}
    if name not in patterns:
        raise unknown_name("pattern", name, patterns, file)
    lines: list[str] = []
    for func in functions_of(module):
        matched, nearest = closest(patterns[name], func)
        lines += [f"@{name} matches at {place_of(value)}" for value in matched]
        if nearest is not None:
            lines.append(f"@{name} in @{func.sym_name.data}: {nearest}")
    return "\n".join(lines)
