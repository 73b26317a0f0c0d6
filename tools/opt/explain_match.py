"""`stepwell-opt --explain-match`: the matches of a pattern; without any, the reason."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.traits import SymbolOpInterface

from stepwell.dialects._xdsl import StepwellContext
from stepwell.passes.base import bodies_of
from stepwell.passes.context import remark
from stepwell.patterns.backend_tables import entries_of_backend, names_backend
from stepwell.patterns.explanation import closest, located_name
from stepwell.patterns.files import load_patterns
from stepwell.patterns.nodes import Pattern
from stepwell.patterns.registry import unknown_name
from stepwell.runtime.errors import StepwellError


def explain_match(module: ModuleOp, which: str, ctx: StepwellContext) -> str:
    """
    A line for each match of a pattern, or the deepest partial match of each function.

    Args: `which` is `@name`, of a pattern or rule in the module, `file@name`, or `backend@name` of a row of a
    backend's table; a suffix `:location` restricts it to the ops of a line, or to ops whose location contains
    a text.
    Raises: StepwellError `no-file`, `bad-pattern`; `bad-option` when no op has the location.
    """
    file, _, name = which.rpartition("@")
    name, _, location = name.partition(":")
    patterns = _patterns_of(file, module, ctx)
    if name not in patterns:
        raise unknown_name("pattern", name, patterns, file)
    lines: list[str] = []
    for func in bodies_of(module):
        matched, nearest = closest(patterns[name], func, location)
        lines += [f"@{name} matches at {located_name(value)}" for value in matched]
        if nearest is not None:
            lines.append(f"@{name} in @{_symbol_of(func)}: {nearest}")
    if location and not lines:
        raise StepwellError(
            "bad-option",
            None,
            f"no op has the location {location!r}",
            help="give the number of a line with an op",
        )
    return "\n".join(lines)


def _patterns_of(place: str, module: ModuleOp, ctx: StepwellContext) -> dict[str, Pattern]:
    """The patterns of a file, of a backend's table, or of the module itself, by name."""
    if names_backend(place):
        return {entry.name: entry.pattern for entry in entries_of_backend(place)}
    found = load_patterns(place, module, ctx, remark)
    return found.patterns | {name: rule.pattern for name, rule in found.rules.items()}


def _symbol_of(func: Operation) -> str:
    interface = func.get_trait(SymbolOpInterface)
    name = interface.get_sym_attr_name(func) if interface is not None else None
    return name.data if name is not None else func.name
