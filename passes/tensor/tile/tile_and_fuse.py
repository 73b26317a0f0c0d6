"""Tile scheduled ops, with the producers and consumers that share their loops fused into the tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from xdsl.context import Context
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from stepwell.dialects.ir_builder import Constants, IRBuilder
from stepwell.dialects.sched import AT, ROOT, SCHEDULE, Schedule, place_of, schedule_of
from stepwell.dialects.schedule_levels import filled
from stepwell.dialects.tensor_ir.combiners import combiner_of
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.dialects.tensor_ir.groups import Member, fused_group, is_empty
from stepwell.dialects.tensor_ir.padding import Inside, PaddedTensors, steps_inside
from stepwell.dialects.tensor_ir.slices import Slice, extract_slice, insert_slice
from stepwell.dialects.tensor_ir.structured import Structured, tensor_element
from stepwell.dialects.tensor_ir.tiles import Tile, TileLoop, build_loops, cut, extent, rebuild
from stepwell.dialects.tensor_ir.vector_values import MAX_ELEMENTS
from stepwell.passes.analysis.manager import analysis
from stepwell.passes.tensor.scheduling_pass import SchedulingPass
from stepwell.passes.tensor.tile.lane_reductions import tile_lane_reduction
from stepwell.runtime.errors import StepwellError

_MOST_COPIES = 1024
"""No loop is written out as more."""


class TileAndFusePass(SchedulingPass):
    """
    Build the loops that schedules ask for.

    First the parallel loops of each anchor (an op whose schedule names parallel loops), shared by the ops
    around it that can be computed tile by tile; then the loops that a scheduled op has for itself, such as
    those of a reduction, level after level. The ops that are left compute one tile; their schedules have no
    tiled loops and keep `vectorize`.
    The summed loop over the rows of a filter leaves out the rows that read only zero padding.
    Source: the tile and fuse of MLIR's linalg and of Halide's `compute_at`.
    """

    name = "tile-and-fuse"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        constants = Constants(func)
        padded = analysis(func, PaddedTensors).inside
        ops = list(func.walk())
        # All checks before any loop is built: a group's loops would hide an illegal schedule of an op in it.
        schedules = {op: _checked_schedule(op) for op in ops if SCHEDULE in op.attributes}
        for op, schedule in schedules.items():
            # An op that was tiled with a group is no longer in the function.
            if op.parent is not None and schedule.parallel:
                tile_shared_loops(op, schedule, constants)
        for op in ops:
            _expect_placed(op)
        while scheduled := [op for op in func.walk() if (s := schedule_of(op)) is not None and s.loops()]:
            # Reductions along lanes first: each may compute the producer of its input in its loops.
            for op in sorted(scheduled, key=lambda op: not _reduces_lanes(op)):
                if op.parent is not None:
                    _tile_first_level(op, _checked_schedule(op), constants, padded)
        erase_dead(func)


def _expect_placed(op: Operation) -> None:
    """Require an op that has a place in the loops of another to be gone. Raises: StepwellError."""
    if op.parent is not None and (place := place_of(op)) not in (None, ROOT):
        message = f"{op.name} is to be computed in the loops of {place}, and cannot be"
        raise StepwellError(
            "bad-schedule", op, message, help=f'remove sched.at, or let it be "{ROOT}": in loops of its own'
        )


def _checked_schedule(op: Operation) -> Schedule:
    """
    The schedule of an op that has one.

    Raises: StepwellError `bad-schedule` when it does not fit the op.
    """
    schedule, view = schedule_of(op), Structured.of(op)
    assert schedule is not None
    if view is None:
        raise _bad(
            op,
            f"{op.name} takes no schedule",
            "tiles are for linalg.generic and linalg.fill on tensors; expand-forms is for linalg_ext",
        )
    if schedule.form:
        help = f"write tile, a number for each of its {view.rank} loops"
        raise _bad(op, f"forms are for ops of linalg_ext, {op.name} takes tiles", help)
    if len(schedule.tile) != view.rank:
        raise _bad(op, f"the op has {view.rank} loops, the schedule has {len(schedule.tile)} tiles")
    if serial := [d for level in schedule.levels() for d in level.parallel if not view.parallel[d]]:
        raise _bad(op, f"loop {serial[0]} is a reduction, its iterations are not independent")
    if not view.can_tile(schedule):
        raise _bad(op, "a tiled loop moves an index of an operand other than by a stride")
    _expect_lanes_innermost(op, schedule, view)
    for d in schedule.unroll:
        *outer, step = (level.tile[d] for level in schedule.levels() if level.tile[d])
        if (extent := outer[-1] if outer else view.extents[d]) is None:
            raise _bad(op, f"loop {d} has an extent known at run time, it cannot be written out")
        if (copies := ceil(extent / step)) > _MOST_COPIES:
            raise _bad(op, f"loop {d} would be written out {copies} times, at most {_MOST_COPIES}")
    return schedule


def _expect_lanes_innermost(op: Operation, schedule: Schedule, view: Structured) -> None:
    """Require the lanes of a sum to be in the last level. Raises: StepwellError `bad-schedule`."""
    lanes = schedule.vectorize
    if lanes is None or view.parallel[lanes]:
        return
    tiled = [number for number, level in enumerate(schedule.levels()) if level.tile[lanes]]
    if tiled and (schedule.unroll or tiled[-1] < len(schedule.inner)):
        raise _bad(op, f"loop {lanes} has the lanes of a sum: no level is inside of it, none unrolled")
    if combiner_of(view.body) is None or len(view.inits) != 1:
        raise _bad(op, f"nothing combines the lanes of loop {lanes}, a reduction")


def _tile_first_level(
    op: Operation, schedule: Schedule, constants: Constants, padded: Mapping[SSAValue, Inside]
) -> None:
    """Build the loops of the outermost level that is left."""
    if schedule.parallel:
        tile_shared_loops(op, schedule, constants)
    else:
        tile_own_loops(op, schedule, constants, padded)


def _reduces_lanes(op: Operation) -> bool:
    schedule, view = schedule_of(op), Structured.of(op)
    lanes = schedule.vectorize if schedule is not None else None
    return view is not None and lanes is not None and not view.parallel[lanes]


def _bad(op: Operation, message: str, help: str | None = None) -> StepwellError:
    return StepwellError(
        "bad-schedule", op, message, note=f"the schedule is {op.attributes[SCHEDULE]}", help=help
    )


def tile_shared_loops(op: Operation, schedule: Schedule, constants: Constants) -> None:
    """
    Build the parallel loops of an anchor around the ops that share them.

    ```mlir
    %1 = linalg.fill ins(%zero : f32) outs(%0 : tensor<8x64xf32>) -> tensor<8x64xf32>
    %2 = linalg.generic {…} ins(%a, %b) outs(%1) attrs = {sched.schedule =
         #sched.schedule<tile = [4, 0, 1], parallel = [0], vectorize = 1>} … -> tensor<8x64xf32>
    // ->
    %2 = scf.for %m = %c0 to %c8 step %c4 iter_args(%o = %0) -> (tensor<8x64xf32>) {
      %at = tensor.extract_slice %a[%m, 0] [4, 32] [1, 1] : …
      %ot = tensor.extract_slice %o[%m, 0] [4, 64] [1, 1] : …
      %3 = linalg.fill ins(%zero : f32) outs(%ot : tensor<4x64xf32>) -> tensor<4x64xf32>
      %4 = linalg.generic {…} ins(%at, %b) outs(%3) attrs = {sched.schedule =
           #sched.schedule<tile = [0, 0, 1], vectorize = 1>} … -> tensor<4x64xf32>
      %5 = tensor.insert_slice %4 into %o[%m, 0] [4, 64] [1, 1] : …
      scf.yield %5 : tensor<8x64xf32>
    } {sched.parallel}
    ```
    """
    view = Structured.of(op)
    assert view is not None
    shared = [d for d in schedule.loops() if d in schedule.parallel]
    members = fused_group(view, shared)
    emit = IRBuilder.before(members[-1].op, constants)
    emit.location = op.location
    # The rest of a row of elementwise ops is less than a tile: not worth a function for threads.
    small = shared[-1] if all(all(member.view.parallel) for member in members) else None
    loops = [
        TileLoop(
            *(d, schedule.tile[d], 0, extent(emit, view, d)),
            parallel=True,
            shares_rest=not d == small == schedule.vectorize,
        )
        for d in shared
    ]
    _tile_group(emit, members, loops, schedule)


def tile_own_loops(
    op: Operation, schedule: Schedule, constants: Constants, padded: Mapping[SSAValue, Inside]
) -> None:
    """
    Build the loops of a scheduled op that it shares with no other op: reductions, or a loop along a row.

    Where a reduction runs along the lanes, the others are built first.
    """
    view = Structured.of(op)
    assert view is not None
    lanes, mine = schedule.vectorize, schedule.loops()
    is_finer = lanes is not None and any(level.tile[lanes] for level in schedule.inner)
    if lanes in mine and not view.parallel[lanes] and not is_finer:
        combiner = combiner_of(view.body)
        assert combiner is not None  # as `_expect_lanes_innermost` has checked
        if schedule.tile[lanes] > MAX_ELEMENTS:  # each lane has a partial result in memory
            found = f"found {schedule.tile[lanes]}"
            raise _bad(op, f"loop {lanes}, a reduction, has at most {MAX_ELEMENTS} lanes, {found}")
        mine = tuple(d for d in mine if view.parallel[d])
        if not mine:
            tile_lane_reduction(view, schedule, combiner, constants)
            return
    emit = IRBuilder.before(op, constants)
    written_out = () if schedule.inner else schedule.unroll
    loops = [
        replace(_own_loop(emit, view, d, schedule.tile[d], padded), unrolled=d in written_out) for d in mine
    ]
    _tile_group(emit, [Member(view, tuple(range(view.rank)))], loops, schedule)


def _own_loop(
    emit: IRBuilder, view: Structured, dim: int, step: int, padded: Mapping[SSAValue, Inside]
) -> TileLoop:
    """The loop to build over loop `dim` of an op; a sum leaves out the steps that read only zero padding."""
    if step == 1 and not view.parallel[dim] and (steps := steps_inside(emit, view, dim, padded)) is not None:
        return TileLoop(dim, step, *steps, has_rest=False)
    return TileLoop(dim, step, 0, extent(emit, view, dim))


@dataclass(frozen=True)
class _Results:
    """The results of a group that are used outside, and the tensors that the loops carry for them."""

    escaping: Mapping[SSAValue, int]
    """Maps results with users outside to the number of the carried tensor that they are written to."""
    destination: Mapping[SSAValue, int]
    """Maps results, also those without users outside, to the carried tensor whose memory they use."""
    initial: Sequence[SSAValue]
    """The initial values of the carried tensors."""


def _tile_group(
    emit: IRBuilder, members: Sequence[Member], loops: Sequence[TileLoop], schedule: Schedule
) -> None:
    """Replace the ops of a group by loops around their tiles."""
    results = _plan_results(members)

    def body(inside: IRBuilder, tiles: Mapping[int, Tile], carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
        return _tile_members(inside, members, results, tiles, carried, schedule)

    final = build_loops(emit, loops, schedule.vectorize, {}, results.initial, body)
    for result, index in results.escaping.items():
        result.replace_all_uses_with(final[index])
    for member in reversed(members):
        member.op.detach()
        member.op.erase()


def _plan_results(members: Sequence[Member]) -> _Results:
    """Assign a carried tensor to each result used outside; it starts as the first init of the chain."""
    inside = {member.op for member in members}
    escaping: dict[SSAValue, int] = {}
    destination: dict[SSAValue, int] = {}
    initial: list[SSAValue] = []
    for member in reversed(members):
        for result in member.op.results:
            users = [use.operation for use in result.uses]
            if any(user not in inside for user in users) or not users:
                escaping[result] = destination[result] = len(initial)
                initial.append(_first_init(result, inside))
            elif (heir := _sole_heir(result)) is not None and heir in destination:
                destination[result] = destination[heir]
    return _Results(escaping, destination, initial)


def _first_init(result: OpResult, inside: set[Operation]) -> SSAValue:
    """The tensor from outside the group at the start of the chain of inits that ends in `result`."""
    view = Structured.of(result.op)
    assert view is not None
    init = view.inits[result.index]
    return _first_init(init, inside) if isinstance(init, OpResult) and init.op in inside else init


def _sole_heir(result: OpResult) -> SSAValue | None:
    """The result of the only op with this result as an init, if all other users come before."""
    heirs: list[SSAValue] = []
    for use in result.uses:
        view = Structured.of(use.operation)
        position = -1 if view is None else use.index - len(view.inputs)
        if view is not None and position >= 0:
            heirs.append(view.op.results[position])
    if len(heirs) != 1 or not isinstance(heir := heirs[0].owner, Operation):
        return None
    readers = [use.operation for use in result.uses if use.operation is not heir]
    return (
        heirs[0] if all(op.parent is heir.parent and op.is_before_in_block(heir) for op in readers) else None
    )


def _tile_members(
    emit: IRBuilder,
    members: Sequence[Member],
    results: _Results,
    tiles: Mapping[int, Tile],
    carried: Sequence[SSAValue],
    schedule: Schedule,
) -> Sequence[SSAValue]:
    """Compute one tile of each op of a group in order; returns the carried tensors with these inserted."""
    local: dict[SSAValue, SSAValue] = {}
    carried = list(carried)
    for member in members:
        view = member.view
        # The slices of operands that this op's tile reaches; tiles of members replace slices.
        own = {d: tiles[loop] for d, loop in enumerate(member.loop_of) if loop is not None and loop in tiles}
        reached = [cut(emit, view, v, m, own) for v, m in zip(view.op.operands, view.maps, strict=True)]
        count = len(view.inputs)
        inputs = [_sliced(emit, v, at, local) for v, (at, _) in zip(view.inputs, reached, strict=False)]
        inits = [
            _init_tile(emit, init, at, local, carried, results.destination.get(result))
            for init, (at, _), result in zip(view.inits, reached[count:], view.op.results, strict=True)
        ]
        # The op on its tile, and its result inserted into the carried tensor.
        attributes = {**view.op.attributes, **_tile_schedule(member, schedule, own)}
        attributes.pop(AT, None)
        made = rebuild(emit, view, inputs, inits, [m for _, m in reached], attributes, own)
        for result, tile, (at, _) in zip(view.op.results, made, reached[count:], strict=True):
            local[result] = tile
            if (index := results.escaping.get(result)) is not None:
                carried[index] = tile if at is None else insert_slice(emit, tile, carried[index], at)
    return carried


def _sliced(
    emit: IRBuilder, value: SSAValue, at: Slice | None, local: Mapping[SSAValue, SSAValue]
) -> SSAValue:
    if value in local:
        return local[value]
    return value if at is None or not isinstance(value.type, TensorType) else extract_slice(emit, value, at)


def _init_tile(
    emit: IRBuilder,
    init: SSAValue,
    at: Slice | None,
    local: Mapping[SSAValue, SSAValue],
    carried: Sequence[SSAValue],
    destination: int | None,
) -> SSAValue:
    """The init of a result's tile: a slice of the carried tensor or of the init, or an empty tile."""
    if init in local:
        return local[init]
    if destination is not None:
        return _sliced(emit, carried[destination], at, {})
    if is_empty(init) and at is not None:
        return emit.empty(tensor_element(init), at.sizes)
    return _sliced(emit, init, at, {})


