"""`defuse-ops`: inlines kernels, so that passes see the graph as it was before `fuse-ops`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.dissolve import dissolve
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import count
from stepwell.patterns.groups import blocks_of


@dataclass(frozen=True)
class DefuseOpsPass(FunctionPass):
    """
    Replace each `graph.fused` by the ops of its body, in order: the inverse of `fuse-ops`.

    ```mlir
    %y = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) attributes {kind = "single"} {
      %b = graph.relu %a : tensor<4xf32> -> tensor<4xf32>
      graph.yield %b : tensor<4xf32>
    }
    // ->
    %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Class: exact. Constants that `fuse-ops` copied into kernels stay copies: `eliminate-common-subexpr` merges
    them. Source: Relay's DefuseOps.
    """

    name = "defuse-ops"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        for block in list(blocks_of(func)):
            for op in list(block.ops):
                if isinstance(op, graph.FusedOp):
                    dissolve(op)
                    count("kernels")
