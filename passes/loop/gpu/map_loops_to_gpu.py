"""`map-loops-to-gpu`: the iterations of parallel loops → blocks of threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free

from stepwell.dialects.gpu.attributes import MAPPING
from stepwell.dialects.gpu.kernel import MAX_THREADS
from stepwell.dialects.ir_builder import INDEX, Constants, Index, IRBuilder
from stepwell.dialects.sched_program import program_of
from stepwell.dialects.tensor_ir.gpu_modules import target_of_module
from stepwell.passes.base import FunctionPass
from stepwell.passes.loop.gpu.block_loops import is_for_a_block, map_to_block
from stepwell.passes.loop.gpu.mapped_loops import (
    WARP,
    bounds_of,
    extents_of,
    move_body,
    number_of,
    open_grid,
    positions,
)
from stepwell.passes.loop.gpu.tile_choices import Limits
from stepwell.runtime.errors import StepwellError

_ON_DEVICE = (scf.ForOp, scf.WhileOp, scf.IfOp, memref.StoreOp, memref.CopyOp)
"""Ops outside of parallel loops that touch the device's memory, and so run in one thread there."""


@dataclass(frozen=True)
class MapLoopsToGpuPass(FunctionPass):
    """
    Split each outermost `scf.parallel` into one of blocks and one of threads, with `gpu.mapping`.

    The iterations of all its loops are numbered, the last loop fastest, so that neighbouring threads access
    neighbouring elements; the last block is guarded by a condition on the number. Parallel loops inside stay,
    and each thread runs them one after the other. What stores outside of parallel loops gets one thread.
    A loop with parallel loops in its body, such as the steps of a recurrence, is run by one block, and its
    threads share the iterations of each, with barriers in between.

    ```mlir
    scf.parallel (%i) = (%c0) to (%n) step (%c1) { … }
    // ->
    scf.parallel (%b) = (%c0) to (%blocks) step (%c1) {
      scf.parallel (%t) = (%c0) to (%c256) step (%c1) {
        %first = arith.muli %b, %c256 : index
        %i = arith.addi %first, %t : index
        %inside = arith.cmpi ult, %i, %n : index
        scf.if %inside { … }
        scf.reduce
      } {gpu.mapping = [#gpu.loop_dim_map<processor = thread_x, …>]}
      scf.reduce
    } {gpu.mapping = [#gpu.loop_dim_map<processor = block_x, …>]}
    ```
    """

    name = "map-loops-to-gpu"

    threads: int = 256
    """The threads of a block."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if not 1 <= self.threads <= MAX_THREADS:
            message = f"threads of map-loops-to-gpu must be 1 to {MAX_THREADS}, found {self.threads}"
            raise StepwellError("bad-option", None, message)
        if program_of(func) is not None:
            return  # @main calls kernels, and stays on the host
        constants = Constants(func)
        threads = min(self.threads, _most_threads(func))
        for op in list(func.body.block.ops):
            if isinstance(op, scf.ForOp) and is_for_a_block(op):
                map_to_block(op, threads, constants)
        _run_stores_in_one_thread(func.body.block, constants)
        _sink_loads(func.body.block)
        for op in list(func.body.block.ops):
            if isinstance(op, scf.ParallelOp) and MAPPING not in op.attributes:
                _map(op, threads, constants)


def _most_threads(func: FuncOp) -> int:
    """The threads of a block that the module's target may have."""
    target = target_of_module(func.parent_op())
    return MAX_THREADS if target is None else Limits.of(target).threads


