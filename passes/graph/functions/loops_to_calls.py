"""`loops-to-calls`: loops become functions that call themselves."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.passes.analysis.symbol_names import SymbolNames
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count
from stepwell.passes.graph.loops_as_calls import call_loops, reads_sizes
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class LoopsToCallsPass(Pass):
    """
    Replace each `graph.while` and `graph.for` by a call of a function that calls itself.

    ```mlir
    %y = graph.for %i to %n (%a = %x : tensor<f32>) -> (tensor<f32>) {
      %b = graph.multiply %a, %s : (tensor<f32>, tensor<f32>) -> tensor<f32>
      graph.yield %b : tensor<f32>
    }
    ```
    becomes
    ```mlir
    %zero = graph.constant dense<0> : tensor<i64>
    %y = graph.call @main.loop(%zero, %n, %x, %s) : (tensor<i64>, tensor<i64>, tensor<f32>, tensor<f32>) -> tensor<f32>
    ```
    with a function of the iteration's number, the number of iterations, the carried values and the outside
    values that the loop uses. While iterations are left, the function calls itself with the next values.
    Sizes that no argument has are the last argument. A loop inside of a loop becomes a function that the
    outer loop's function calls. Class: exact. Fails for a loop whose sizes are operands of ops.
    """  # noqa: E501

    name = "loops-to-calls"

    with_calls: bool = False
    """Whether only loops are replaced that have calls inside."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = SymbolNames(op)
        waiting = functions_of(op)
        while waiting:
            function = waiting.pop()
            made = call_loops(function, weights_of(ctx), names.fresh, self._is_wanted)
            op.body.block.insert_ops_after(made, function)
            waiting += made
            count("loops replaced", len(made))

    def _is_wanted(self, op: graph.LoopOp) -> bool:
        """Whether a loop is replaced. Raises: StepwellError `unsupported`."""
        if self.with_calls and not any(isinstance(each, graph.CallOp | func.CallOp) for each in op.walk()):
            return False
        if reads_sizes(op):
            message = "the loop has sizes of carried values as operands of ops"
            raise StepwellError("unsupported", op, message, help="compute them with graph.shape_of")
        return True
