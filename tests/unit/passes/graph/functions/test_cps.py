"""`to-cps` and `un-cps`: programs compute the same, and every call is the last thing that its block does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation

import stepwell
from stepwell.dialects import graph
from stepwell.runtime.errors import StepwellError
from tests.support.random_functions import Functions, results
from tests.support.samples import examples, whole
from tests.unit.passes.graph.functions.test_loops_and_calls import NESTED, Recursion
from tests.unit.passes.graph.functions.test_loops_and_calls import results as results_of_recursion

N = "tensor<i64>"


def calls_before_others(module: stepwell.Module) -> list[str]:
    """The calls of a module that are not the last ops of their blocks."""
    bodies = {op.sym_name.data for op in module.op.ops if isinstance(op, FuncOp) and not op.is_declaration}
    found: list[str] = []
    for op in module.op.walk():
        if isinstance(op, graph.CallOp) and (op.callee is None or op.callee.root_reference.data in bodies):
            last = op.next_op
            is_end = isinstance(last, graph.YieldOp | ReturnOp) and list(last.operands) == list(op.results)
            found += [] if is_end else [str(op)]
    return found


def depth_of(module: stepwell.Module) -> int:
    """The deepest nesting of regions."""

    def depth(op: Operation) -> int:
        at: Block | None = op.parent
        number = 0
        while at is not None:
            number, at = number + 1, at.parent_block()
        return number

    return max(map(depth, module.op.walk()))


@examples(60)
@given(data=st.data())
def test_random_programs_compute_the_same_with_continuations(data: st.DataObject) -> None:
    module = stepwell.parse(Functions(data).text()).run("link-prelude")
    expected, before = results(module), depth_of(module)
    module.run("to-cps")
    module.verify()
    assert calls_before_others(module) == []
    assert depth_of(module) <= before + 1
    module.run("un-cps")
    module.verify()
    assert results(module) == expected
    module.run("monomorphize,lambda-lift")
    module.verify()
    assert results(module) == expected


@examples(30)
@given(data=st.data())
def test_recursion_with_open_sizes_computes_the_same(data: st.DataObject) -> None:
    module = stepwell.parse(Recursion(data).text())
    expected = results_of_recursion(module)
    module.run("to-cps,un-cps")
    module.verify()
    assert results_of_recursion(module) == expected
    module.run("monomorphize,defunctionalize")
    assert results_of_recursion(module) == expected


def test_loops_with_calls_are_calls_first() -> None:
    text = NESTED.replace(
        "%c = graph.less %b, %limit : (tensor<i64>, tensor<i64>) -> tensor<i1>",
        "%c = graph.call @less(%b, %limit) : (tensor<i64>, tensor<i64>) -> tensor<i1>",
    )
    text += f"""
func.func private @less(%a: {N}, %b: {N}) -> tensor<i1> {{
  %c = graph.less %a, %b : ({N}, {N}) -> tensor<i1>
  func.return %c : tensor<i1>
}}
"""
    x = np.array([1, 2], np.float32)
    expected = stepwell.parse(text).interpret(np.int64(4), x)
    with pytest.raises(StepwellError, match="loops-to-calls") as raised:
        stepwell.parse(text).run("to-cps")
    assert raised.value.code == "unsupported"
    module = stepwell.parse(text).run("loops-to-calls{with-calls},to-cps,un-cps")
    module.verify()
    assert calls_before_others(module) == [str(each) for each in _of_main(module)]
    found = module.interpret(np.int64(4), x)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def _of_main(module: stepwell.Module) -> list[Operation]:
    """The call in the function that `un-cps` defines, whose answer is a tuple."""
    (main,) = (op for op in module.op.ops if isinstance(op, FuncOp) and op.sym_name.data == "main")
    return [op for op in main.walk() if isinstance(op, graph.CallOp)]


@whole
def test_a_chain_of_calls_does_not_nest() -> None:
    lines = [f"  %x{n + 1} = graph.call @f(%x{n}) : ({N}) -> {N}" for n in range(500)]
    text = f"""
func.func private @f(%x: {N}) -> {N} {{
  %y = graph.add %x, %x : ({N}, {N}) -> {N}
  func.return %y : {N}
}}
func.func @main(%x0: {N}) -> {N} {{
"""
    text += "\n".join(lines) + f"\n  func.return %x500 : {N}\n}}\n"
    module = stepwell.parse(text).run("to-cps")
    assert depth_of(module) <= 3
    module = stepwell.parse(str(module)).run("un-cps")
    assert module.interpret(np.int64(0)) == [0]
