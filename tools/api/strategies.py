"""`stepwell inspect --strategies`: the ways to compute each heavy node, with costs, and the chosen one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from stepwell.dialects import graph
from stepwell.dialects.linalg_ext import FormsOp, form_of
from stepwell.dialects.locations import node_names
from stepwell.dialects.sched import SCHEDULE
from stepwell.passes.analysis.strategies import strategies_of as table_of
from stepwell.passes.context import PassContext
from stepwell.passes.instruments import Instrument
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.driver.compilation import is_on_loops
from stepwell.tools.driver.levels import to_level_1
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.reading import start
from stepwell.tools.driver.tensor_program import to_level_2, use_tuned
from stepwell.tools.report import table_text

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
    """None where it does not apply, or sizes are open."""
    state: str
    """`chosen`, or the reason why not."""


@dataclass
class _Watch(Instrument):
    """Takes the candidates of convolutions before the passes of layouts, and what became of them."""

    situation: Any
    """The target, of the table of convolutions."""
    rows: dict[str, list[StrategyRow]] = field(default_factory=dict[str, list[StrategyRow]])
    found: dict[str, str] = field(default_factory=dict[str, str])
    forced: dict[str, str] = field(default_factory=dict[str, str])

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        if step.name == "convert-layout" or (step.name == "fuse-ops" and not self.rows):
            for op in module.walk():
                if isinstance(op, graph.ConvOp):
                    name = _name(op)
                    self.forced[name] = table_of("graph.conv").forced(op)
                    self.rows[name] = [
                        StrategyRow(name, op.name, each.name, each.cycles, each.refusal or "")
                        for each in table_of("graph.conv").candidates(op, self.situation)
                    ]
        if step.name == "fuse-ops":
            for op in module.walk():
                if isinstance(op, graph.ConvOp | graph.WinogradConvOp):
                    self.found[_name(op)] = table_of("graph.conv").chosen(op)


def _name(op: Operation) -> str:
    return ", ".join(node_names(op.location)) or op.name


def strategies_of(model: Path, options: CompileOptions) -> list[StrategyRow]:
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
    watch = _Watch(table_of("graph.conv").Situation(target, target.f32_lanes, is_reduced))
    with PassContext.current().watched_by([watch]):
        to_level_1(compilation, options)
    to_level_2(compilation, options)
    use_tuned(compilation, options)
    rows: list[StrategyRow] = []
    for name, each in watch.rows.items():
        rows += _judged(each, watch.found.get(name, ""), watch.forced[name])
    return [*rows, *(row for op in compilation.module.walk() for row in _of_forms(op, target))]


def _judged(rows: Sequence[StrategyRow], name: str, forced: str = "") -> Iterator[StrategyRow]:
    """The candidates of a node with states, given the names of the chosen and of the forced strategy."""
    best = next((row.cycles for row in rows if row.strategy == name), None)
    for row in rows:
        if row.strategy == name:
            yield replace(row, state=CHOSEN)
        elif row.state:
            yield row
        elif forced:
            yield replace(row, state=f"{forced} is forced")
        elif not name:
            yield replace(row, state="the node is computed by a pattern, a backend or another node")
        elif row.cycles is not None and best is not None and row.cycles > _LOSES * best:
            yield replace(row, state=f"{row.cycles / best:.2f} times the cycles")
        else:
            yield replace(row, state="its layout or its weights cost more than it saves")


def _of_forms(op: Operation, target: TargetDescription) -> Iterator[StrategyRow]:
    """The forms of an op of `linalg_ext`, the legal ones with their cycles."""
    if not isinstance(op, FormsOp):
        return
    cycles = {choice.form: choice.cycles for choice in table_of("linalg_ext").CHOICES[type(op)](op, target)}
    name = form_of(op)[0] if SCHEDULE in op.attributes else next(iter(cycles))
    rows = [
        StrategyRow(_name(op), op.name, form, cycles.get(form), each.refusal or "")
        for form, each in op.forms().items()
    ]
    yield from _judged(rows, name)


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
