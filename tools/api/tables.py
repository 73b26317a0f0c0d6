"""`stepwell inspect --kernels`, `--memory`, `--passes`: what a compilation made of a model, as rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from stepwell.dialects import graph
from stepwell.dialects.locations import node_names
from stepwell.lowering.kernels.machine import vector_spills
from stepwell.lowering.main_to_buffers import MainPlan, diagram, letter_of, value_of
from stepwell.passes.context import PassContext
from stepwell.passes.instruments import PASS_SECONDS, Instrument
from stepwell.passes.pipelines import GRAPH, PARTITION, WORK_PIPELINE, all_levels
from stepwell.patterns.driver.carry_out import RewriteListener, listening
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.cache import KernelCache
from stepwell.runtime.image import ModelImage
from stepwell.runtime.link.code import LinkedCode
from stepwell.tools.api.kernels import Kernels, kernels_in
from stepwell.tools.driver.compilation import Compilation, is_lowered, is_on_loops, main_of
from stepwell.tools.driver.image import compile_image
from stepwell.tools.driver.levels import chosen_passes, to_level_1
from stepwell.tools.driver.model_interface import read_interface
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.reading import start
from stepwell.tools.driver.tensor_program import to_level_2
from stepwell.tools.measure.profile import MAX_NODES_CHARS
from stepwell.tools.report import shortened, table_text

_SCHEDULE_CHARS = 60
_NODE = re.compile(r'node "([^"]*)"')


@dataclass(frozen=True)
class KernelRow:
    """A kernel: its name in the program, symbol in the code, number of calls, and nodes of the first call."""

    kernel: str
    symbol: str
    calls: int
    nodes: Sequence[str]
    rule: str
    """The kind of group that `fuse-ops` formed."""
    schedules: Sequence[str]
    code_bytes: int
    spills: int
    """The number of instructions that store vector registers on the stack."""


@dataclass(frozen=True)
class BufferRow:
    """A buffer of the memory plan, alive from one op of `@main` to another; sizes in bytes."""

    letter: str
    """By which the diagram shows it; empty where it is not in the arena."""
    name: str
    offset: int | None
    """None where it is not in the arena, or not known."""
    bytes: int | None
    """None where it depends on data."""
    first: int
    last: int
    formulas: tuple[str, str]
    """Offset and bytes as dimension expressions."""


@dataclass(frozen=True)
class MemoryTable:
    """The memory plan for given open sizes: buffers, bytes of the arena and of all buffers, a diagram."""

    rows: Sequence[BufferRow]
    arena_bytes: int | None
    sum_of_bytes: int | None
    arena_formula: str
    sizes: Mapping[str, int]
    diagram: str


@dataclass
class PassRow:
    """A pass: level, runs, time of all in milliseconds, ops before and after, and rewrites of all runs."""

    level: str
    name: str
    runs: int = 0
    milliseconds: float = 0.0
    ops_before: int = 0
    ops_after: int = 0
    rewrites: int = 0


@dataclass
class PassTable(Instrument, RewriteListener):
    """Adds up the passes that run, by name, in the order of their first runs."""

    rows: dict[str, PassRow] = field(default_factory=dict[str, PassRow])
    _running: list[PassRow] = field(default_factory=list[PassRow])
    _listening: ExitStack = field(default_factory=ExitStack)

    def enter_pass_ctx(self) -> None:
        self._listening.enter_context(listening(self))

    def exit_pass_ctx(self) -> None:
        self._listening.close()

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        row = self.rows.setdefault(step.name, PassRow(_LEVELS.get(step.name, ""), step.name))
        row.ops_before += sum(1 for _ in module.walk())
        self._running.append(row)

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        row = self._running.pop()
        row.runs += 1
        row.milliseconds += 1e3 * PASS_SECONDS.get()
        row.ops_after += sum(1 for _ in module.walk())

    def rewrote(self, pattern: str, op: Operation, made: Sequence[Operation]) -> None:
        if self._running:
            self._running[-1].rewrites += 1


class _PlanWatch(Instrument):
    """Takes the memory plan when `@main` is planned."""

    in_workers = True
    plan: MainPlan | None = None

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        if step.name == "plan-memory":
            self.plan = MainPlan.of(module)


@dataclass(frozen=True)
class Inspection:
    """A compilation to look at: image, kernels, the kinds of their groups, memory plan, passes."""

    image: ModelImage
    plan: MainPlan
    passes: Sequence[PassRow]
    """Empty unless they were asked for."""
    _kernels: Kernels
    _rules: Mapping[tuple[str, ...], str]

    def kernels(self) -> list[KernelRow]:
        """The kernels in the order of their first calls; compiles each once more, for its texts."""
        code = self.image.main.variants[0].code
        sizes: dict[str, int] = {}
        for name, (_, size) in code.functions.items() if isinstance(code, LinkedCode) else ():
            symbol = name.partition(".")[0]  # of bodies of parallel loops too
            sizes[symbol] = sizes.get(symbol, 0) + size
        calls = [call for call in self.image.main.timed if call.kind == "kernel"]
        first = {call.symbol: call for call in reversed(calls)}
        rows: list[KernelRow] = []
        for symbol in dict.fromkeys(call.symbol for call in calls):
            call, times = first[symbol], sum(each.symbol == symbol for each in calls)
            kernel, rule = self._kernels[call.name], self._rules.get(call.nodes, "")
            schedules = [text.removeprefix("#sched.schedule") for text in kernel.schedule.splitlines()]
            spills = vector_spills(kernel.asm)
            rows.append(
                KernelRow(call.name, symbol, times, call.nodes, rule, schedules, sizes.get(symbol, 0), spills)
            )
        return rows

    def memory(self, given: Mapping[str, int]) -> MemoryTable:
        """
        The memory plan for given values of open sizes; others are 1.

        Raises: StepwellError `bad-option` for a size that the model does not have.
        """
        open_sizes = self.image.main.interface.symbols
        if unknown := [name for name in given if name not in open_sizes]:
            message = f"the model has no open size {unknown[0]}"
            raise StepwellError("bad-option", None, message, help=f"it has {', '.join(open_sizes) or 'none'}")
        sizes = dict.fromkeys(open_sizes, 1) | dict(given)
        plan, arena = self.plan, self.plan.arena
        rows = [
            BufferRow(
                letter_of(number) if buffer.kind == "arena" else "",
                buffer.name,
                value_of(buffer.offset, sizes) if buffer.kind == "arena" else None,
                value_of(buffer.size, sizes),
                buffer.first,
                buffer.last,
                (str(buffer.offset) if buffer.kind == "arena" else "-", str(buffer.size)),
            )
            for number, buffer in enumerate(plan.buffers)
        ]
        totals = value_of(arena.total, sizes), value_of(arena.sum_of_sizes, sizes)
        return MemoryTable(rows, *totals, str(arena.total), sizes, diagram(plan, sizes))


_STEPS = all_levels([*GRAPH, *PARTITION], profile=True)
_LEVELS = {step.name: level for level, steps in _STEPS.items() for step in steps}


def inspected(model: Path, options: CompileOptions, *, passes: bool = False) -> Inspection:
    """
    Compile a model to look at what became of it.

    Args: `passes`: whether passes are counted, for which everything is compiled, by this process.
    Raises: StepwellError of the step that failed; `bad-option` for a program of level 3 or 4.
    """
    watch, table = _PlanWatch(), PassTable()
    watching: list[Instrument] = [watch, table] if passes else [watch]
    with PassContext.current().watched_by(watching):
        compilation = start(model, options)
        if is_on_loops(compilation.module):
            message = "a program of level 3 or 4 has no kernels, and its memory is planned"
            raise StepwellError("bad-option", str(model), message, help="give it the model's own file")
        to_level_1(compilation, options)
        interface = read_interface(main_of(compilation.module))
        rules = dict(_rules(compilation.module.walk()))
        if not is_lowered(compilation.module):
            compilation.run("graph", WORK_PIPELINE)
        to_level_2(compilation, options)
        before = Compilation(compilation.module.clone(), compilation.ctx)
        cache = KernelCache() if options.use_cache and not passes else None
        image = compile_image(compilation, interface, cache, passes=chosen_passes(options), timed=True)
    # A cached @main is on tensors still, and its kernels have their scratch.
    plan = watch.plan or MainPlan.of(compilation.module)
    return Inspection(image, plan, [*table.rows.values()], kernels_in(before, nullcontext), rules)


def _rules(ops: Iterable[Operation]) -> Iterator[tuple[tuple[str, ...], str]]:
    """The nodes of each kernel, and the kind of its group."""
    for op in ops:
        if isinstance(op, graph.FusedOp) and isinstance(kind := op.attributes.get("kind"), StringAttr):
            if nodes := tuple(node_names(op.location)):  # text has none
                yield nodes, kind.data


def kernels_text(rows: Sequence[KernelRow]) -> str:
    """The kernels as a table of text, a line each."""
    header = ("kernel", "calls", "bytes", "spills", "rule", "schedule", "nodes")
    cells = [
        (
            row.kernel,
            str(row.calls),
            str(row.code_bytes),
            str(row.spills),
            row.rule,
            shortened("; ".join(row.schedules), _SCHEDULE_CHARS),
            shortened(", ".join(row.nodes), MAX_NODES_CHARS),
        )
        for row in rows
    ]
    return table_text(header, cells, numbers=(1, 2, 3))


def memory_text(table: MemoryTable, *, formulas: bool = False) -> str:
    """The memory plan as a table of text and a diagram; `formulas`: with sizes as dimension expressions."""
    header = ["", "offset", "bytes", "from", "to", "buffer"]
    cells = [
        [
            row.letter,
            *(row.formulas if formulas else (_number(row.offset), _number(row.bytes))),
            str(row.first),
            str(row.last),
            shortened(", ".join(_NODE.findall(row.name)) or row.name, MAX_NODES_CHARS),
        ]
        for row in table.rows
    ]
    lines = [table_text(header, cells, numbers=(1, 2, 3, 4))]
    if table.arena_bytes is not None:
        share = f" ({100 * table.arena_bytes // table.sum_of_bytes} %)" if table.sum_of_bytes else ""
        of_sizes = ", ".join(f"{name}={value}" for name, value in table.sizes.items())
        at = f", where {of_sizes}" if of_sizes else ""
        lines.append(f"arena: {table.arena_bytes} bytes of {table.sum_of_bytes} without sharing{share}{at}")
    if formulas:
        lines.append(f"arena: {table.arena_formula} bytes")
    return "\n".join([*lines, table.diagram.rstrip("\n")]).rstrip("\n")


def passes_text(rows: Sequence[PassRow]) -> str:
    """The passes as a table of text, a line each, in the order of their first runs."""
    header = ("level", "pass", "runs", "ms", "ops before", "after", "rewrites")
    cells = [
        (
            row.level,
            row.name,
            str(row.runs),
            f"{row.milliseconds:.2f}",
            str(row.ops_before),
            str(row.ops_after),
            str(row.rewrites),
        )
        for row in rows
    ]
    return table_text(header, cells, numbers=range(2, 7))


def _number(value: int | None) -> str:
    return "-" if value is None else str(value)
