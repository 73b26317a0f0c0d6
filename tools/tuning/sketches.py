"""Rules of users that add schedules to the spaces of kernels: `@tuning.sketch("linalg.generic")`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, cast

from stepwell.dialects.sched import Schedule
from stepwell.runtime.errors import StepwellError
from stepwell.tools.tuning.candidate import TiledOp

Rule: TypeAlias = Callable[[TiledOp, Schedule], Iterable[Schedule]]
"""The schedules to try of an op that has one."""
OPS = ("linalg.generic", "linalg.fill")
RULES: dict[str, tuple[str, Rule]] = {}
"""Maps the names of rules to the name of their ops, and the rule."""


def sketch(op: str) -> Callable[[Rule], Rule]:
    """
    A decorator for a function of an op and a schedule that gives other schedules to try.

    A rule of the same name is replaced. Schedules that are not legal become trials of status `illegal`.

    Args: `op` is the name of the ops, one of `OPS`: others are these when tiles are searched.
    Raises: StepwellError `bad-option`.
    """
    if op not in OPS:
        raise StepwellError("bad-option", None, f"a sketch is for {' or '.join(OPS)}, found {op!r}")

    def add(rule: Rule) -> Rule:
        RULES[rule.__name__] = op, rule
        return rule

    return add


def sketched(op: TiledOp, schedule: Schedule) -> Iterator[tuple[str, Schedule]]:
    """
    The schedules that rules make of one, with the name of the rule.

    Raises: StepwellError `bad-space` for what is no schedule of the op.
    """
    for name, (of, rule) in RULES.items():
        for made in rule(op, schedule) if of == op.name else ():
            if not isinstance(cast("object", made), Schedule) or len(made.tile) != op.rank:
                message = f"sketch {name} gives schedules of {op.rank} loops, found {made!r}"
                raise StepwellError("bad-space", None, message)
            if made != schedule:
                yield name, made
