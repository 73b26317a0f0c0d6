"""`unroll-loops`: short loops of a known number of iterations are written out."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.dialects.tensor_ir.sizes import constant_index
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count
from stepwell.runtime.errors import StepwellError

_MOST_OPS = 4096
"""A loop is not written out as more ops, counted with those of loops inside."""


@dataclass(frozen=True)
class UnrollLoopsPass(Pass):
    """
    Write out loops of at most `limit` iterations whose bounds are constants, the innermost first.

    ```mlir
    scf.for %i = %c0 to %c2 step %c1 {
      memref.store %v, %y[%i] : memref<2xf32>
    }
    // ->
    memref.store %v, %y[%c0] : memref<2xf32>
    memref.store %v, %y[%c1] : memref<2xf32>
    ```
    Class: exact.
    """

    name = "unroll-loops"

    limit: int = 8

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.limit < 1:
            raise StepwellError("bad-option", None, f"limit is a number from 1 on, found {self.limit}")
        for func in functions_of(op):
            loops = [loop for loop in func.walk(reverse=True) if isinstance(loop, scf.ForOp)]
            for loop in loops:
                steps = _steps(loop)
                if steps is not None and len(steps) <= self.limit and len(steps) * _ops(loop) <= _MOST_OPS:
                    _write_out(loop, steps)
                    count("rewrites")
            erase_dead(func)


def _steps(loop: scf.ForOp) -> range | None:
    """The values of the induction variable; None where these are not known."""
    low, high, step = (constant_index(value) for value in (loop.lb, loop.ub, loop.step))
    return None if low is None or high is None or step is None or step < 1 else range(low, high, step)


def _ops(loop: scf.ForOp) -> int:
    return sum(1 for _ in loop.walk()) - 2


def _write_out(loop: scf.ForOp, steps: range) -> None:
    """Replace a loop by its iterations."""
    emit = IRBuilder.before(loop)
    carried: list[SSAValue] = list(loop.iter_args)
    for step in steps:
        copies: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: emit.materialize(step)}
        copies |= dict(zip(loop.body.block.args[1:], carried, strict=True))
        for op in loop.body.block.ops:
            if isinstance(op, scf.YieldOp):
                carried = [copies.get(value, value) for value in op.operands]
            else:
                emit.insert(_copied(op, copies))
    Rewriter.replace_op(loop, [], carried)


def _copied(op: Operation, copies: dict[SSAValue, SSAValue]) -> Operation:
    return op.clone(copies)
