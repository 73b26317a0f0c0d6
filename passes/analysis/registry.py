"""
The table of analyses by name: facts about IR that are computed from an op alone, and print as text.

Those of conversions are in `lowering/`, which `passes/` may not import: a reference upward, by dotted name.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import NamedTuple, Protocol, cast

from stepwell.passes.analysis.manager import Cacheable
from stepwell.runtime.errors import StepwellError, did_you_mean


class Analysis(Cacheable, Protocol):
    """Facts about an op and the ops inside of it, for people too."""

    def __str__(self) -> str:
        """The facts, in lines."""
        ...


class _Entry(NamedTuple):
    place: str
    """`module:Class`."""
    summary: str


ANALYSES: Mapping[str, _Entry] = {
    "arena-plan": _Entry(
        "stepwell.lowering.main_to_buffers:MainPlan",
        "offset, bytes and life of each buffer of @main, its symbols, and its run-time errors",
    ),
    "call-graph": _Entry(
        "stepwell.passes.analysis.call_graph:CallGraph", "the functions that each function references"
    ),
    "schedules": _Entry(
        "stepwell.passes.analysis.schedules:Schedules", "the loops of each structured op, and its schedule"
    ),
    "tile-maps": _Entry(
        "stepwell.passes.analysis.schedules:TileMaps",
        "the ops that share the loops of each anchor, and the loop of the anchor for each of theirs",
    ),
}
"""The analyses of modules."""


def load_analysis(name: str) -> type[Analysis]:
    """The class of an analysis. Raises: StepwellError `bad-option`, with the names that there are."""
    if name not in ANALYSES:
        raise StepwellError(
            "bad-option",
            None,
            f"no analysis is called {name!r}",
            note=f"the analyses are {', '.join(ANALYSES)}",
            help=did_you_mean(name, ANALYSES).strip() or None,
        )
    module, _, class_name = ANALYSES[name].place.partition(":")
    return cast("type[Analysis]", getattr(import_module(module), class_name))
