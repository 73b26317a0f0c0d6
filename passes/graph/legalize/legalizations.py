"""The registry of rule sets for `legalize`, by name; a rule applies to the op class of its signature."""

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
    "transposed-products": "stepwell.passes.graph.legalize.transposed_products",
    "wide-convs": "stepwell.passes.graph.legalize.wide_floats",
    "wide-floats": "stepwell.passes.graph.legalize.wide_floats",
}

_OLD_NAMES = {"turned-products": "transposed-products"}

Rule = TypeVar("Rule", bound=type[RewritePattern])

_SETS: dict[str, list[type[RewritePattern]]] = {}


def legalization(set_name: str) -> Callable[[Rule], Rule]:
    """
    Add a rule to a set: a rewrite pattern, written with `@op_type_rewrite_pattern`.

    The rule replaces the op that it is given, or leaves it as it is. A dataclass rule with fields `weights`
    or `target` gets the module's weights and the compilation target.
    """

    def add(rule: Rule) -> Rule:
        rules = _SETS.setdefault(set_name, [])
        if rule not in rules:
            rules.append(rule)
        return rule

    return add


def legalizations(set_name: str, weights: WeightStore, target: TargetDescription) -> Sequence[RewritePattern]:
    """Instances of the rules of a set. Raises: StepwellError `bad-option`, with the known names."""
    set_name = _OLD_NAMES.get(set_name, set_name)
    modules = _modules()
    if set_name in modules:
        import_module(modules[set_name])
    if set_name not in _SETS:
        known = ", ".join(sorted({*modules, *_SETS}))
        raise StepwellError(
            "bad-option", None, f"no set of legalizations is named {set_name!r}", help=f"there is {known}"
        )
    given = {"weights": weights, "target": target}
    return [
        rule(**{name: given[name] for name in signature(rule).parameters if name in given})
        for rule in _SETS[set_name]
    ]


@cache
def _modules() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(group=ENTRY_POINTS)} | _OWN
