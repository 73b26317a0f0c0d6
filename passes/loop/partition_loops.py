"""`partition-loops`: a loop with a guard on its index becomes two, of which each knows the guard."""

from __future__ import annotations

from typing import NamedTuple

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i1
from xdsl.ir import Operation, SSAValue, Use
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.dialects.tensor_ir.sizes import constant_index
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count
from stepwell.passes.loop.branches import inline_branch, is_outside

_BELOW, _UP_TO, _ABOVE, _FROM = 2, 3, 4, 5
_MIRRORED = {_BELOW: _ABOVE, _UP_TO: _FROM, _ABOVE: _BELOW, _FROM: _UP_TO}
"""The predicates of comparisons of signed integers, and those for exchanged operands."""


class _Guard(NamedTuple):
    """A comparison of a loop's index with a bound that no iteration changes."""

    op: arith.CmpiOp
    bound: SSAValue
    predicate: int


class PartitionLoopsPass(Pass):
    """
    Split a loop of step 1 at the bound of a comparison of the index, which both parts have decided then.

    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      %c = arith.cmpi slt, %i, %m : index
      scf.if %c {
        memref.store %v, %y[%i] : memref<?xf32>
      }
    }
    // ->
    %a = arith.minsi %m, %n : index
    %k = arith.maxsi %a, %c0 : index
    scf.for %i = %c0 to %k step %c1 {
      memref.store %v, %y[%i] : memref<?xf32>
    }
    scf.for %i = %k to %n step %c1 {
    }
    ```
    The comparison must choose the side of an `scf.if`.
    Class: exact.
    Source: index set splitting; TVM's LoopPartition.
    """

    name = "partition-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions_of(op):
            for inner in list(func.walk(reverse=True)):
                if isinstance(inner, scf.ForOp) and inner.parent is not None:
                    _partition(inner)
            erase_dead(func)


def _partition(loop: scf.ForOp) -> None:
    guard = next((found for op in loop.body.block.ops if (found := _guard(op, loop)) is not None), None)
    if guard is None or constant_index(loop.step) != 1:
        return
    emit = IRBuilder.before(loop)
    is_first = guard.predicate in (_BELOW, _UP_TO)
    # The first index of the second part.
    start = guard.bound
    if guard.predicate in (_UP_TO, _ABOVE):
        start = emit.value(arith.AddiOp(start, emit.materialize(1)))
    middle = emit.value(arith.MaxSIOp(emit.value(arith.MinSIOp(start, loop.ub)), loop.lb))
    position = loop.body.block.get_operation_index(guard.op)
    first = _part(loop, position, is_first)
    emit.insert(first)
    second = _part(loop, position, not is_first)
    for index, value in enumerate(first.results):
        second.operands[3 + index] = value
    first.operands[1], second.operands[0] = middle, middle
    Rewriter.replace_op(loop, second)
    count("rewrites")


def _guard(op: Operation, loop: scf.ForOp) -> _Guard | None:
    """The guard that a comparison is; None for another op."""
    if not isinstance(op, arith.CmpiOp) or not isinstance(op.lhs.type, IndexType):
        return None
    if not any(isinstance(use.operation, scf.IfOp) for use in op.result.uses):
        return None
    index, predicate = loop.body.block.args[0], op.predicate.value.data
    bound = op.rhs
    if op.rhs is index:
        bound, predicate = op.lhs, _MIRRORED.get(predicate, -1)
    elif op.lhs is not index:
        return None
    return _Guard(op, bound, predicate) if predicate in _MIRRORED and is_outside(bound, loop) else None


def _part(loop: scf.ForOp, position: int, holds: bool) -> scf.ForOp:
    """A copy of a loop in which the comparison at a position is decided."""
    copy = loop.clone()
    guard = list(copy.body.block.ops)[position]
    uses: list[Use] = list(guard.results[0].uses)
    for use in uses:
        if isinstance(use.operation, scf.IfOp):
            inline_branch(use.operation, holds)
    Rewriter.replace_op(guard, arith.ConstantOp(IntegerAttr(int(holds), i1)))
    return copy
