"""The calls around an error as lines of text: innermost and outermost ones, and how many are between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from stepwell.runtime.vm.program import Function

SHOWN = 5
"""The calls at each end that are shown."""
Call: TypeAlias = tuple[Function, int]
"""A function, and the number of its instruction."""


class Recorded(NamedTuple):
    """The calls around an error of which only some were recorded, the innermost first."""

    inner: Sequence[Call]
    outer: Sequence[Call]
    between: Mapping[str, int]
    """How many other calls there are of each function."""


def backtrace(calls: Sequence[Call]) -> tuple[str, list[str]]:
    """
    The location of an error, and a line for each call around it.

    Args: `calls` are functions with the number of an instruction each, the innermost first.
    """
    if len(calls) <= 2 * SHOWN + 1:
        return _place(*calls[0]), [_line(*call) for call in calls]
    between = Counter(function.name for function, _ in calls[SHOWN:-SHOWN])
    return recorded_backtrace(Recorded(calls[:SHOWN], calls[-SHOWN:], between))


def recorded_backtrace(calls: Recorded) -> tuple[str, list[str]]:
    """As `backtrace`, of calls of which those between are only counted."""
    most = sorted(calls.between.items(), key=lambda row: -row[1])
    skipped = ", ".join(f"{count:,} more of @{name}" for name, count in most[:SHOWN])
    rest = "" if len(most) <= SHOWN else f", and of {len(most) - SHOWN} other functions"
    inner, outer = ([_line(*call) for call in part] for part in (calls.inner, calls.outer))
    return _place(*calls.inner[0]), [*inner, f"… {skipped}{rest}", *outer]


def _place(function: Function, pc: int) -> str:
    return function.location(pc) or _instruction(function, pc)


def _instruction(function: Function, pc: int) -> str:
    return f"@{function.name}, instruction {pc} ({function.code[pc].name})"


def _line(function: Function, pc: int) -> str:
    location = function.location(pc)
    return f"in {_instruction(function, pc)}" + (f" at {location}" if location else "")