def _map(loop: scf.ParallelOp, threads: int, constants: Constants) -> None:
    """Replace a parallel loop by blocks of threads. Raises: StepwellError `unsupported`."""
    if loop.initVals:
        raise StepwellError("unsupported", loop, "a parallel loop with reductions is not mapped to a GPU")
    build = IRBuilder.before(loop, constants=constants)
    extents = extents_of(loop, build)
    total: Index = 1
    for extent in extents:
        total = build.times(total, extent)
    if isinstance(total, int):
        threads = max(1, min(threads, -(-total // WARP) * WARP))
    body, inner = open_grid(build, build.ceildiv(total, threads), threads)
    number = inner.plus(inner.times(body.args[0], threads), inner.insertion_point.block.args[0])
    _name(number, "iteration")
    _name(total, "iterations")
    place = inner
    if not isinstance(total, int) or total % threads:
        inside = inner.compare("ult", inner.materialize(number), inner.materialize(total))
        inside.name_hint = "inside"
        branch = Block()
        inner.insert(scf.IfOp(inside, [], [branch]))
        place = inner.inside(branch)
    move_body(loop, positions(place, number, extents, bounds_of(loop)), place)
    if place is not inner:
        place.insert(scf.YieldOp())
    inner.insert(scf.ReduceOp())
    Rewriter.erase_op(loop)


def _name(index: Index, name: str) -> None:
    """Give a value without a name one for its readers."""
    if not isinstance(index, int):
        index.name_hint = index.name_hint or name


def _sink_loads(block: Block) -> None:
    """Load elements in the only iteration of the loop that needs them: the host has no such memory."""
    for op in list(block.ops):
        if not isinstance(op, memref.LoadOp):
            continue
        users = {_outermost(use.operation, block) for use in op.res.uses}
        if len(users) != 1:
            continue
        (loop,) = users
        if isinstance(loop, scf.ParallelOp) and _is_once(loop) and _is_next_effect(op, loop):
            first = loop.body.block.first_op
            assert first is not None
            op.detach()
            Rewriter.insert_op(op, InsertPoint.before(first))


def _is_once(loop: scf.ParallelOp) -> bool:
    """Whether a parallel loop has one iteration."""
    return all([number_of(each) for each in bound] == [0, 1, 1] for bound in bounds_of(loop))


def _is_next_effect(op: Operation, loop: Operation) -> bool:
    """Whether ops between an op and a loop after it have no effects."""
    between = op.next_op
    while between is not None and between is not loop and is_side_effect_free(between):
        between = between.next_op
    return between is loop


def _run_stores_in_one_thread(block: Block, constants: Constants) -> None:
    """Put what stores between parallel loops into parallel loops of one iteration."""
    group: list[Operation] = []
    for op in list(block.ops):
        if isinstance(op, _ON_DEVICE) or (group and _depends(op, group) and is_side_effect_free(op)):
            group.append(op)
        elif isinstance(op, scf.ParallelOp) or op is block.last_op or not is_side_effect_free(op):
            _wrap(group, constants)
            group = []


def _depends(op: Operation, group: Sequence[Operation]) -> bool:
    return any(value.owner in group for inner in op.walk() for value in inner.operands)


def _wrap(group: Sequence[Operation], constants: Constants) -> None:
    """Make a parallel loop of one iteration with some ops. Raises: StepwellError `unsupported`."""
    if not group:
        return
    group = [*_computed_for(group), *group]
    for op in group:
        if any(
            _outermost(use.operation, op.parent) not in group for result in op.results for use in result.uses
        ):
            raise StepwellError("unsupported", op, "a result of one thread is used outside of it")
    zero, one = constants.index(0), constants.index(1)
    build = IRBuilder.after(group[-1])
    block = Block(arg_types=[INDEX])
    loop = build.insert(scf.ParallelOp([zero], [one], [one], Region(block)))
    inside = build.inside(block)
    for op in group:
        op.detach()
        inside.insert(op)
    inside.insert(scf.ReduceOp())
    assert loop.parent is not None


def _computed_for(group: Sequence[Operation]) -> list[Operation]:
    """The ops from the last effect on that load and compute what a group alone needs."""
    found: list[Operation] = []
    alone = set(group)
    op = group[0].prev_op
    while op is not None and (isinstance(op, memref.LoadOp) or is_side_effect_free(op)):
        users = {_outermost(use.operation, op.parent) for result in op.results for use in result.uses}
        if users and users <= alone and not isinstance(op, arith.ConstantOp):
            found.append(op)
            alone.add(op)
        op = op.prev_op
    return found[::-1]


def _outermost(op: Operation, block: Block | None) -> Operation | None:
    """The op of a block that contains another."""
    while op.parent is not block and (parent := op.parent_op()) is not None:
        op = parent
    return op
