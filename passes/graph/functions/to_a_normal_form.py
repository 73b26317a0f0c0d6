"""`to-a-normal-form`: the ops of each block in the order of evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from stepwell.passes.analysis.scopes import blocks_inside, dependences, post_order, reorder
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import count


@dataclass(frozen=True)
class ToANormalFormPass(FunctionPass):
    """
    Put the ops of each block in the order of evaluation: post order from the results.

    ```mlir
    %b = graph.exp %y : tensor<4xf32> -> tensor<4xf32>
    %a = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
    %c = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // ->
    %a = graph.neg %x : tensor<4xf32> -> tensor<4xf32>
    %b = graph.exp %y : tensor<4xf32> -> tensor<4xf32>
    %c = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    In SSA every op result is a definition of its own already, so only the order changes. Ops with effects
    stay in their order.

    Class: exact.
    """

    name = "to-a-normal-form"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        for block in blocks_inside(func):
            if reorder(block, post_order(block, dependences(block))):
                count("blocks reordered")
