"""`schedule-to-script`: the schedules of kernels as scripts, to read and to edit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import ceil

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.sched import Schedule, place_of, schedule_of
from stepwell.dialects.schedule_levels import MOST
from stepwell.dialects.schedule_script import (
    OPEN,
    ComputeAtOp,
    ComputeRootOp,
    InsideOp,
    LoopsOp,
    ParallelOp,
    PrefetchOp,
    ReorderOp,
    ScriptOp,
    SetFormOp,
    SetSizeOp,
    SplitOp,
    StageOp,
    StorageAlignOp,
    StreamOp,
    UnrollOp,
    VectorizeOp,
)
from stepwell.dialects.schedule_script.primitives import MOST_COPIES
from stepwell.dialects.tensor_ir.gaps import Storage, has_gaps
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes.analysis.scripts.prefetching import fetched_inputs, loop_ahead
from stepwell.passes.analysis.scripts.replay import names_of_loops
from stepwell.passes.analysis.scripts.stages import stages_of
from stepwell.passes.analysis.scripts.streaming import streamable, streamed_results
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import remark


class ScheduleToScriptPass(Pass):
    """
    Write a script for each function whose ops have schedules; the module is these scripts alone then.

    ```mlir
    %y = linalg.generic {…} ins(%x : tensor<512xf32>) outs(%0 : tensor<512xf32>)
      attrs = {sched.schedule = #sched.schedule<tile = [64], parallel = [0], vectorize = 0>} …
    // ->
    sched.script @k0_schedule for "k0" {
      %c = sched.stage "y"
      %i = sched.loops %c
      %i0, %i1 = sched.split %i by [?, 64]
      sched.reorder %i0, %i1
      sched.parallel %i0
      sched.vectorize %i1
    }
    ```
    `apply-schedule` of a script gives the same function the same schedules. Class: exact.
    """

    name = "schedule-to-script"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        scripts = [script for func in functions_of(op) if (script := script_of(func)) is not None]
        for inner in list(op.ops):
            inner.detach()
        op.body.block.add_ops(scripts)


def script_of(func: FuncOp) -> ScriptOp | None:
    """The script of a function's schedules; None where no op has one."""
    steps: list[Operation] = []
    stages: dict[str, StageOp] = {}
    ops = stages_of(func)
    places = {name: place for name, op in ops.items() if (place := place_of(op)) is not None}
    for name, op in ops.items():
        schedule = schedule_of(op)
        if schedule is None and name not in (*places, *places.values()):
            continue
        view = Structured.of(op)
        stage = stages[name] = StageOp(name)
        stage.result.name_hint = _hint(name)
        if schedule is None:
            steps.append(stage)
        elif schedule.form:
            steps += [stage, *_form_steps(stage, schedule)]
        elif view is None or len(schedule.tile) != view.rank:
            remark(op, f"no script: the schedule {schedule.attr()} is not one of {op.name}")
        else:
            steps += [stage, *_LoopSteps(stage, view, schedule).steps()]
    for name, place in places.items():
        stage, other = stages[name].result, stages.get(place)
        steps.append(ComputeRootOp(stage) if other is None else ComputeAtOp(stage, other.result))
    streamed = streamed_results(func)
    for name, op in ops.items() if streamed else ():
        if streamable(op) in streamed:
            steps.append(StreamOp(_stage_of(name, stages, steps)))
    _add_prefetches(func, ops, stages, steps)
    _add_gaps(ops, stages, steps)
    symbol = func.sym_name.data
    return ScriptOp(f"{symbol}_schedule", symbol, steps) if steps else None


def _add_gaps(ops: Mapping[str, Operation], stages: dict[str, StageOp], steps: list[Operation]) -> None:
    """Add the steps for rows with gaps in memory, inner dimensions first."""
    for name, op in ops.items():
        if has_gaps(op) and (found := Storage.of(op)) is not None:
            for axis in sorted(found.widened, reverse=True):
                stride = found.stride(axis - 1)
                assert stride is not None  # a dimension with gaps has a known extent, and so have those in it
                steps.append(StorageAlignOp(_stage_of(name, stages, steps), axis - 1, stride))


def _stage_of(name: str, stages: dict[str, StageOp], steps: list[Operation]) -> SSAValue:
    """The value of a stage; of one that no step has named yet, by a new step."""
    if name not in stages:
        stages[name] = StageOp(name)
        stages[name].result.name_hint = _hint(name)
        steps.append(stages[name])
    return stages[name].result


def _add_prefetches(
    func: FuncOp, ops: Mapping[str, Operation], stages: dict[str, StageOp], steps: list[Operation]
) -> None:
    """Add the steps for inputs that are fetched ahead, after the loops of the first stage that reads each."""
    for value, elements in fetched_inputs(func).items():
        for name, op in ops.items():
            view = Structured.of(op)
            if view is None or value not in view.inputs or value.name_hint is None:
                continue
            if (found := loop_ahead(view, value, elements)) is None:
                continue
            loops = _loops_of(name, view, stages, steps)
            kinds = view.parallel
            order = sorted(range(view.rank), key=lambda d: not kinds[d])
            loop = loops.loops[order.index(found[0])]
            steps.insert(steps.index(loops) + 1, PrefetchOp(loop, value.name_hint, found[1]))
            break


