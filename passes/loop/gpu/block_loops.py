"""
Loops around parallel loops, run by one block: its threads share the iterations inside, and wait in between.

The steps of a recurrence depend on each other, and the elements within a step do not: one block sees what it
stored itself, so that no launch is needed for each step.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import memref, scf
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from stepwell.dialects import gpu
from stepwell.dialects.gpu.attributes import MAPPING
from stepwell.dialects.ir_builder import Constants, Index, IRBuilder
from stepwell.passes.loop.gpu.mapped_loops import (
    WARP,
    bounds_of,
    extents_of,
    move_body,
    number_of,
    open_grid,
    positions,
)


def is_for_a_block(loop: scf.ForOp) -> bool:
    """Whether a loop of the host has parallel loops in its body, and threads agree about everything else."""
    if any(value.uses for value in loop.results) or any(_is_loaded(value) for value in _given(loop)):
        return False
    return _has_parallel(loop) and _is_shared(loop)


def map_to_block(loop: scf.ForOp, threads: int, constants: Constants) -> None:
    """Give a loop to one block of up to `threads` threads: the iterations of its longest parallel loop."""
    build = IRBuilder.before(loop, constants=constants)
    longest = [_static_iterations(each) for each in loop.walk() if isinstance(each, scf.ParallelOp)]
    if known := [each for each in longest if each is not None]:
        most = max(known) if len(known) == len(longest) else threads
        threads = max(1, min(threads, -(-most // WARP) * WARP))
    _, inner = open_grid(build, 1, threads)
    thread = inner.insertion_point.block.args[0]
    loop.detach()
    inner.insert(loop)
    inner.insert(scf.ReduceOp())
    _share(loop.body.block, thread, threads, constants)


def _given(loop: scf.ForOp) -> Iterator[SSAValue]:
    """The values from outside of a loop."""
    for op in loop.walk():
        yield from op.operands


def _is_loaded(value: SSAValue) -> bool:
    """Whether a value is loaded on the host's side, which has none of the device's memory."""
    return isinstance(value.owner, memref.LoadOp) and isinstance(value.owner.parent_op(), FuncOp)


def _has_parallel(loop: scf.ForOp) -> bool:
    return any(
        isinstance(op, scf.ParallelOp) or (isinstance(op, scf.ForOp) and _has_parallel(op))
        for op in loop.body.block.ops
    )


def _is_shared(loop: scf.ForOp) -> bool:
    """Whether all ops of a body are shared by threads, repeated in each, or left to one without results."""
    return all(_is_step(op) for op in loop.body.block.ops)


def _is_step(op: Operation) -> bool:
    if isinstance(op, memref.AllocaOp | memref.AllocOp):
        return False  # each thread would have its own
    if isinstance(op, scf.ParallelOp):
        return not op.initVals and MAPPING not in op.attributes
    if isinstance(op, scf.ForOp) and _has_parallel(op):
        return not any(value.uses for value in op.results) and _is_shared(op)
    return is_side_effect_free(op) or isinstance(op, memref.LoadOp | scf.YieldOp) or not op.results


def _share(block: Block, thread: SSAValue, threads: int, constants: Constants) -> None:
    """Split the ops of a body between threads, with a barrier after each that accesses memory."""
    for op in list(block.ops):
        if isinstance(op, scf.ForOp) and _has_parallel(op):
            _share(op.body.block, thread, threads, constants)
        elif not (isinstance(op, scf.YieldOp) or is_side_effect_free(op)):
            IRBuilder.after(op).insert(gpu.BarrierOp())
            if isinstance(op, scf.ParallelOp):
                _split(op, thread, threads, constants)
            elif not isinstance(op, memref.LoadOp):
                _leave_to_first(op, thread, constants)


def _split(loop: scf.ParallelOp, thread: SSAValue, threads: int, constants: Constants) -> None:
    """Replace a parallel loop by one over every so many iterations, from the thread's number on."""
    build = IRBuilder.before(loop, constants=constants)
    extents = extents_of(loop, build)
    total: Index = 1
    for extent in extents:
        total = build.times(total, extent)
    body = Block(arg_types=[thread.type])
    bounds = (thread, build.materialize(total), build.materialize(threads))
    build.insert(scf.ForOp(*bounds, [], body))
    inside = build.inside(body)
    number = body.args[0]
    number.name_hint = "iteration"
    move_body(loop, positions(inside, number, extents, bounds_of(loop)), inside)
    inside.insert(scf.YieldOp())
    Rewriter.erase_op(loop)


def _leave_to_first(op: Operation, thread: SSAValue, constants: Constants) -> None:
    """Let the first thread alone run an op."""
    build = IRBuilder.before(op, constants=constants)
    branch = Block()
    build.insert(scf.IfOp(build.compare("eq", thread, build.materialize(0)), [], [branch]))
    op.detach()
    inside = build.inside(branch)
    inside.insert(op)
    inside.insert(scf.YieldOp())


def _static_iterations(loop: scf.ParallelOp) -> int | None:
    """The number of iterations; None where a bound is known later."""
    total = 1
    for lower, upper, step in bounds_of(loop):
        first, last, by = number_of(lower), number_of(upper), number_of(step)
        if not (isinstance(first, int) and isinstance(last, int) and isinstance(by, int)):
            return None
        total *= max(0, -(-(last - first) // by))
    return total
