"""The calls around an error as lines of text: innermost and outermost ones, and how many are between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from stepwell.runtime.vm.program import Function

SHOWN = 5
"""The calls at each end that are shown."""


def backtrace(calls: Sequence[tuple[Function, int]]) -> tuple[str, list[str]]:
    """
    The location of an error, and a line for each call around it.

    Args: `calls` are functions with the number of an instruction each, the innermost first.
    """
    function, pc = calls[0]
    place = function.location(pc) or _instruction(function, pc)
    if len(calls) <= 2 * SHOWN + 1:
        return place, [_line(*call) for call in calls]
    between = Counter(function.name for function, _ in calls[SHOWN:-SHOWN])
    skipped = ", ".join(f"{count:,} more of @{name}" for name, count in between.most_common(SHOWN))
    rest = "" if len(between) <= SHOWN else f", and of {len(between) - SHOWN} other functions"
    inner, outer = ([_line(*call) for call in part] for part in (calls[:SHOWN], calls[-SHOWN:]))
    return place, [*inner, f"… {skipped}{rest}", *outer]


def _instruction(function: Function, pc: int) -> str:
    return f"@{function.name}, instruction {pc} ({function.code[pc].name})"


def _line(function: Function, pc: int) -> str:
    location = function.location(pc)
    return f"in {_instruction(function, pc)}" + (f" at {location}" if location else "")
