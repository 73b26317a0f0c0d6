"""`tail-calls-to-loops` and `loops-to-calls`: programs compute the same, natively where they are loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell.runtime.model import CompiledModel
from tests.support.samples import examples

N, B, V = "tensor<i64>", "tensor<i1>", 'tensor<?xf32, #graph.dims<["K"]>>'
T = f"{N}, {N}, {V}"
RESULTS = ("%r", "%w")


class Recursion:
    """The text of a random function that calls itself last, in some leaves of a tree of branches."""

    def __init__(self, data: st.DataObject):
        self._data, self._number = data, 0

    def text(self) -> str:
        body = self._branch(["%n", "%a"], ["%v"], 0)
        return f"""
func.func private @f(%n: {N}, %a: {N}, %v: {V}) -> ({N}, {V}) {{
  {body}
  func.return %r0, %w0 : {N}, {V}
}}
func.func @main(%n: {N}, %a: {N}, %v: {V}) -> ({N}, {V}) {{
  %r, %w = graph.call @f(%n, %a, %v) : ({T}) -> ({N}, {V})
  func.return %r, %w : {N}, {V}
}}
"""

    def _name(self) -> str:
        self._number += 1
        return f"%t{self._number}"

    def _pick(self, names: list[str]) -> str:
        return self._data.draw(st.sampled_from(names))

    def _ops(self, numbers: list[str], vectors: list[str]) -> list[str]:
        """Some ops; the lists are extended."""
        lines: list[str] = []
        for _ in range(self._data.draw(st.integers(0, 3))):
            name = self._name()
            if self._data.draw(st.booleans()):
                op = self._pick(["add", "subtract", "multiply", "maximum"])
                pair = f"{self._pick(numbers)}, {self._pick(numbers)}"
                lines.append(f"{name} = graph.{op} {pair} : ({N}, {N}) -> {N}")
                numbers.append(name)
            else:
                op = self._pick(["add", "subtract", "maximum"])
                lines.append(
                    f"{name} = graph.{op} {self._pick(vectors)}, {self._pick(vectors)} : ({V}, {V}) -> {V}"
                )
                vectors.append(name)
        return lines

    def _branch(self, numbers: list[str], vectors: list[str], depth: int) -> str:
        """A branch on a number, with the results `%rDEPTH, %wDEPTH`; at depth 0 it ends at a negative %n."""
        lines, condition, limit = self._ops(numbers, vectors), self._name(), self._name()
        value = "%n" if depth == 0 else self._pick(numbers)
        lines.append(f"{limit} = graph.constant dense<{0 if depth == 0 else 3}> : {N}")
        pair = [limit, value] if depth == 0 or self._data.draw(st.booleans()) else [value, limit]
        lines.append(f"{condition} = graph.less {', '.join(pair)} : ({N}, {N}) -> {B}")
        arms = [self._arm([*numbers], [*vectors], depth + 1, may_call=n == 0 or depth > 0) for n in range(2)]
        head = f"%r{depth}, %w{depth} = graph.if {condition} : {B} -> ({N}, {V})"
        return "\n".join([*lines, f"{head} {{\n{arms[0]}\n}} else {{\n{arms[1]}\n}}"])

    def _arm(self, numbers: list[str], vectors: list[str], depth: int, *, may_call: bool) -> str:
        kind = self._pick(["end", "call", "call", *["branch"] * 2 * (depth < 3)]) if may_call else "end"
        if kind == "branch":
            inner = self._branch(numbers, vectors, depth)
            return f"{inner}\ngraph.yield %r{depth}, %w{depth} : {N}, {V}"
        lines = self._ops(numbers, vectors)
        if kind == "end":
            pair = f"{self._pick(numbers)}, {self._pick(vectors)}"
            return "\n".join([*lines, f"graph.yield {pair} : {N}, {V}"])
        one, less = self._name(), self._name()
        lines.append(f"{one} = graph.constant dense<1> : {N}")
        lines.append(f"{less} = graph.subtract %n, {one} : ({N}, {N}) -> {N}")
        arguments = f"{less}, {self._pick(numbers)}, {self._pick(vectors)}"
        lines.append(f"%r{depth}, %w{depth} = graph.call @f({arguments}) : ({T}) -> ({N}, {V})")
        return "\n".join([*lines, f"graph.yield %r{depth}, %w{depth} : {N}, {V}"])


def results(module: stepwell.Module) -> list[Any]:
    v = np.array([1, -2, 3], np.float32)
    return [
        [each.tolist() for each in module.interpret(np.int64(n), np.int64(a), v)]
        for n, a in ((0, 2), (1, 5), (4, -3), (7, 1))
    ]


@examples(60)
@given(data=st.data())
def test_random_tail_recursion_becomes_loops_and_calls_again(data: st.DataObject) -> None:
    module = stepwell.parse(Recursion(data).text())
    expected, recursive = results(module), str(module).count("graph.call @f") > 1
    module.run("tail-calls-to-loops")
    module.verify()
    assert str(module).count("graph.call @f") == 1
    assert results(module) == expected
    module.run("loops-to-calls")
    module.verify()
    assert ("graph.call @f.loop" in str(module)) == recursive and "graph.while" not in str(module)
    assert results(module) == expected
    module.run("inline,tail-calls-to-loops,dead-code-elimination")
    assert results(module) == expected


NESTED = f"""
func.func @main(%n: {N}, %x: {V}) -> ({N}, {V}) {{
  %zero = graph.constant dense<0> : {N}
  %s, %y = graph.for %i to %n (%s0 = %zero : {N}, %a = %x : {V}) -> ({N}, {V}) {{
    %t = graph.while (%b = %s0 : {N}) -> ({N}) {{
      %limit = graph.multiply %i, %n : ({N}, {N}) -> {N}
      %c = graph.less %b, %limit : ({N}, {N}) -> {B}
      graph.yield %c : {B}
    }} do (%b: {N}) {{
      %two = graph.constant dense<2> : {N}
      %d = graph.add %b, %two : ({N}, {N}) -> {N}
      graph.yield %d : {N}
    }}
    %z = graph.add %a, %x : ({V}, {V}) -> {V}
    graph.yield %t, %z : {N}, {V}
  }}
  func.return %s, %y : {N}, {V}
}}
"""
GROWS = """
func.func @main(%n: tensor<i64>, %x: tensor<1xf32>) -> tensor<?xf32> {
  %y = graph.for %i to %n (%a = %x : tensor<1xf32> as tensor<?xf32, #graph.dims<["k"]>>) carries ["k"] (%s) -> (tensor<?xf32>) {
    %b = graph.concat %a, %x axis 0 : (tensor<?xf32, #graph.dims<["k"]>>, tensor<1xf32>) -> tensor<?xf32, #graph.dims<["k + 1"]>>
    graph.yield %b : tensor<?xf32, #graph.dims<["k + 1"]>>
  }
  func.return %y : tensor<?xf32>
}
"""  # noqa: E501


def test_loops_inside_of_loops_are_functions() -> None:
    module = stepwell.parse(NESTED)
    x = np.array([1, 2], np.float32)
    expected = [module.interpret(np.int64(n), x) for n in range(6)]
    module.run("loops-to-calls")
    module.verify()
    assert "graph.for" not in str(module) and "graph.while" not in str(module)
    for n, wanted in enumerate(expected):
        for a, b in zip(module.interpret(np.int64(n), x), wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_loop_that_grows_a_tensor_is_a_function() -> None:
    module = stepwell.parse(GROWS).run("loops-to-calls")
    module.verify()
    assert "graph.call @main.loop" in str(module)
    (found,) = module.interpret(np.int64(3), np.array([2], np.float32))
    assert found.tolist() == [2, 2, 2, 2]


POWER = """
func.func private @power(%x: tensor<f64>, %n: tensor<i64>, %p: tensor<f64>) -> tensor<f64> {
  %zero = graph.constant dense<0> : tensor<i64>
  %done = graph.equal %n, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = graph.if %done : tensor<i1> -> (tensor<f64>) {
    graph.yield %p : tensor<f64>
  } else {
    %one = graph.constant dense<1> : tensor<i64>
    %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %q = graph.multiply %p, %x : (tensor<f64>, tensor<f64>) -> tensor<f64>
    %s = graph.call @power(%x, %m, %q) : (tensor<f64>, tensor<i64>, tensor<f64>) -> tensor<f64>
    graph.yield %s : tensor<f64>
  }
  func.return %r : tensor<f64>
}
func.func private @of_one(%x: tensor<f64>, %n: tensor<i64>) -> tensor<f64> {
  %one = graph.constant dense<1.0> : tensor<f64>
  %y = graph.call @power(%x, %n, %one) : (tensor<f64>, tensor<i64>, tensor<f64>) -> tensor<f64>
  func.return %y : tensor<f64>
}
"""
GRADIENT = """
func.func @main(%x: tensor<f64>, %n: tensor<i64>) -> (tensor<f64>, tensor<f64>) {
  %g = graph.gradient @of_one wrt [0] : (tensor<f64>, tensor<i64>) -> (tensor<f64>, tensor<f64>)
  %y, %d = graph.call %g(%x, %n) : (tensor<f64>, tensor<i64>) -> (tensor<f64>, tensor<f64>)
  func.return %y, %d : tensor<f64>, tensor<f64>
}
"""
CALL = """
func.func @main(%x: tensor<f64>, %n: tensor<i64>) -> tensor<f64> {
  %y = graph.call @of_one(%x, %n) : (tensor<f64>, tensor<i64>) -> tensor<f64>
  func.return %y : tensor<f64>
}
"""


def test_a_recursion_that_is_a_loop_has_a_derivative() -> None:
    module = stepwell.parse(POWER + GRADIENT).run("tail-calls-to-loops,gradient")
    module.verify()
    assert "adt.data" not in str(module)
    y, d = module.interpret(np.float64(2), np.int64(5))
    assert (y, d) == (32, 80)


def test_recursion_on_tensors_is_compiled_as_a_loop_of_main(tmp_path: Path) -> None:
    (tmp_path / "power.mlir").write_text(POWER + CALL)
    model = stepwell.compile(tmp_path / "power.mlir")
    assert isinstance(model, CompiledModel)
    assert model(np.float64(1.0000001), np.int64(2_000_000)) == pytest.approx(np.exp(0.2), rel=1e-6)


# The condition reads a cell that the body writes: each runs once an iteration.
EFFECTS = f"""
func.func @main(%n: {N}) -> ({N}, {N}) {{
  %zero = graph.constant dense<0> : {N}
  %one = graph.constant dense<1> : {N}
  %r = ref.new %zero : {N} -> !ref.cell<{N}>
  %f = graph.lambda self %loop (%m: {N}) -> ({N}) {{
    %v = ref.read %r : !ref.cell<{N}> -> {N}
    %w = graph.add %v, %one : ({N}, {N}) -> {N}
    ref.write %r, %w : !ref.cell<{N}>, {N}
    %more = graph.less %v, %n : ({N}, {N}) -> {B}
    %y = graph.if %more : {B} -> ({N}) {{
      %t = graph.add %m, %w : ({N}, {N}) -> {N}
      %u = graph.call %loop(%t) : ({N}) -> {N}
      graph.yield %u : {N}
    }} else {{
      graph.yield %m : {N}
    }}
    graph.yield %y : {N}
  }}
  %y = graph.call %f(%zero) : ({N}) -> {N}
  %last = ref.read %r : !ref.cell<{N}> -> {N}
  func.return %y, %last : {N}, {N}
}}
"""


def test_a_lambda_with_effects_in_its_condition_is_a_loop() -> None:
    module = stepwell.parse(EFFECTS)
    expected = [module.interpret(np.int64(n)) for n in range(4)]
    module.run("tail-calls-to-loops")
    module.verify()
    assert "graph.while" in str(module) and "self %" not in str(module)
    assert [module.interpret(np.int64(n)) for n in range(4)] == expected
    assert expected[3] == [6, 4]