def _is_finer(step: int, tile: Tile) -> bool:
    return isinstance(tile.size, int) and 0 < step < tile.size


def _rest(given: Schedule, own: Mapping[int, Tile], *, keep_parallel: bool) -> Schedule:
    """
    A schedule without the loops that are built: a step below the tile's size is a loop inside the tile.

    Args: `keep_parallel`: whether the loops around are serial, and those of inner levels may be parallel.
    """
    loops = [
        (d, level.tile[d], keep_parallel and number > 0 and d in level.parallel)
        for number, level in enumerate(given.levels())
        for d in level.loops()
        if d not in own or _is_finer(level.tile[d], own[d])
    ]
    first, *inner = filled(loops, len(given.tile))
    last = (first, *inner)[-1]
    unroll = tuple(d for d in given.unroll if last.tile[d])
    return Schedule.of_levels((first, *inner), given.vectorize, unroll)


def _tile_schedule(member: Member, schedule: Schedule, own: Mapping[int, Tile]) -> dict[str, Attribute]:
    """The rest of an op's schedule for its tile; the anchor's lanes for an op without a schedule."""
    if (given := schedule_of(member.op)) is not None:
        return {SCHEDULE: _rest(given, own, keep_parallel=not schedule.parallel).attr()}
    rank = member.view.rank
    if schedule.vectorize is None or not rank:
        return {}
    if schedule.vectorize in member.loop_of:
        lanes = member.loop_of.index(schedule.vectorize)
    elif len(own) == rank:
        lanes = rank - 1  # one number a tile, such as the scale of a row: any loop will do
    else:
        return {}
    return {SCHEDULE: Schedule((0,) * rank, vectorize=lanes).attr()}
