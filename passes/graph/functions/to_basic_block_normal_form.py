"""`to-basic-block-normal-form`: each op in the innermost scope that contains all of its uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import IsTerminator, is_side_effect_free

from stepwell.dialects import graph
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import count


@dataclass(frozen=True)
class ToBasicBlockNormalFormPass(FunctionPass):
    """
    Move ops with uses in only one branch of a `graph.if` into that branch; others stay before it.

    ```mlir
    %e = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
      graph.yield %e : tensor<4xf32>
    } else {
      graph.yield %x : tensor<4xf32>
    }
    // ->
    %y = graph.if %c : tensor<i1> -> (tensor<4xf32>) {
      %e = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
      graph.yield %e : tensor<4xf32>
    } else {
      graph.yield %x : tensor<4xf32>
    }
    ```
    An op moves to the lowest common ancestor of the scopes of its uses. Nothing moves into the body of a loop
    or of a function value, where it would run more than once; nothing is copied.

    Class: exact.
    """

    name = "to-basic-block-normal-form"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        for block in func.body.blocks:
            _sink_in(block)


def _sink_in(block: Block) -> None:
    """Sink the ops of a block into branches, users before their operands' ops, then those of inner blocks."""
    for op in reversed(list(block.ops)):
        if (target := _scope_of_uses(op, block)) is not block:
            count("ops moved")
            op.detach()
            Rewriter.insert_op(op, InsertPoint.at_start(target))
    for op in block.ops:
        if not isinstance(op, graph.ClosedRegionOp):
            for region in op.regions:
                for inner in region.blocks:
                    _sink_in(inner)


def _scope_of_uses(op: Operation, block: Block) -> Block:
    """The innermost block of branches that contains all uses of an op; `block` if it may not move."""
    users = [use.operation for result in op.results for use in result.uses]
    if not users or op.has_trait(IsTerminator) or not is_side_effect_free(op) or _defines_symbols(op):
        return block
    ways = [_way_to(user, block) for user in users]
    common = block
    for blocks in zip(*ways, strict=False):
        if any(inner is not blocks[0] for inner in blocks) or not _is_branch(blocks[0]):
            break
        common = blocks[0]
    return common


def _way_to(user: Operation, block: Block) -> Sequence[Block]:
    """The nested blocks that contain a user, from outside in, without `block` itself."""
    way: list[Block] = []
    inner = user.parent
    while inner is not None and inner is not block:
        way.append(inner)
        inner = inner.parent_block()
    return way[::-1]


def _is_branch(block: Block) -> bool:
    return isinstance(block.parent_op(), graph.IfOp)


def _defines_symbols(op: Operation) -> bool:
    return "symbols" in op.properties  # references in types are not uses
