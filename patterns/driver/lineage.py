"""Chains of rewrites, each applied to the result of the one before, which tell endless ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import Operation

from stepwell.runtime.errors import StepwellError, describe_location
from stepwell.runtime.plugins import plugin_of

MAX_DEPTH = 100


def origin_of(pattern: object) -> object:
    """
    The class of a rewrite pattern, or the `origin` of one that stands for it: a rule, a function of a plugin.
    """
    return getattr(pattern, "origin", None) or type(pattern)


def name_of(pattern: object) -> str:
    """The name of a pattern in errors, counts and logs."""
    return _shown(origin_of(pattern))


def _shown(origin: object) -> str:
    return str(getattr(origin, "__name__", origin))


@dataclass(frozen=True)
class _Line:
    """The history of an op: the number of rewrites that led to it, and the last two different patterns."""

    depth: int = 0
    last: object = None
    before: object = None

    def grown(self, origin: object) -> _Line:
        return _Line(self.depth + 1, origin, self.before if self.last == origin else self.last)


class Lineage:
    """The rewrite history of all ops of a function, for one run of patterns."""

    def __init__(self, where: Operation | None, max_depth: int, help: str):
        self.max_depth = max_depth
        self._where = where
        self._help = help
        self._lines: dict[Operation, _Line] = {}

    def note(self, pattern: object, matched: Sequence[Operation], made: Sequence[Operation]) -> None:
        """
        Record that a pattern rewrote the `matched` ops: to the ops `made`, or in place where they remain.

        Raises: StepwellError `endless-rules`, which names the pattern and an op.
        """
        lines = self._lines
        longest = max((lines.get(op, _Line()) for op in matched), key=lambda line: line.depth)
        grown = longest.grown(origin_of(pattern))
        changed = [*made, *(op for op in matched if op.parent is not None)]
        if changed and grown.depth >= self.max_depth:
            raise self._endless(grown, matched[-1])
        for op in changed:
            lines[op] = grown

    def endless(self) -> StepwellError:
        """The error for patterns that never end; names the last patterns of the longest chain."""
        op, line = max(self._lines.items(), key=lambda item: item[1].depth)
        return self._endless(line, op)

    def _endless(self, line: _Line, op: Operation) -> StepwellError:
        origins = [origin for origin in (line.before, line.last) if origin is not None]
        names = " and ".join(map(_shown, origins))
        works_on = "works on what it makes" if line.before is None else "work on what the other makes"
        plugins = dict.fromkeys(plugin_of(getattr(origin, "callback", origin)) for origin in origins)
        files = [file for file in plugins if file is not None]
        return StepwellError(
            "endless-rules",
            describe_location(op) or self._where,
            f"rewriting does not end: {names} {works_on}, {line.depth} times in a row, at {op.name}",
            note=[f"a pattern of the plugin {file}" for file in files],
            help="let no pattern match what it or another makes" if files else self._help,
        )
