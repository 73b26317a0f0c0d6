"""The nodes of a model that have several strategies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stepwell.passes.analysis.strategies import is_in_blocks
from stepwell.tools.api.strategies import CHOSEN, strategies_of

if TYPE_CHECKING:
    from stepwell.tools.driver.options import CompileOptions, Model

_LEVEL_1 = "graph."


@dataclass
class Strategies:
    """The legal strategies of a node, with the one that the compiler chooses."""

    chosen: str = ""
    legal: list[str] = field(default_factory=list[str])
    blocked: set[str] = field(default_factory=set[str])
    """Those that compute on blocked feature maps."""


def strategies_in(model: Model, options: CompileOptions) -> dict[str, Strategies]:
    """
    The nodes of a model that are computed by one of several strategies of level 1, by name.

    Raises: StepwellError of the step that failed.
    """
    found: dict[str, Strategies] = {}
    for row in strategies_of(model, options):
        if not row.op.startswith(_LEVEL_1) or (row.cycles is None and row.state != CHOSEN):
            continue
        each = found.setdefault(row.node.partition(", ")[0], Strategies())
        each.legal.append(row.strategy)
        if row.state == CHOSEN:
            each.chosen = row.strategy
        if is_in_blocks(row.op, row.strategy):
            each.blocked.add(row.strategy)
    return {name: each for name, each in found.items() if each.chosen}
