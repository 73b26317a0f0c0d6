"""`defunctionalize`: programs compute the same, and no function value is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp

import stepwell
from stepwell.dialects.type_variables import types_inside
from stepwell.passes.graph.data.names import types_of
from tests.support.random_functions import Functions, results
from tests.support.samples import examples

N = "tensor<i64>"
F = f"({N}) -> {N}"
# Functions of @main's results: one that returns a function, and functions in a tuple and in a list.
RETURNED = f"""
func.func @main(%k: {N}) -> (({N}) -> ({F}), tuple<{N}, {F}>, !adt.data<@List, {F}>) {{
  %curried = graph.lambda (%x: {N}) -> ({F}) {{
    %inner = graph.lambda (%y: {N}) -> ({N}) {{
      %s = graph.subtract %x, %y : ({N}, {N}) -> {N}
      %t = graph.multiply %s, %k : ({N}, {N}) -> {N}
      graph.yield %t : {N}
    }}
    graph.yield %inner : {F}
  }}
  %f = graph.call %curried(%k) : ({N}) -> ({F})
  %pair = graph.tuple %k, %f : {N}, {F}
  %nil = adt.make @List::@Nil() : () -> !adt.data<@List, {F}>
  %l = adt.make @List::@Cons(%f, %nil) : ({F}, !adt.data<@List, {F}>) -> !adt.data<@List, {F}>
  func.return %curried, %pair, %l : ({N}) -> ({F}), tuple<{N}, {F}>, !adt.data<@List, {F}>
}}
"""
SIZES = """
func.func @main(%x: tensor<?xf32, #graph.dims<["N"]>>, %y: tensor<3xf32>, %c: tensor<i1>)
    -> (tensor<?xf32, #graph.dims<["N"]>>, tensor<3xf32>) {
  %f = graph.lambda (%a: tensor<?xf32, #graph.dims<["N"]>>) -> (tensor<?xf32, #graph.dims<["N"]>>) {
    %b = graph.add %a, %x : (tensor<?xf32, #graph.dims<["N"]>>, tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["N"]>>
    graph.yield %b : tensor<?xf32, #graph.dims<["N"]>>
  }
  %g = graph.lambda (%a: tensor<?xf32, #graph.dims<["N"]>>) -> (tensor<?xf32, #graph.dims<["N"]>>) {
    %b = graph.exp %a : tensor<?xf32, #graph.dims<["N"]>> -> tensor<?xf32, #graph.dims<["N"]>>
    graph.yield %b : tensor<?xf32, #graph.dims<["N"]>>
  }
  %h = graph.if %c : tensor<i1> -> ((tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["N"]>>) {
    graph.yield %f : (tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["N"]>>
  } else {
    graph.yield %g : (tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["N"]>>
  }
  %k = graph.lambda (%a: tensor<3xf32>) -> (tensor<3xf32>) {
    %b = graph.add %a, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    graph.yield %b : tensor<3xf32>
  }
  %u = graph.call %h(%x) : (tensor<?xf32, #graph.dims<["N"]>>) -> tensor<?xf32, #graph.dims<["N"]>>
  %p = graph.tuple %k : (tensor<3xf32>) -> tensor<3xf32>
  %q = graph.get %p [0] : tuple<(tensor<3xf32>) -> tensor<3xf32>> -> (tensor<3xf32>) -> tensor<3xf32>
  %v = graph.call %q(%y) : (tensor<3xf32>) -> tensor<3xf32>
  func.return %u, %v : tensor<?xf32, #graph.dims<["N"]>>, tensor<3xf32>
}
"""  # noqa: E501


def function_types(module: stepwell.Module) -> list[str]:
    """The values of a module that are functions, and the types that name functions."""
    found: list[str] = []
    for op in module.op.walk():
        types = op.function_type.inputs.data if isinstance(op, FuncOp) else [*types_of(op)]
        for type in types:
            found += [f"{op.name}: {type}" for part in types_inside(type) if isinstance(part, FunctionType)]
    return found


@examples(60)
@given(data=st.data())
def test_random_programs_compute_the_same_without_functions(data: st.DataObject) -> None:
    module = stepwell.parse(Functions(data).text()).run("link-prelude")
    expected = results(module)
    module.run("defunctionalize")
    module.verify()
    assert function_types(module) == []
    assert results(module) == expected


@pytest.mark.parametrize("executor", ["native", "vm"])
def test_functions_of_results_can_be_called(executor: Any, tmp_path: Path) -> None:
    module = stepwell.parse(RETURNED).run("link-prelude,defunctionalize")
    (tmp_path / "returned.mlir").write_text(str(module))
    model: Any = stepwell.compile(tmp_path / "returned.mlir", executor=executor)
    curried, (number, inner), functions = model(np.int64(3))
    assert (curried(np.int64(10))(np.int64(4)), number) == (18, 3)
    assert inner(np.int64(1)) == functions[0](np.int64(1)) == 6


def test_types_that_differ_in_sizes_are_one_data_type(tmp_path: Path) -> None:
    module = stepwell.parse(SIZES).run("link-prelude,defunctionalize")
    assert str(module).count("adt.data @fn_") == 1
    (tmp_path / "sizes.mlir").write_text(str(module))
    model: Any = stepwell.compile(tmp_path / "sizes.mlir")
    x, y = np.arange(5, dtype=np.float32), np.array([1, 2, 4], np.float32)
    every: list[Any]
    for c, expected in ((True, x + x), (False, np.exp(x))):
        every = [module.interpret(x, y, np.bool_(c)), model(x, y, np.bool_(c))]
        for found in every:
            np.testing.assert_allclose(found[0], expected, rtol=1e-6)
            np.testing.assert_array_equal(found[1], y + y)
