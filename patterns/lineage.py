"""Chains of rewrites, each applied to the result of the one before, by which endless rules are detected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.plugins import plugin_of

MAX_DEPTH = 100


@dataclass(frozen=True)
class _Line:
    """The history of an op: the number of rewrites that led to it, and the last two different rules."""

    depth: int = 0
    last: object = None
    before: object = None

    def grown(self, rule: object) -> _Line:
        return _Line(self.depth + 1, rule, self.before if self.last == rule else self.last)


class Lineage:
    """The rewrite history of all ops of a function, for one run of rules."""

    def __init__(self, where: Operation | None, max_depth: int, help: str):
        self.max_depth = max_depth
        self._where = where
        self._help = help
        self._lines: dict[Operation, _Line] = {}

    def note(self, rule: object, root: Operation, changed: Sequence[Operation]) -> None:
        """
        Record that a rule replaced `root` by the `changed` ops, or changed `root` in place. Raises:
        StepwellError `endless-rules`.
        """
        grown = self._lines.get(root, _Line()).grown(rule)
        if changed and grown.depth >= self.max_depth:
            raise self._endless(grown)
        for op in changed:
            self._lines[op] = grown

    def endless(self) -> StepwellError:
        """The error for rules that never end; names the last rules of the longest chain."""
        return self._endless(max(self._lines.values(), key=lambda line: line.depth))

    def _endless(self, line: _Line) -> StepwellError:
        rules = [rule for rule in (line.before, line.last) if rule is not None]
        names = " and ".join(getattr(rule, "__name__", str(rule)) for rule in rules)
        works_on = "works on what it makes" if line.before is None else "work on what the other makes"
        plugins = dict.fromkeys(plugin_of(getattr(rule, "callback", rule)) for rule in rules)
        files = [file for file in plugins if file is not None]
        return StepwellError(
            "endless-rules",
            self._where,
            f"rewriting does not end: {names} {works_on}, {line.depth} times in a row",
            note=[f"a rule of the plugin {file}" for file in files],
            help="let no rule match what it or another makes" if files else self._help,
        )
