"""`hoist-conditions`: a condition that no iteration changes is tested once, before the loop."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Region
from xdsl.rewriter import Rewriter

from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count, remark
from stepwell.passes.loop.branches import inline_branch, is_outside

_MOST_OPS = 512
"""A larger loop is not copied: each condition doubles it."""


class HoistConditionsPass(Pass):
    """
    Move an `scf.if` whose condition is computed before the loop around it out of this loop.

    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      scf.if %c {
        memref.store %v, %y[%i] : memref<?xf32>
      }
    }
    // ->
    scf.if %c {
      scf.for %i = %c0 to %n step %c1 {
        memref.store %v, %y[%i] : memref<?xf32>
      }
    } else {
      scf.for %i = %c0 to %n step %c1 {
      }
    }
    ```
    The loop is in both branches, each with one side of the condition. Class: exact.
    Source: loop unswitching.
    """

    name = "hoist-conditions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions_of(op):
            for inner in list(func.walk(reverse=True)):
                if isinstance(inner, scf.ForOp) and inner.parent is not None:
                    _hoist(inner)


def _hoist(loop: scf.ForOp) -> None:
    """Move the first condition of a loop out of it, and go on with the loops of both branches."""
    conditions = (op for op in loop.body.block.ops if isinstance(op, scf.IfOp))
    condition = next((op for op in conditions if is_outside(op.cond, loop)), None)
    if condition is None:
        return
    if sum(1 for _ in loop.walk()) > _MOST_OPS:
        remark(
            loop, "a condition stays inside the loop: moving it out would copy the loop, which is too long"
        )
        return
    position = loop.body.block.get_operation_index(condition)
    branches = [_with_side(loop, position, side) for side in (True, False)]
    regions = [Region(Block([branch, scf.YieldOp(*branch.results)])) for branch in branches]
    outer = scf.IfOp(condition.cond, loop.result_types, regions[0], regions[1])
    outer.location = loop.location
    Rewriter.replace_op(loop, outer)
    count("rewrites")
    for branch in branches:
        _hoist(branch)


def _with_side(loop: scf.ForOp, position: int, side: bool) -> scf.ForOp:
    """A copy of a loop with one side of the condition at a position in its body."""
    copy = loop.clone()
    condition = list(copy.body.block.ops)[position]
    assert isinstance(condition, scf.IfOp)
    inline_branch(condition, side)
    return copy
