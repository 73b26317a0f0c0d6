"""Branches of conditions that are decided, and values from outside of a loop."""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter


def inline_branch(condition: scf.IfOp, side: bool) -> None:
    """Replace a condition by the ops of one of its branches."""
    block, results = condition.parent, list[SSAValue]()
    assert block is not None
    region = condition.true_region if side else condition.false_region
    inner: list[Operation] = list(region.block.ops) if region.blocks else []
    for op in inner:
        if isinstance(op, scf.YieldOp):
            results = list(op.operands)
            continue
        op.detach()
        block.insert_op_before(op, condition)
    Rewriter.replace_op(condition, [], results)


def is_outside(value: SSAValue, loop: scf.ForOp) -> bool:
    """Whether a value is defined outside of a loop."""
    owner = value.owner
    return owner is not loop.body.block if isinstance(owner, Block) else not loop.is_ancestor(owner)
