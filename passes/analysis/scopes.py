"""Constraints on the order of ops: captured values of regions, side effects, sources of symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator, is_side_effect_free

from stepwell.dialects import graph
from stepwell.dialects.graph.functions import values_read
from stepwell.dialects.graph.symbols import symbol_sources


def dependences(block: Block) -> Mapping[Operation, Sequence[Operation]]:
    """
    Maps each op of a block to the ops of the block that must come before, in operand order.

    Ops with side effects stay in order; ops whose types name a symbol come after the op that defines the
    symbol.
    """
    sources = symbol_sources(block)
    found: dict[Operation, Sequence[Operation]] = {}
    last_effect: Operation | None = None
    for op in block.ops:
        owners = (value.owner for value in values_read(op))
        before = [owner for owner in owners if isinstance(owner, Operation) and owner.parent is block]
        before += sources.get(op, [])
        if not op.has_trait(IsTerminator) and not is_side_effect_free(op):
            before += [last_effect] if last_effect is not None else []
            last_effect = op
        found[op] = list(dict.fromkeys(before))
    return found


_CHECKS = (
    graph.AssertOp,
    graph.CheckAccessesOp,
    graph.CheckIndicesOp,
    graph.CheckOffsetsOp,
    graph.DefineSizesOp,
    graph.BindSizesOp,
)


def ops_in_effect_order(block: Block) -> list[Operation]:
    """
    The ops of a block in an order to keep: uses of cells, calls, and ops with such ops inside.

    Checks and definitions of sizes are not among them: any order of these gives the same results.
    """
    return [op for op in block.ops if not isinstance(op, graph.FusedOp) and _has_ordered_effects(op)]


def _has_ordered_effects(op: Operation) -> bool:
    if op.has_trait(IsTerminator) or isinstance(op, _CHECKS) or is_side_effect_free(op):
        return False
    inside = [each for region in op.regions for block in region.blocks for each in block.ops]
    return not inside or any(map(_has_ordered_effects, inside))


def post_order(block: Block, before: Mapping[Operation, Sequence[Operation]]) -> list[Operation]:
    """
    The ops of a block in post order from the results: each op after the ops in `before`.

    Ops with side effects come first, in their order; ops without uses come last, in program order.
    """
    ops = list(block.ops)
    roots = [op for op in ops if not op.has_trait(IsTerminator) and not is_side_effect_free(op)]
    terminator = [op for op in ops if op.has_trait(IsTerminator)]
    placed: dict[Operation, None] = {}
    for root in [*roots, *terminator]:
        _place(root, before, placed)
    for op in terminator:
        del placed[op]
    for op in ops:
        if op not in terminator:
            _place(op, before, placed)
    return [*placed, *terminator]


def _place(
    root: Operation, before: Mapping[Operation, Sequence[Operation]], placed: dict[Operation, None]
) -> None:
    stack = [root]
    while stack:
        op = stack[-1]
        if op not in placed and (missing := [o for o in before[op] if o not in placed]):
            stack += reversed(missing)
            continue
        placed.setdefault(stack.pop())


def reorder(block: Block, order: Sequence[Operation]) -> bool:
    """Move the ops of a block into an order; returns whether anything moved."""
    if list(block.ops) == list(order):
        return False
    for op in order:
        op.detach()
    block.add_ops(order)
    return True


def blocks_inside(op: Operation) -> list[Block]:
    """
    All blocks nested in an op, inner ones first. The values captured by these blocks, in this order, are the
    op's.
    """
    return [block for inner in op.walk() for region in inner.regions for block in region.blocks][::-1]
