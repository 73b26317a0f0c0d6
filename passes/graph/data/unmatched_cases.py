"""`unmatched-cases`: prints the values that each match leaves out, and changes nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects import adt
from stepwell.dialects.adt.exhaustive import missing_cases, unreachable_cases
from stepwell.passes.base import ALL_ANALYSES, Pass, functions_of
from stepwell.runtime.errors import describe_location


@dataclass(frozen=True)
class UnmatchedCasesPass(Pass):
    """
    Print to standard error each match of each function, with the values that no case fits.

    It prints at most eight values for each match, as patterns, ordered by the number of constructors; and the
    numbers of cases that no value reaches, from 1. Changes nothing. Fails for a match that takes too many
    steps (`too-large`).
    """

    name = "unmatched-cases"
    preserves = ALL_ANALYSES

    json: bool = False
    """Print a JSON list of objects."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        found = list(_found(op))
        text = json.dumps([each.as_data() for each in found]) if self.json else "\n".join(map(str, found))
        print(text or "no match", file=sys.stderr)


@dataclass(frozen=True)
class _Found:
    """A match, and the values and cases that it lacks."""

    function: str
    where: str
    cases: int
    unmatched: Sequence[str]
    unreachable: Sequence[int]

    def as_data(self) -> dict[str, object]:
        return {
            "function": self.function,
            "where": self.where,
            "cases": self.cases,
            "unmatched": self.unmatched,
            "unreachable": self.unreachable,
        }

    def __str__(self) -> str:
        missing = f"does not cover {', '.join(self.unmatched)}" if self.unmatched else "covers every value"
        never = f"; never reached: {', '.join(map(str, self.unreachable))}" if self.unreachable else ""
        return f"@{self.function}: a match of {self.cases} cases at {self.where} {missing}{never}"


def _found(module: ModuleOp) -> Iterator[_Found]:
    for function in functions_of(module):
        for op in function.walk():
            if isinstance(op, adt.MatchOp):
                patterns, type = op.patterns.data, op.value.type
                unreachable = [case for case, _ in unreachable_cases(patterns, type, op)]
                missing = missing_cases(patterns, type, op)
                where = describe_location(op) or "an unknown place"
                yield _Found(function.sym_name.data, where, len(op.cases), missing, unreachable)
