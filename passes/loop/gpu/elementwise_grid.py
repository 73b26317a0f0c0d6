"""The grid of elementwise ops: a thread an element, or several in steps of the block's threads."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import scf
from xdsl.ir import Block

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched import Schedule
from stepwell.dialects.schedule_device import block_threads
from stepwell.passes.loop.gpu.chains import Chain
from stepwell.passes.loop.gpu.mapped_loops import open_grid
from stepwell.passes.loop.gpu.nests import Nest, product_of, split_number
from stepwell.passes.loop.gpu.product_frame import inside_condition
from stepwell.passes.loop.gpu.transpose_grid import build_transpose


def build_elementwise(before: IRBuilder, nest: Nest, schedule: Schedule, chain: Chain) -> None:
    """
    Insert the grid of an op with parallel loops alone, and of the ops after it.

    Raises: StepwellError `unsupported` for a staged operand without squares.
    """
    if schedule.on_device.stage:
        build_transpose(before, nest, schedule, chain)
        return
    threads, per_block = block_threads(schedule.levels()), schedule.tile[-1]
    extents = [nest.extent(before, loop) for loop in range(len(nest.parallel))]
    total = product_of(before, extents)
    outer, at = open_grid(before, before.ceildiv(total, per_block), threads)
    first = at.plus(at.times(outer.args[0], per_block), at.insertion_point.block.args[0])
    for step in range(0, per_block, threads):
        number = at.plus(first, step)
        check = inside_condition(at, number, total, per_block)
        if check is None:
            _compute(at, chain, number, extents)
            continue
        at.insert(scf.IfOp(check, [], [branch := Block()]))
        inside = at.inside(branch)
        _compute(inside, chain, number, extents)
        inside.insert(scf.YieldOp())
    at.insert(scf.ReduceOp())


def _compute(at: IRBuilder, chain: Chain, number: Index, extents: Sequence[Index]) -> None:
    """Compute and store the elements of a point by its number."""
    chain.points(at, {}, split_number(at, number, extents))
