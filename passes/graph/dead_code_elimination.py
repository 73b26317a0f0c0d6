"""`dead-code-elimination`: ops without effect whose results nobody reads go."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from stepwell.passes.base import FunctionPass


@dataclass(frozen=True)
class DeadCodeEliminationPass(FunctionPass):
    """
    Erase every op without effects whose results have no use, users before what they used.

    ```mlir
    %a = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    %b = graph.neg %a : tensor<4xf32> -> tensor<4xf32>
    // ->
    ```
    Class: exact. One walk; what has an effect stays, used or not.
    """

    name = "dead-code-elimination"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        for block in func.body.blocks:
            erase_dead_ops(block)


def erase_dead_ops(block: Block) -> None:
    """Erase the dead ops of a block and of the regions inside it, from the last to the first."""
    for op in reversed(list(block.ops)):
        if _is_dead(op):
            Rewriter.erase_op(op)
            continue
        for region in op.regions:
            for inner in region.blocks:
                erase_dead_ops(inner)


def _is_dead(op: Operation) -> bool:
    if not op.results or any(result.first_use is not None for result in op.results):
        return False
    return is_side_effect_free(op)
