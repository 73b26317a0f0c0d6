"""Greedy application of rewrite patterns: until none matches, or once to each op."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.ir import Operation, Region
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

from stepwell.patterns.driver.carry_out import carry_out
from stepwell.patterns.driver.lineage import MAX_DEPTH, Lineage
from stepwell.patterns.driver.pattern_set import PatternSet

_MOVES = 4  # rewrites of an op that are allowed for each op that it passes


def apply_patterns(region: Region, patterns: Sequence[RewritePattern]) -> bool:
    """
    Rewrite the ops of a region until no pattern matches: in order, then those that patterns made or changed.

    Each pattern is written with `@op_type_rewrite_pattern`. Returns: whether anything changed.
    Raises: StepwellError `endless-rules`, which names two patterns that take turns.
    """
    return GreedyPatterns(region, patterns).apply()


class GreedyPatterns:
    """Patterns for a region that are applied several times, and may not take turns across these either."""

    def __init__(self, region: Region, patterns: Sequence[RewritePattern]):
        depth = MAX_DEPTH + _MOVES * sum(1 for _ in region.walk())
        help = "this is a fault of the pass, please report it; `--disable-pass` goes on without the pass"
        self._region = region
        self._walked = _Walked(PatternSet(patterns), Lineage(region.parent, depth, help))

    def apply(self) -> bool:
        """As `apply_patterns`."""
        return PatternRewriteWalker(self._walked).rewrite_region(self._region)


def apply_patterns_once(ops: Iterable[Operation], patterns: Sequence[RewritePattern]) -> None:
    """
    Apply patterns to each of some ops, as those of a walk or of an analysis; not to ops that they make.

    Each pattern is written with `@op_type_rewrite_pattern`.
    """
    found = PatternSet(patterns)
    for op in list(ops):
        if op.parent is not None and (own := found.of(type(op))):
            carry_out(own, op, PatternRewriter(op))


class _Walked(RewritePattern):
    """A pattern set in the form that xDSL's walker applies: one pattern for ops of every class."""

    def __init__(self, patterns: PatternSet, lineage: Lineage):
        self._patterns = patterns
        self._lineage = lineage

    def has_pattern(self, op: Operation) -> bool:
        """Whether any pattern may match an op; the walker passes over the others."""
        return op.parent is not None and bool(self._patterns.of(type(op)))

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        patterns = self._patterns.of(type(op))
        if patterns and op.parent is not None:
            carry_out(patterns, op, rewriter, self._lineage)
