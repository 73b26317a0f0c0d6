"""Updates of a part of carried tensors and states, without a copy of the rest."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import IntegerType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.state import STATE, argument_attributes, state_pairs
from stepwell.dialects.types import tensor_of

_PACKED = (2, 4)
"""The widths of integers of which a byte has several."""


def is_written_in_place(op: Operation) -> bool:
    """
    Whether an op replaces a block of a carried tensor, or of a state, and can do so in its memory.

    The value before has no other use, and the result is the next one: of the next iteration, or call. Such an
    op is no part of a kernel: `plan-memory` copies the block to its place.
    """
    if not isinstance(op, graph.InsertSliceOp) or op.offsets is None:
        return False
    before, element = op.input, tensor_of(op.input).element_type
    if not isinstance(block := before.owner, Block) or not before.has_one_use() or block is not op.parent:
        return False
    if isinstance(element, IntegerType) and cast("IntegerType[int]", element).width.data in _PACKED:
        return False
    return _next_of(before, block) is op.result


def _next_of(before: SSAValue, block: Block) -> SSAValue | None:
    """The next value of a carried tensor or a state, of which an argument of a block is the value before."""
    parent, last = block.parent_op(), block.last_op
    if isinstance(parent, graph.LoopOp) and parent.body.block is block and isinstance(last, graph.YieldOp):
        carried = dict(zip(parent.carried, last.operands, strict=False))
        return carried.get(before)
    if isinstance(parent, FuncOp) and isinstance(last, ReturnOp):
        number = block.args.index(before)  # pyright: ignore[reportArgumentType]  # it is one of these
        if STATE not in argument_attributes(parent)[number].data:
            return None
        found = [pair.result for pair in state_pairs(parent) if pair.argument == number]
        return last.operands[found[0]] if found and found[0] is not None else None
    return None
