"""Patterns of users for names of the model's nodes, with `*`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase

from stepwell.runtime.errors import StepwellError, did_you_mean

_MOST_SHOWN = 8


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern matches a name, or is the name."""
    return fnmatchcase(name, pattern) or name == pattern


def matching(patterns: Sequence[str], names: Collection[str], option: str) -> set[str]:
    """The names that patterns match. Raises: StepwellError `bad-option` for one that matches none."""
    found: set[str] = set()
    for pattern in patterns:
        matched = [name for name in names if matches(name, pattern)]
        if not matched:
            near = did_you_mean(pattern, names).strip() or f"nodes are {_some(names)}"
            raise StepwellError("bad-option", None, f"{option} matches no node: {pattern!r}", help=near)
        found.update(matched)
    return found


def _some(names: Collection[str]) -> str:
    """The first names as text."""
    return ", ".join([*names][:_MOST_SHOWN]) + (", …" if len(names) > _MOST_SHOWN else "")
