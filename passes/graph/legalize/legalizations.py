"""The registry of pattern sets for `legalize`, by name; patterns are found by the op class they match."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from inspect import signature
from typing import TypeVar

from xdsl.pattern_rewriter import RewritePattern

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.packages import entry_points

ENTRY_POINTS = "stepwell.legalizations"
"""The entry point group of other packages: a set's name = the module that registers its patterns."""

_OWN = {
    "attention-parts": "stepwell.passes.graph.legalize.attention_parts",
    "kernels": "stepwell.passes.graph.legalize.attention_parts",
    "transposed-products": "stepwell.passes.graph.legalize.transposed_products",
    "wide-convs": "stepwell.passes.graph.legalize.wide_floats",
    "wide-floats": "stepwell.passes.graph.legalize.wide_floats",
}

_OLD_NAMES = {"turned-products": "transposed-products"}

PatternT = TypeVar("PatternT", bound=type[RewritePattern])

_SETS: dict[str, list[type[RewritePattern]]] = {}


def legalization(set_name: str) -> Callable[[PatternT], PatternT]:
    """
    Add a pattern to a set: a rewrite pattern, written with `@op_type_rewrite_pattern`.

    The pattern replaces the op that it is given, or leaves it as it is. A dataclass with fields
    `weights` or `target` gets the module's weights and the compilation target.
    """

    def add(pattern: PatternT) -> PatternT:
        patterns = _SETS.setdefault(set_name, [])
        if pattern not in patterns:
            patterns.append(pattern)
        return pattern

    return add


def legalizations(set_name: str, weights: WeightStore, target: TargetDescription) -> Sequence[RewritePattern]:
    """Instances of the patterns of a set. Raises: StepwellError `bad-option`, with the known names."""
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
        pattern(**{name: given[name] for name in signature(pattern).parameters if name in given})
        for pattern in _SETS[set_name]
    ]


@cache
def _modules() -> dict[str, str]:
    return {point.name: point.value for point in entry_points(ENTRY_POINTS)} | _OWN
