"""Applying rules of a pass: rewrite patterns found by the class of the op they match, locations kept."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, Region
from xdsl.pattern_rewriter import PatternRewriter, PatternRewriteWalker, RewritePattern

from stepwell.dialects._xdsl import matched_op_types
from stepwell.dialects.locations import adopt_location


def apply_rules(region: Region, rules: Sequence[RewritePattern]) -> bool:
    """
    Rewrite what is in a region until no rule matches, in order and then what rules made or changed.

    Each rule is written with `@op_type_rewrite_pattern`. Returns: whether anything changed.
    """
    return PatternRewriteWalker(_ByClass(rules)).rewrite_region(region)


class _ByClass(RewritePattern):
    """The first rule that changes something, of those for the class of an op."""

    def __init__(self, rules: Sequence[RewritePattern]):
        self._rules: dict[type[Operation], list[RewritePattern]] = {}
        for rule in rules:
            for op_type in matched_op_types(rule):
                self._rules.setdefault(op_type, []).append(rule)

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        rules = self._rules.get(type(op))
        if rules is None or op.parent is None:
            return
        location = op.location
        rewriter.operation_insertion_handler.append(lambda new: adopt_location(new, location))
        for rule in rules:
            rule.match_and_rewrite(op, rewriter)
            if rewriter.has_done_action:
                break
        rewriter.operation_insertion_handler.pop()
