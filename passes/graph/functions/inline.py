"""`inline`: calls are replaced by the bodies of the functions."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.passes.base import Pass
from stepwell.passes.graph.inlining import inline_module


@dataclass(frozen=True)
class InlinePass(Pass):
    """
    Replace calls by a copy of the callee's body.

    Calls are `graph.call`, of a function of the module or of a `graph.lambda`, and `func.call` of a function
    of the module that is no kernel.

    ```mlir
    %f = graph.lambda (%a: tensor<4xf32>) -> (tensor<4xf32>) {
      %b = graph.exp %a : tensor<4xf32> -> tensor<4xf32>
      graph.yield %b : tensor<4xf32>
    }
    %y = graph.call %f(%x) : (tensor<4xf32>) -> tensor<4xf32>
    // ->
    %y = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    ```
    A function value is followed through fields of tuples in sight, matches on data in sight, and branches on
    constants; such matches and branches are replaced by the region that runs. Calls of recursive functions
    and lambdas, declarations and functions with `skip_optimization` stay. A lambda without remaining uses is
    erased; functions stay, for `remove-unused-functions`.

    Class: exact. Fails when a call's types do not fit its function, and when a function grows too large.
    """

    name = "inline"

    once: bool = False
    """Whether only functions and lambdas are inlined whose one use is the call."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        inline_module(op, once=self.once)
