"""`lambda-lift`: each lambda becomes a function of the module, with the captured values as arguments."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.passes.base import Pass, functions_of
from stepwell.passes.graph.lambda_lifting import lift_lambdas


@dataclass(frozen=True)
class LambdaLiftPass(Pass):
    """
    Move the body of each lambda into a private function, whose first arguments are the captured values.

    ```mlir
    %f = graph.lambda (%a: tensor<4xf32>) -> (tensor<4xf32>) {
      %b = graph.add %a, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      graph.yield %b : tensor<4xf32>
    }
    ```
    becomes, with a function of two arguments,
    ```mlir
    %f = graph.closure @main_lambda_0(%x) : (tensor<4xf32>) -> ((tensor<4xf32>) -> tensor<4xf32>)
    ```
    Calls of the lambda itself, inside and outside, become calls of the function with the captured values; if
    all uses are calls, there is no closure. Class: exact.
    Source: Johnsson, "Lambda lifting: transforming programs to recursive equations" (FPCA 1985).
    """

    name = "lambda-lift"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        lift_lambdas(op, functions_of(op))
