"""`tail-calls-to-loops`: functions on tensors that call themselves last become loops."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count, remark
from stepwell.passes.graph.functions.tail_calls import SelfCalls
from stepwell.passes.graph.functions.tail_loops import make_loop


@dataclass(frozen=True)
class TailCallsToLoopsPass(Pass):
    """
    Replace a function's calls of itself in tail position by a `graph.while`.

    ```mlir
    func.func @sum(%n: tensor<i64>, %s: tensor<i64>) -> tensor<i64> {
      %zero = graph.constant dense<0> : tensor<i64>
      %more = graph.less %zero, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      %r = graph.if %more : tensor<i1> -> (tensor<i64>) {
        %one = graph.constant dense<1> : tensor<i64>
        %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
        %t = graph.add %s, %n : (tensor<i64>, tensor<i64>) -> tensor<i64>
        %u = graph.call @sum(%m, %t) : (tensor<i64>, tensor<i64>) -> tensor<i64>
        graph.yield %u : tensor<i64>
      } else {
        graph.yield %s : tensor<i64>
      }
      func.return %r : tensor<i64>
    }
    // ->
    func.func @sum(%n: tensor<i64>, %s: tensor<i64>) -> tensor<i64> {
      %last, %r = graph.while (%n1 = %n : tensor<i64>, %s1 = %s : tensor<i64>) -> (tensor<i64>, tensor<i64>) {
        %zero = graph.constant dense<0> : tensor<i64>
        %more = graph.less %zero, %n1 : (tensor<i64>, tensor<i64>) -> tensor<i1>
        graph.yield %more : tensor<i1>
      } do (%n2: tensor<i64>, %s2: tensor<i64>) {
        %one = graph.constant dense<1> : tensor<i64>
        %m = graph.subtract %n2, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
        %t = graph.add %s2, %n2 : (tensor<i64>, tensor<i64>) -> tensor<i64>
        graph.yield %m, %t : tensor<i64>, tensor<i64>
      }
      func.return %r : tensor<i64>
    }
    ```
    Lambdas with a name for themselves are replaced too. If both branches can end the recursion, if the
    condition has effects, or if it shares work with a branch, the loop carries a flag, and the results, which
    begin as zeros.

    The loop is compiled as any other, in `@main` or in a segment, and has a derivative as a loop. A function
    stays, with a remark, if it also calls itself elsewhere, or if its arguments are not tensors with sizes
    that are numbers or names, and the same in each call. Class: exact.
    """

    name = "tail-calls-to-loops"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        weights = weights_of(ctx)
        for function in functions_of(op):
            lambdas = [each for each in function.walk() if isinstance(each, graph.LambdaOp) and each.itself]
            for each in (*reversed(lambdas), function):  # those inside first
                calls = SelfCalls.of(each)
                if not calls.found:
                    continue
                if reason := calls.reason_against() or make_loop(calls, weights):
                    remark(each, f"not a loop: {reason}")
                else:
                    count("functions made loops")
