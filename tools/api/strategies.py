"""`stepwell inspect --strategies`: the ways to compute each heavy node, with costs, and the chosen one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from stepwell.dialects.linalg_ext import FormsOp, form_of
from stepwell.dialects.locations import node_names
from stepwell.dialects.plugins.strategies import DEFAULT, Situation, strategies_of_plugins
from stepwell.dialects.sched import SCHEDULE
from stepwell.passes.analysis.strategies import (
    Candidate,
    candidates,
    carried_out,
    forced,
    forms_of,
    has_strategies,
)
from stepwell.passes.context import PassContext
from stepwell.passes.instruments import Instrument
from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.compilation import is_on_loops
from stepwell.tools.driver.levels import to_level_1
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.reading import start
from stepwell.tools.driver.tensor_program import to_level_2, use_tuned
from stepwell.tools.report import table_text

if TYPE_CHECKING:
    from stepwell.tools.driver.options import Model

CHOSEN = "chosen"
_LOSES = 1.005
"""The ratio of cycles to the chosen candidate from which another one is reported as slower."""


@dataclass(frozen=True)
class StrategyRow:
    """A way to compute a node: estimated cycles of a sample on one core, and why it was chosen or not."""

    node: str
    op: str
    strategy: str
    cycles: float | None
    """None if the strategy does not apply, or if sizes are open."""
    state: str
    """`chosen`, or the reason why not."""


@dataclass
class _Watch(Instrument):
    """Takes the candidates of nodes before the passes that choose, and what became of the nodes."""

    situation: Situation
    rows: dict[str, list[StrategyRow]] = field(default_factory=dict[str, list[StrategyRow]])
    found: dict[str, str] = field(default_factory=dict[str, str])
    forced: dict[str, str] = field(default_factory=dict[str, str])

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        if step.name in ("apply-strategies", "convert-layout", "fuse-ops") and not self.rows:
            for op in filter(has_strategies, module.walk()):
                name = _name(op)
                self.forced[name] = forced(op)
                self.rows[name] = [_row(op, each) for each in candidates(op, self.situation)]
        if step.name == "fuse-ops":
            self.found |= {_name(op): found for op in module.walk() if (found := carried_out(op))}


def _row(op: Operation, candidate: Candidate) -> StrategyRow:
    """The row of a candidate whose state is not known yet."""
    return StrategyRow(_name(op), op.name, candidate.name, candidate.cycles, candidate.refusal or "")


def _name(op: Operation) -> str:
    return ", ".join(node_names(op.location)) or op.name


def strategies_of(model: Model, options: CompileOptions) -> list[StrategyRow]:
    """
    The candidates for each convolution, and for each op that has forms, of a model for a target.

    Raises: StepwellError of the step that failed; `bad-option` for a program of level 3 or 4.
    """
    compilation = start(model, options)
    if is_on_loops(compilation.module):
        message = "a program of level 3 or 4 is computed as it is written"
        raise StepwellError("bad-option", str(model), message, help="give it the model's own file")
    target = compilation.ctx.target
    is_reduced = options.winograd != "off" and options.memory == "normal"
    situation = Situation(target, target.f32_lanes, is_reduced)
    watch = _Watch(situation)
    with PassContext.current().watched_by([watch]):
        to_level_1(compilation, options)
    to_level_2(compilation, options)
    use_tuned(compilation, options)
    rows: list[StrategyRow] = []
    for name, each in watch.rows.items():
        rows += _judged(each, watch.found.get(name, ""), watch.forced[name])
    return [*rows, *(row for op in compilation.module.walk() for row in _of_forms(op, situation))]


def _judged(rows: Sequence[StrategyRow], name: str, forced: str = "") -> Iterator[StrategyRow]:
    """The candidates of a node with states, given the names of the chosen and of the forced strategy."""
    if not name and any(row.strategy == DEFAULT for row in rows):
        name = DEFAULT
    best = next((row.cycles for row in rows if row.strategy == name), None)
    for row in rows:
        yield replace(row, state=row.state or _state(row, name, best, forced))


def _state(row: StrategyRow, name: str, best: float | None, forced: str) -> str:
    """The state of a legal candidate, given the name of the chosen strategy and the cycles of that."""
    if row.strategy == name:
        return CHOSEN
    if forced and (
        forced != DEFAULT or row.strategy in {each.name for each in strategies_of_plugins(row.op)}
    ):
        return f"{forced} is forced"
    if not name:
        return "the node is computed by a pattern, a backend or another node"
    if row.cycles is None or best is None:
        return f"no estimates to compare: `--strategy {row.node}={row.strategy}` chooses it"
    if row.cycles > _LOSES * best:
        return f"{row.cycles / best:.2f} times the cycles"
    return "its layout or its weights cost more than it saves"


def _of_forms(op: Operation, situation: Situation) -> Iterator[StrategyRow]:
    """The forms of an op of `linalg_ext`, the legal ones with their cycles."""
    if isinstance(op, FormsOp):
        every = forms_of(op, situation)
        name = form_of(op)[0] if SCHEDULE in op.attributes else every[0].name
        yield from _judged([_row(op, each) for each in every], name)


def strategies_text(rows: Sequence[StrategyRow]) -> str:
    """The candidates as a table: a node is named once."""
    cells: list[list[str]] = []
    before = ""
    for row in rows:
        node = "" if row.node == before else row.node
        before = row.node
        cycles = "" if row.cycles is None else f"{row.cycles:,.0f}"
        cells.append([node, row.op if node else "", row.strategy, cycles, row.state])
    if not cells:
        return "strategies: no node has several"
    return "strategies:\n" + table_text(["node", "op", "strategy", "cycles", "state"], cells, numbers=(3,))
