"""`dead-code-elimination`: ops without effects whose results are unused are erased."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from stepwell.passes.analysis.dead_ops import erase_dead_ops
from stepwell.passes.base import FunctionPass


@dataclass(frozen=True)
class DeadCodeEliminationPass(FunctionPass):
    """
    Erase every op without effects whose results have no uses, users before the ops that they used.

    ```mlir
    %a = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    %b = graph.neg %a : tensor<4xf32> -> tensor<4xf32>
    // ->
    ```
    Class: exact. One backward walk; ops with effects stay, used or not.
    """

    name = "dead-code-elimination"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        for block in func.body.blocks:
            erase_dead_ops(block)
