"""`split-loops`: innermost loops become loops over blocks of iterations."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.schedule_levels import MOST
from stepwell.dialects.tensor_ir.sizes import constant_index
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class SplitLoopsPass(Pass):
    """
    Split innermost loops of constant steps in blocks of `factor` iterations; the last one may be shorter.

    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      memref.store %v, %y[%i] : memref<?xf32>
    }
    // ->
    scf.for %b = %c0 to %n step %c4 {
      %d = arith.addi %b, %c4 : index
      %e = arith.minsi %d, %n : index
      scf.for %i = %b to %e step %c1 {
        memref.store %v, %y[%i] : memref<?xf32>
      }
    }
    ```
    Loops of at most `factor` iterations stay. `partition-loops` and `unroll-loops` go on with the parts.
    Class: exact.
    """

    name = "split-loops"

    factor: int = 4
    """The iterations of a block."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not 1 < self.factor < MOST:
            raise StepwellError("bad-option", None, f"factor is a number from 2 on, found {self.factor}")
        for func in functions_of(op):
            loops = [loop for loop in func.walk() if isinstance(loop, scf.ForOp)]
            for loop in loops:
                if not any(isinstance(inner, scf.ForOp) for inner in loop.body.walk()):
                    self._split(loop)

    def _split(self, loop: scf.ForOp) -> None:
        low, high, step = (constant_index(value) for value in (loop.lb, loop.ub, loop.step))
        if step is None or not 0 < step * self.factor < MOST:
            return
        if low is not None and high is not None and high - low <= step * self.factor:
            return
        emit = IRBuilder.before(loop)
        block = Block(arg_types=[loop.body.block.args[0].type, *(value.type for value in loop.iter_args)])
        size = emit.materialize(step * self.factor)
        outer = scf.ForOp.create(
            operands=[loop.lb, loop.ub, size, *loop.iter_args],
            result_types=list(loop.result_types),
            regions=[Region(block)],
            attributes=dict(loop.attributes),
        )
        inside = IRBuilder.at_end(block, loop.location)
        start, *carried = block.args
        end = inside.value(arith.MinSIOp(inside.value(arith.AddiOp(start, size)), loop.ub))
        inner = scf.ForOp.create(
            operands=[start, end, loop.step, *carried],
            result_types=list(loop.result_types),
            regions=[loop.detach_region(loop.body)],
        )
        inside.insert(inner)
        inside.insert(scf.YieldOp(*inner.results))
        Rewriter.replace_op(loop, outer)
        count("rewrites")
