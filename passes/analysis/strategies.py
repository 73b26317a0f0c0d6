"""
The registry of strategies: ways to compute an op, with conditions and estimated cycles.

The compiler's own are next to the passes that carry them out, in folders that no other folder may import
from: a reference by name. Those of plugins are formulas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from stepwell.dialects.graph_ir.annotations import STRATEGY
from stepwell.dialects.plugins.strategies import (
    DEFAULT,
    STRATEGIES,
    Situation,
    Strategy,
    StrategyName,
    strategies_of_plugins,
)

if TYPE_CHECKING:
    from stepwell.dialects.linalg_ext import FormsOp

_TABLES = {"graph.conv": "stepwell.passes.graph.layout.strategies"}
"""The modules with the compiler's own strategies of level 1, by the op that they are about."""
_FORMS = "stepwell.passes.tensor.schedule.form_cycles"


@dataclass(frozen=True)
class Candidate:
    """A strategy for an op, with its estimated cycles, or the reason why it does not apply."""

    name: str
    cycles: float | None
    refusal: str | None = None
    strategy: Strategy | None = None
    """None for a form, and for the passes of an op without a table."""

    @property
    def is_of_plugin(self) -> bool:
        """Whether a plugin has the strategy."""
        return self.strategy is not None and self.strategy.expand is not None


def own_strategies(op: str) -> Sequence[Strategy]:
    """The compiler's own strategies for an op of level 1."""
    return import_module(_TABLES[op]).STRATEGIES if op in _TABLES else ()


def has_strategies(op: Operation) -> bool:
    """Whether there are several ways to compute an op of level 1."""
    return op.name in _TABLES or any(key.op == op.name for key in STRATEGIES)


def candidates(op: Operation, situation: Situation) -> list[Candidate]:
    """
    All strategies for an op: the compiler's own in the order of their table, then those of plugins.

    Raises: StepwellError `name-taken` for one of a plugin with the name of an own one; those of plugins.
    """
    own, added = own_strategies(op.name), strategies_of_plugins(op.name)
    taken = {DEFAULT, *(each.name for each in own)}
    if wrong := [each for each in added if each.name in taken]:
        raise STRATEGIES.taken(StrategyName(op.name, wrong[0].name), wrong[0].defined)
    found = [] if own else [Candidate(DEFAULT, None)]
    for each in (*own, *added):
        refusal = each.refusal(op, situation)
        cycles = each.cycles(op, situation) if refusal is None else None
        found.append(Candidate(each.name, cycles, refusal, each))
    return found


def forms_of(op: FormsOp, situation: Situation) -> list[Candidate]:
    """The forms of an op of level 2, the legal ones with their cycles, first the chosen one."""
    legal = import_module(_FORMS).CHOICES[type(op).__name__](op, situation.target)
    choices: Mapping[str, float | None] = {choice.form: choice.cycles for choice in legal}
    names = [*choices, *(form for form in op.forms() if form not in choices)]
    return [Candidate(name, choices.get(name), op.forms()[name].refusal) for name in names]


def forced(op: Operation) -> str:
    """The name of the strategy that is chosen for an op; empty without one."""
    name = op.attributes.get(STRATEGY)
    return name.data if isinstance(name, StringAttr) else ""


def cheapest(every: Sequence[Candidate]) -> Candidate | None:
    """
    The candidate with the fewest cycles, the first of equal ones; None if a way of the compiler's own has no
    estimate.
    """
    legal = [each for each in every if each.refusal is None]
    if any(each.cycles is None and not each.is_of_plugin for each in legal):
        return None
    known = [each for each in legal if each.cycles is not None]
    return min(known, key=lambda each: each.cycles or 0.0, default=None)


def carried_out(op: Operation) -> str:
    """The strategy by which an op is computed after the passes of layouts; empty for ops of no strategy."""
    own: list[str] = [import_module(table).chosen(op) for table in _TABLES.values()]
    return next(filter(None, own), forced(op))


def is_in_blocks(op: str, name: str) -> bool:
    """Whether a strategy of an op computes on blocked feature maps."""
    return op in _TABLES and import_module(_TABLES[op]).is_in_blocks(name)
