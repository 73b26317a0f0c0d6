"""Functions as values and ops with regions: long and wide programs pass without recursion, results stay."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import FunctionType, ModuleOp, f32
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.types import tensor_type
from stepwell.dialects.verify import verify_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.runtime.errors import StepwellError
from tests.support.samples import whole

T = tensor_type(f32, [2])
OPS = 4_000
PASSES = (
    "inline",
    "to-a-normal-form",
    "to-graph-normal-form",
    "to-basic-block-normal-form",
    "remove-unused-functions",
    "dead-code-elimination",
    "fold-constant",
)
VALUES = np.array([1.0, -2.0], np.float32)


def function(name: str, ops: list[Operation], block: Block, result: SSAValue) -> FuncOp:
    block.add_ops([*ops, ReturnOp(result)])
    return FuncOp(name, (list(block.arg_types), [result.type]), Region(block))


def chain() -> ModuleOp:
    """Thousands of calls, one after the other, of functions each of which negates."""
    block = Block(arg_types=[T])
    value: SSAValue = block.args[0]
    ops: list[Operation] = []
    for _ in range(OPS):
        ops.append(call := graph.CallOp("neg", [value], [T]))
        value = call.results[0]
    inner = Block(arg_types=[T])
    negate = graph.NegOp(inner.args[0])
    neg = function("neg", [negate], inner, negate.result)
    return ModuleOp([function("main", ops, block, value), neg])


@whole
def test_a_long_chain() -> None:
    ctx = StepwellContext()
    module = chain()
    run_pipeline(module, ",".join(PASSES), ctx)
    verify_module(module)
    np.testing.assert_array_equal(interpret(module, ctx, inputs=[VALUES])[0], VALUES)


def test_functions_that_double_at_each_level_are_refused() -> None:
    functions: list[Operation] = []
    for level in range(20):
        block = Block(arg_types=[T])
        callee = f"f{level + 1}"
        first = graph.CallOp(callee, [block.args[0]], [T])
        second = graph.CallOp(callee, [first.results[0]], [T])
        functions.append(
            function("main" if level == 0 else f"f{level}", [first, second], block, second.results[0])
        )
    last = Block(arg_types=[T])
    negate = graph.NegOp(last.args[0])
    functions.append(function("f20", [negate], last, negate.result))
    with pytest.raises(StepwellError, match="inlining makes .* ops of a function"):
        run_pipeline(ModuleOp(functions), "inline", StepwellContext())


def test_closures_hold_the_values_of_their_time() -> None:
    """A closure that is made in a loop, and one that goes through a function as an argument."""
    text = """
    func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
      %f = graph.lambda (%p: tensor<2xf32>) -> (tensor<2xf32>) {
        %q = graph.add %p, %x : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
        graph.yield %q : tensor<2xf32>
      }
      %y = graph.call @twice(%f, %x) : ((tensor<2xf32>) -> tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      func.return %y : tensor<2xf32>
    }
    func.func @twice(%g: (tensor<2xf32>) -> tensor<2xf32>, %x: tensor<2xf32>) -> tensor<2xf32> {
      %a = graph.call %g(%x) : (tensor<2xf32>) -> tensor<2xf32>
      %b = graph.call %g(%a) : (tensor<2xf32>) -> tensor<2xf32>
      func.return %b : tensor<2xf32>
    }
    """
    for pipeline in ("", "inline", "inline,dead-code-elimination,remove-unused-functions"):
        ctx = StepwellContext()
        module = parse_module(ctx, text)
        if pipeline:
            run_pipeline(module, pipeline, ctx)
        verify_module(module)
        np.testing.assert_array_equal(interpret(module, ctx, inputs=[VALUES])[0], 3 * VALUES)


def test_a_function_that_calls_itself_for_ever_ends_in_an_error() -> None:
    block = Block(arg_types=[T])
    call = graph.CallOp("main", [block.args[0]], [T])
    module = ModuleOp([function("main", [call], block, call.results[0])])
    with pytest.raises(StepwellError, match="calls nest more than"):
        interpret(module, StepwellContext(), inputs=[VALUES], max_depth=1000)


def test_a_lambda_has_the_type_of_its_region() -> None:
    block = Block(arg_types=[T])
    block.add_op(graph.YieldOp([block.args[0]]))
    assert graph.LambdaOp(Region(block)).result.type == FunctionType.from_lists([T], [T])
