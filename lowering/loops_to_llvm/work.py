"""An estimate of the work of a loop's body, by which small loops stay on one thread."""

from __future__ import annotations

from functools import cache
from math import inf, prod
from typing import cast

from xdsl.dialects import arith, llvm, memref, scf, vector
from xdsl.dialects.builtin import IntegerAttr, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from stepwell.dialects.costs.kernels import THREADS

_MEMORY = (memref.LoadOp, memref.StoreOp, vector.TransferReadOp, vector.TransferWriteOp)
_FREE = (arith.ConstantOp, vector.BroadcastOp)
_SLOW = (arith.DivfOp,)


def work_of(block: Block, enough: float = inf) -> int:
    """
    Element operations of one execution of a block, with all iterations of loops inside.

    Nothing more is counted once there are `enough`: the first ops of a loop over a tensor mostly are.
    """
    total = 0
    for op in block.ops:
        if total >= enough:
            break
        if isinstance(op, scf.ForOp):
            trips = _trips(op.lb, op.ub, op.step)
            total += trips * work_of(op.body.block, enough / max(1, trips))
        elif isinstance(op, scf.ParallelOp):
            total += work_of_parallel(op, enough)
        elif op.regions:
            total += sum(work_of(inner, enough) for region in op.regions for inner in region.blocks)
        elif cost := _cost(type(op)):
            total += _lanes(op) * cost
    return total


def work_of_parallel(loop: scf.ParallelOp, enough: float = inf) -> int:
    """Element operations of all iterations of a parallel loop, counted as by `work_of`."""
    bounds = zip(loop.lowerBound, loop.upperBound, loop.step, strict=True)
    trips = prod(_trips(*each) for each in bounds)
    return trips * work_of(loop.body.block, enough / max(1, trips))


def _trips(*bounds: SSAValue) -> int:
    """The number of iterations of a loop, or an assumption where the bounds are not constant."""
    lower, upper, step = (_constant(_limit(value)) for value in bounds)
    if lower is None or upper is None or not step:
        return THREADS.unknown_trips
    return max(0, -(-(upper - lower) // step))


def _limit(bound: SSAValue) -> SSAValue:
    """The constant to which a bound is clamped, in a loop without some of its iterations."""
    while isinstance(op := bound.owner, arith.MaxSIOp | arith.MinSIOp):
        bound = op.lhs if _constant(op.lhs) is not None else op.rhs
    return bound


def _constant(value: SSAValue) -> int | None:
    """The number of a constant; None for other values."""
    # Constants outside of the loop are converted before it.
    if isinstance(value.owner, arith.ConstantOp | llvm.ConstantOp):
        number = value.owner.value
        return number.value.data if isinstance(number, IntegerAttr) else None
    return None


def _lanes(op: Operation) -> int:
    """The elements of an op's widest vector; 1 for scalars."""
    widest, last = 1, None
    for value in (*op.results, *op.operands):
        type: Attribute = value.type
        if type.__class__ is VectorType and type is not last:
            widest, last = max(widest, prod(cast("VectorType[Attribute]", type).get_shape())), type
    return widest


@cache
def _cost(op_type: type[Operation]) -> int:
    """The cost of an op of a class for each element, relative to an addition."""
    if issubclass(op_type, _MEMORY):
        return THREADS.memory_cost
    if issubclass(op_type, _FREE):
        return 0
    return THREADS.slow_cost if issubclass(op_type, _SLOW) else 1