def _loops_of(name: str, view: Structured, stages: dict[str, StageOp], steps: list[Operation]) -> LoopsOp:
    """The step that opens the loops of a stage; a new one, with the stage, where there is none."""
    stage = _stage_of(name, stages, steps)
    if (known := next((s for s in steps if isinstance(s, LoopsOp) and s.stage is stage), None)) is not None:
        return known
    steps.append(loops := LoopsOp(stage, view.rank))
    return loops


def _hint(name: str) -> str | None:
    plain = name.replace(".", "_")
    return plain if plain.isidentifier() and plain.isascii() else None


def _form_steps(stage: StageOp, schedule: Schedule) -> Iterator[Operation]:
    yield SetFormOp(stage.result, schedule.form)
    for name, size in schedule.sizes:
        yield SetSizeOp(stage.result, name, size)


class _LoopSteps:
    """The steps by which a nest gets a schedule, outermost decisions first."""

    def __init__(self, stage: StageOp, view: Structured, schedule: Schedule):
        self._view, self._schedule = view, schedule
        self._stage = stage
        self._names = names_of_loops(view)
        self._copies = 1
        """The product of the loops that have been written out."""
        self._outer: dict[int, list[SSAValue]] = {}
        """The loops to build of each tiled loop of the op, outer to inner."""
        self._body: dict[int, SSAValue] = {}
        """The loop of each in the body of a tile."""

    def steps(self) -> Iterator[Operation]:
        """The steps, in order."""
        order = sorted(range(self._view.rank), key=lambda d: not self._view.parallel[d])
        loops = LoopsOp(self._stage.result, self._view.rank)
        yield loops
        for dim, value in zip(order, loops.loops, strict=True):
            value.name_hint = _hint(self._names[dim])
            yield from self._split(dim, value)
        yield from self._decided(self._schedule)

    def _split(self, dim: int, value: SSAValue) -> Iterator[Operation]:
        """Cut a loop at each of its tiles; the last loop of one step is the body's own."""
        tiles = [level.tile[dim] for level in self._schedule.levels() if level.tile[dim]]
        needs_body = dim in (self._schedule.vectorize, *self._schedule.unroll)
        built, steps = len(tiles), [*tiles] if needs_body or tiles[-1:] != [1] else tiles[:-1]
        parts, number = [value], 0
        for run in _divisible(steps):
            split = SplitOp(parts.pop(), [OPEN, *run])
            for part in split.parts:
                part.name_hint, number = _hint(f"{self._names[dim]}{number}"), number + 1
            parts += split.parts
            yield split
        self._outer[dim] = parts[:built]
        if len(parts) > built:
            self._body[dim] = parts[-1]

    def _decided(self, schedule: Schedule) -> Iterator[Operation]:
        """The order of the loops, and how they run."""
        lanes, built = schedule.vectorize, {dim: iter(loops) for dim, loops in self._outer.items()}
        levels = [[(dim, next(built[dim])) for dim in level.loops()] for level in schedule.levels()]
        body = [value for dim, value in self._body.items() if dim != lanes]
        lane = [self._body[lanes]] if lanes is not None else []
        nest = [*(value for level in levels for _, value in level), *body, *lane]
        if len(nest) > 1:
            yield ReorderOp(nest)
        pairs = list(zip(schedule.levels(), levels, strict=True))
        if shared := [v for level, loops in pairs for dim, v in loops if dim in level.parallel]:
            yield ParallelOp(shared)
        yield from map(VectorizeOp, lane)
        yield from self._written_out([dim for dim in self._body if dim != lanes])
        yield from self._unrolled([(dim, value) for dim, value in levels[-1] if dim in schedule.unroll])

    def _written_out(self, dims: Sequence[int]) -> Iterator[Operation]:
        """Unroll what is short; the rest is left inside."""
        copies = {dim: self._span(dim, 0) or MOST_COPIES + 1 for dim in dims}
        short: list[int] = []
        for dim in sorted(dims, key=lambda dim: copies[dim]):
            if self._copies * copies[dim] <= MOST_COPIES:
                short.append(dim)
                self._copies *= copies[dim]
        yield from (UnrollOp(self._body[dim]) for dim in dims if dim in short)
        if rest := [self._body[dim] for dim in dims if dim not in short]:
            yield InsideOp(rest)

    def _unrolled(self, loops: Sequence[tuple[int, SSAValue]]) -> Iterator[Operation]:
        """Unroll loops around the body."""
        for dim, value in loops:
            self._copies *= ceil((self._span(dim, 1) or 1) / (self._span(dim, 0) or 1))
            yield UnrollOp(value, min(self._copies, MOST) if self._copies > MOST_COPIES else None)

    def _span(self, dim: int, outer: int) -> int | None:
        """The size of a loop's innermost tile, or of one further out; its extent where there is none."""
        tiles = [level.tile[dim] for level in self._schedule.levels() if level.tile[dim]]
        return tiles[-1 - outer] if outer < len(tiles) else self._view.extents[dim]


def _divisible(steps: Sequence[int]) -> list[list[int]]:
    """The factors of splits into tiles: a single split as far as tiles divide each other."""
    runs: list[list[int]] = []
    for number, step in enumerate(steps):
        outer = steps[number - 1] if number else None
        if outer is None or outer % step:
            runs.append([step])
        else:
            runs[-1][-1:] = [outer // step, step]
    return runs
