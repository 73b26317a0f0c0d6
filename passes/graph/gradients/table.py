"""The table of derivatives for the page of gradients, made from the rules."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import getdoc

from stepwell.passes.graph.gradients.decompositions import DECOMPOSED
from stepwell.passes.graph.gradients.rules import RULES, Rule, ops_with_derivative, zero
from stepwell.passes.graph.gradients.without_derivative import REASONS


def derivative_rows() -> Iterator[tuple[list[str], str]]:
    """The rows of the table: names of ops that share a rule, a decomposition or a reason, and that."""
    ops_with_derivative()  # reads the rules
    by_rule: dict[Rule, list[str]] = {}
    for name, rule in sorted(RULES.items()):
        by_rule.setdefault(rule, []).append(name)
    flat = by_rule.pop(zero)
    yield from ((names, _convention(rule)) for rule, names in by_rule.items())
    yield sorted(op.name for op in DECOMPOSED), "that of the ops that it is made of"
    yield flat, "zero"
    reasons: dict[str, list[str]] = {}
    for op, reason in REASONS.items():
        reasons.setdefault(reason, []).append(op.name)
    yield from ((sorted(names), f"none: {reason}") for reason, names in reasons.items())


def _convention(rule: Rule) -> str:
    """The docstring of a rule up to its code and errors."""
    text = (getdoc(rule) or "").partition("```")[0].partition("Raises:")[0]
    return " ".join(text.split())
