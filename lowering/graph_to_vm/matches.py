"""Cases of `adt.match` as switches on tags."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.dialects import adt
from stepwell.dialects.adt.definitions import definition_of
from stepwell.dialects.adt.patterns import BOUND, PatternAttr
from stepwell.lowering.graph_to_vm.code import Code
from stepwell.runtime.errors import StepwellError


def cases_by_tag(op: adt.MatchOp) -> Sequence[int | str]:
    """
    The case for each tag, the name of its constructor where there is none; one where the value has no tag.

    Raises: StepwellError `unsupported-op` for nested patterns, and those of tuples.
    """
    if not all(map(_is_one_level, op.patterns)):
        message = "a match on nested patterns cannot be an instruction"
        raise StepwellError("unsupported-op", op, message, help="run simplify-match before")
    if not isinstance(type := op.value.type, adt.DataType):
        return [0 if op.cases else "the value"]
    names = definition_of(type, op).names
    found: list[int | str] = [*names]
    for case, pattern in enumerate(op.patterns):
        fitting = [names.index(pattern.kind)] if pattern.is_constructor else range(len(names))
        for tag in fitting:
            if isinstance(found[tag], str):
                found[tag] = case
    return found or ["the value"]


def _is_one_level(pattern: PatternAttr) -> bool:
    return pattern.fits_all or (pattern.is_constructor and all(part.fits_all for part in pattern.parts))


def bound_registers(code: Code, pattern: PatternAttr, value: int) -> list[int]:
    """The registers of the values bound by a one-level pattern that fits."""
    if pattern.kind == BOUND:
        return [value]
    return [code.field(value, index) for index, part in enumerate(pattern.parts) if part.kind == BOUND]
