"""Sets of rules for `legalize`: by name, each rule found by the class of the op that it replaces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from inspect import signature
from typing import TypeVar

from xdsl.pattern_rewriter import RewritePattern

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.machine.target import TargetDescription

ENTRY_POINTS = "stepwell.legalizations"
"""The entry point group of other packages: a set's name = the module that registers its rules."""

_OWN = {
    "kernels": "stepwell.passes.graph.legalize.attention_parts",
    "turned-products": "stepwell.passes.graph.legalize.transposed_products",
    "wide-convs": "stepwell.passes.graph.legalize.wide_floats",
    "wide-floats": "stepwell.passes.graph.legalize.wide_floats",
}

Rule = TypeVar("Rule", bound=type[RewritePattern])

_SETS: dict[str, list[type[RewritePattern]]] = {}


def legalization(set_name: str) -> Callable[[Rule], Rule]:
    """
    Add a rule to a set: a rewrite pattern, written with `@op_type_rewrite_pattern`.

    It replaces the op that it is given, or leaves it as it is. A rule that has fields `weights` or `target`
    gets the weights of the module and what it is compiled for.
    """

    def add(rule: Rule) -> Rule:
        rules = _SETS.setdefault(set_name, [])
        if rule not in rules:
            rules.append(rule)
        return rule

    return add


def legalizations(set_name: str, weights: WeightStore, target: TargetDescription) -> Sequence[RewritePattern]:
    """The rules of a set. Raises: StepwellError `bad-option`, with those that there are."""
    places = _places()
    if set_name in places:
        import_module(places[set_name])
    if set_name not in _SETS:
        known = ", ".join(sorted({*places, *_SETS}))
        raise StepwellError(
            "bad-option", None, f"no set of legalizations is named {set_name!r}", help=f"there is {known}"
        )
    given = {"weights": weights, "target": target}
    return [
        rule(**{name: given[name] for name in signature(rule).parameters if name in given})
        for rule in _SETS[set_name]
    ]


@cache
def _places() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)} | _OWN
