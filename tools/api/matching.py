"""Matches of a pattern in a whole program, and the reason why there are none."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from stepwell.passes.base import bodies_of
from stepwell.patterns import Explanation, Match, Pattern, match
from stepwell.patterns.explanation import closest
from stepwell.patterns.groups import blocks_of
from stepwell.patterns.machine import Blocks
from stepwell.runtime.errors import StepwellError


def matches_in(module: ModuleOp, pattern: Pattern) -> list[Match]:
    """Every match at a result of an op, in program order."""
    blocks = Blocks()
    values = (
        value
        for function in bodies_of(module)
        for block in blocks_of(function)
        for op in block.ops
        for value in op.results
    )
    return [found for value in values if (found := match(pattern, value, blocks)) is not None]


def explanation_in(module: ModuleOp, pattern: Pattern, location: str) -> Explanation | None:
    """
    The deepest failure of all functions; None where the pattern matches.

    Raises: StepwellError `bad-option` when no op has the location.
    """
    best: Explanation | None = None
    for function in bodies_of(module):
        matched, nearest = closest(pattern, function, location)
        if matched:
            return None
        if nearest is not None and (best is None or nearest.progress > best.progress):
            best = nearest
    if best is None and location:
        help = "give the number of a line with an op, or the name of a node"
        raise StepwellError("bad-option", module, f"no op has the location {location!r}", help=help)
    return best
