"""`pad`: a loop made longer, up to a multiple of a number, so that splits leave no rest."""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.dialects.linalg import ops as linalg
from xdsl.ir import Operation

from stepwell.dialects.schedule_levels import MOST
from stepwell.dialects.tensor_ir.rewrites.padded_loops import PaddedLoop
from stepwell.dialects.tensor_ir.structured import projected_permutation
from stepwell.passes.analysis.scripts.nest import IllegalStepError, Loop
from stepwell.passes.analysis.scripts.rewrites import Target, generic_of
from stepwell.passes.context import remark

_DIVISIONS = (
    arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp, arith.FloorDivSIOp, arith.CeilDivSIOp,
    arith.CeilDivUIOp,
)  # fmt: skip


def pad(target: Target, loop: Loop, multiple: int) -> linalg.GenericOp:
    """Make a loop longer, up to a multiple of a number; returns the op that has it."""
    target.expect_fresh("pad")
    op, view = generic_of(target), target.view
    extent = view.extents[loop.dim]
    if not 0 < multiple < MOST:
        raise IllegalStepError(f"a loop is padded to a multiple of a positive number, found {multiple}")
    if extent is None:
        raise IllegalStepError(
            f"the extent of loop {loop.name} is known at run time", "split it: a rest is legal"
        )
    _expect_padding(target, op, loop)
    longer = -(-extent // multiple) * multiple
    padded = PaddedLoop(view, loop.dim, longer)
    if not view.parallel[loop.dim] and padded.combiner is None:
        raise IllegalStepError(f"nothing known to be associative combines the steps of loop {loop.name}")
    for at, value in enumerate(op.operands):
        count = prod(size for size in padded.shape(at) if size != DYNAMIC_INDEX)
        if count >= MOST and longer > extent:
            access = target.nest.formula.access_of(value) if target.nest is not None else target.name
            raise IllegalStepError(f"{access} would have {count} elements")
    if longer == extent:
        return op
    made = padded.write()
    remark(made, f"loop {loop.name} of {target.name} is padded from {extent} to {longer} iterations")
    return made


def _expect_padding(target: Target, op: Operation, loop: Loop) -> None:
    """Require padding to be harmless. Raises: IllegalStepError."""
    view = target.view
    assert target.nest is not None
    if not view.can_slice({loop.dim}):
        moved = target.nest.formula.unsliced(loop.dim) or str(target.nest.formula)
        raise IllegalStepError(f"loop {loop.name} moves an index of {moved} other than by a stride")
    if any(projected_permutation(map) is None for map in view.init_maps):
        raise IllegalStepError(f"{target.nest.formula.result} is not indexed by a loop a dimension")
    for inner in op.walk():
        if isinstance(inner, _DIVISIONS):
            raise IllegalStepError(
                f"the body of {target.name} divides integers: padding may be a divisor of 0"
            )
        if isinstance(inner, tensor.ExtractOp):
            raise IllegalStepError(
                f"the body of {target.name} reads elements at indices that it computes, which may be padding"
            )
