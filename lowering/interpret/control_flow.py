"""`scf`, `affine` and calls."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects import affine, func, scf
from xdsl.dialects.builtin import TensorType

from stepwell.dialects.sched_kernel import called_on_tensors, is_kernel, is_on_buffers
from stepwell.lowering.interpret.engine import (
    Compiler,
    Frame,
    Step,
    Steps,
    Value,
    implements,
    implements_in_frame,
    packed,
)
from stepwell.lowering.interpret.scalars import is_grid
from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    from stepwell.lowering.interpret.sampling import Sampling


@implements_in_frame("scf.for")
def prepare_for(op: scf.ForOp, compiler: Compiler) -> Step:
    """A counted loop that carries values."""
    body = compiler.steps(op.body.block)
    sampling: Sampling | None = compiler.machine.sampling

    def run(frame: Frame, lower: int, upper: int, step: int, *carried: Value) -> Value:
        values: Sequence[Value] = carried
        indices: Sequence[int] = range(lower, upper, step)
        if sampling is not None:
            (indices,) = sampling.chosen(op, [range(lower, upper, step)])
        for index in indices:
            values = body.run(frame, [index, *values])
        return packed(values)

    return run


@implements_in_frame("scf.parallel")
def prepare_parallel(op: scf.ParallelOp, compiler: Compiler) -> Step:
    """Loops with independent iterations; run backward, which exposes iterations that are not."""
    body = compiler.steps(op.body.block)
    count = len(op.lowerBound)
    sampling: Sampling | None = compiler.machine.sampling
    if op.res:
        raise StepwellError("unsupported", op, "the interpreter cannot run scf.parallel with reductions")

    def run(frame: Frame, *bounds: int) -> tuple[()]:
        ranges: Sequence[Sequence[int]] = [range(*bounds[k::count]) for k in range(count)]
        if sampling is not None:
            ranges = sampling.chosen(op, [range(*bounds[k::count]) for k in range(count)])
        for indices in itertools.product(*(each[::-1] for each in ranges)):
            body.run(frame, indices)
        return ()

    return run


@implements_in_frame("scf.while")
def prepare_while(op: scf.WhileOp, compiler: Compiler) -> Step:
    """A loop that runs while its first region yields true."""
    before = compiler.steps(op.before_region.block)
    after = compiler.steps(op.after_region.block)

    def run(frame: Frame, *values: Value) -> Value:
        condition, *carried = before.run(frame, values)
        while condition:
            condition, *carried = before.run(frame, after.run(frame, carried))
        return packed(carried)

    return run


@implements_in_frame("scf.if")
def prepare_if(op: scf.IfOp, compiler: Compiler) -> Step:
    """The branch that a condition selects; on a grid both branches, each for its own elements."""
    branches = [compiler.steps(region.block) if region.blocks else None for region in op.regions]
    then, otherwise = branches

    def run(frame: Frame, condition: Value) -> Value:
        if is_grid(condition):
            taken = _run_masked(then, frame, condition)
            not_taken = _run_masked(otherwise, frame, ~condition)
            return packed([np.where(condition, a, b) for a, b in zip(taken, not_taken, strict=True)])
        branch = then if condition else otherwise
        return packed(branch.run(frame, [])) if branch is not None else ()

    return run


def _run_masked(branch: Steps | None, frame: Frame, mask: Value) -> Sequence[Value]:
    """Run a branch on a grid, for the elements of a mask."""
    if branch is None:
        return []
    outer = frame.mask
    frame.mask = mask if outer is None else outer & mask
    values = branch.run(frame, [])
    frame.mask = outer
    return values


@implements_in_frame("scf.index_switch")
def prepare_index_switch(op: scf.IndexSwitchOp, compiler: Compiler) -> Step:
    """The region of the case that equals the index, else the default region."""
    default = compiler.steps(op.default_region.block)
    cases = {
        case: compiler.steps(region.block)
        for case, region in zip(op.cases.get_values(), op.case_regions, strict=True)
    }

    def run(frame: Frame, index: int) -> Value:
        return packed(cases.get(index, default).run(frame, []))

    return run


@implements_in_frame("func.call")
def prepare_call(op: func.CallOp, compiler: Compiler) -> Step:
    """
    A call of another function of the module.

    Raises: StepwellError `bad-main` for tensors that a kernel on buffers would get.
    """
    callee = op.callee.string_value()
    function = compiler.machine.functions.get(callee)
    types = (*op.operand_types, *op.result_types)
    if function is not None and is_kernel(function) and is_on_buffers(function):
        if any(isinstance(type, TensorType) for type in types):
            raise called_on_tensors(function, op)

    def run(frame: Frame, *values: Value) -> Value:
        return packed(compiler.machine.call(callee, values, frame.scope, op))

    return run


@implements("affine.apply")
def prepare_apply(op: affine.ApplyOp) -> Step:
    """The value of an affine expression."""
    map = op.map.data

    def apply(*values: int) -> int:
        return map.eval(values[: map.num_dims], values[map.num_dims :])[0]

    return apply


@implements("affine.min")
def prepare_min(op: affine.MinOp) -> Step:
    """The least of affine expressions."""
    map = op.map.data

    def least(*values: int) -> int:
        return min(map.eval(values[: map.num_dims], values[map.num_dims :]))

    return least
