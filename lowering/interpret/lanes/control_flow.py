"""`scf` for threads: lanes that take another branch, or leave a loop earlier, are masked."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
from xdsl.dialects import scf
from xdsl.ir import Operation

from stepwell.lowering.interpret.engine import Steps, Value, packed
from stepwell.lowering.interpret.lanes.compiler import LaneCompiler, for_lanes
from stepwell.lowering.interpret.lanes.iterations import Loop
from stepwell.lowering.interpret.lanes.memory import Buffer
from stepwell.lowering.interpret.lanes.state import LaneFrame, Mask, as_lanes
from stepwell.lowering.interpret.scalars import is_grid


@for_lanes("scf.for")
def prepare_for(op: scf.ForOp, compiler: LaneCompiler) -> Callable[..., Value]:
    """A counted loop; with bounds that differ, until the last lane has left it."""
    body, loop = compiler.steps(op.body.block), _loop(op)

    def run(frame: LaneFrame, lower: Value, upper: Value, step: Value, *carried: Value) -> Value:
        values: Sequence[Value] = carried
        if not (is_grid(lower) or is_grid(upper) or is_grid(step)):
            for index in range(int(lower), int(upper), int(step)):
                frame.group.iterations.add(loop)
                values = body.run(frame, [index, *values])
            return packed(values)
        outer = frame.mask
        index = as_lanes(lower, frame.group)
        running = _within(outer, as_lanes(np.less(index, upper), frame.group))
        while running.any():
            frame.group.iterations.add(loop)
            frame.mask = running
            values = _merged(running, body.run(frame, [index, *values]), values)
            index = index + step
            running = running & np.less(index, upper)
        frame.mask = outer
        return packed(values)

    return run


@for_lanes("scf.while")
def prepare_while(op: scf.WhileOp, compiler: LaneCompiler) -> Callable[..., Value]:
    """A loop until the last lane's condition is false."""
    before = compiler.steps(op.before_region.block)
    after, loop = compiler.steps(op.after_region.block), _loop(op)

    def run(frame: LaneFrame, *values: Value) -> Value:
        outer = frame.mask
        running = _within(outer, as_lanes(np.True_, frame.group))
        results: Sequence[Value] | None = None
        inputs: Sequence[Value] = values
        while True:
            frame.group.iterations.add(loop)
            frame.mask = None if running.all() else running
            condition, *carried = before.run(frame, inputs)
            results = carried if results is None else _merged(running, carried, results)
            running = running & as_lanes(condition, frame.group)
            if not running.any():
                break
            frame.mask = None if running.all() else running
            inputs = _merged(running, after.run(frame, carried), inputs)
        frame.mask = outer
        return packed(results)

    return run


@for_lanes("scf.if")
def prepare_if(op: scf.IfOp, compiler: LaneCompiler) -> Callable[..., Value]:
    """The branch of a condition; both branches where lanes differ, each for its own."""
    branches = [compiler.steps(region.block) if region.blocks else None for region in op.regions]
    then, otherwise = branches

    def run(frame: LaneFrame, condition: Value) -> Value:
        if not is_grid(condition):
            branch = then if condition else otherwise
            return packed(branch.run(frame, []) if branch is not None else [])
        taken = _run_for(then, frame, _within(frame.mask, condition))
        not_taken = _run_for(otherwise, frame, _within(frame.mask, ~condition))
        if taken is None or not_taken is None:
            return packed(taken or not_taken or [])
        return packed(_merged(condition, taken, not_taken))

    return run


@for_lanes("scf.parallel")
def prepare_parallel(op: scf.ParallelOp, compiler: LaneCompiler) -> Callable[..., Value]:
    """Loops with independent iterations, run one after the other by each thread."""
    body, loop = compiler.steps(op.body.block), _loop(op)
    count = len(op.lowerBound)
    if op.res:
        raise TypeError("it has reductions")

    def run(frame: LaneFrame, *bounds: int) -> tuple[()]:
        for indices in itertools.product(*(range(*bounds[k::count]) for k in range(count))):
            frame.group.iterations.add(loop)
            body.run(frame, indices)
        return ()

    return run


def _loop(op: Operation) -> Loop:
    """A loop with its depth."""
    depth, parent = 0, op.parent_op()
    while parent is not None:
        depth, parent = depth + 1, parent.parent_op()
    return Loop((depth, 0), op)


def _run_for(branch: Steps | None, frame: LaneFrame, mask: Mask) -> Sequence[Value] | None:
    """Run a branch for the lanes of a mask; None when there are none."""
    if not mask.any():
        return None
    if branch is None:
        return []
    outer = frame.mask
    frame.mask = None if mask.all() else mask
    values = branch.run(frame, [])
    frame.mask = outer
    return values


def _within(outer: Mask | None, mask: Mask) -> Mask:
    return mask if outer is None else outer & mask


def _merged(mask: Mask, chosen: Sequence[Value], others: Sequence[Value]) -> list[Value]:
    """Values of the lanes of a mask, and others in the rest. Raises: TypeError for buffers that differ."""
    return [_either(mask, a, b) for a, b in zip(chosen, others, strict=True)]


def _either(mask: Mask, a: Value, b: Value) -> Value:
    if isinstance(a, Buffer):
        if a is not b:
            raise TypeError("the buffer depends on the lane")
        return cast(Value, a)
    return cast(Value, np.where(mask, a, b))
