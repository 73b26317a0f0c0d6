"""Whether a value is defined before an op, and moving pure ops up to define it there."""

from __future__ import annotations

from xdsl.dialects import tensor
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import is_side_effect_free


def is_available(value: SSAValue, at: Operation) -> bool:
    """Whether a value is defined when `at` runs."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    assert block is not None
    around = block.find_ancestor_op_in_block(at)
    if around is None:
        return False
    return isinstance(owner, Block) or (around is not owner and owner.is_before_in_block(around))


def make_available(value: SSAValue, at: Operation) -> bool:
    """
    Make a value be defined when `at` runs, by moving pure ops without regions up.

    Returns: whether it is defined there; if not, some ops may still have moved, with the same results.
    """
    if is_available(value, at):
        return True
    op = value.owner
    if isinstance(op, Block) or op.regions or not (is_side_effect_free(op) or isinstance(op, tensor.EmptyOp)):
        return False
    target = _position(op, at)
    if target is None or not all(make_available(operand, target) for operand in op.operands):
        return False
    op.detach()
    Rewriter.insert_op(op, InsertPoint.before(target))
    return True


def _position(op: Operation, at: Operation) -> Operation | None:
    """
    The op before which `op` must be inserted to dominate `at` and all users of `op`; None if there is none.
    """
    assert op.parent is not None and at.parent is not None
    if (inside := op.parent.find_ancestor_op_in_block(at)) is not None:
        return inside
    return at if at.parent.find_ancestor_op_in_block(op) is not None else None
