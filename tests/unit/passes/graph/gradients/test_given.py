"""Derivatives that a function gives itself, and rules that plugins register for their ops."""

from __future__ import annotations

import numpy as np
import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.plugin import Op, SSAValue, TensorType, derivative, op, operand_def, result_def
from stepwell.runtime.errors import StepwellError

VECTOR = "tensor<3xf64>"
# A wrong derivative on purpose, so that it is seen which one is taken: 10 times the cotangent.
GIVEN = f"""
func.func @f(%x: {VECTOR}, %i: tensor<i64>) -> {VECTOR} attributes {{graph.derivative = @f_vjp}} {{
  %y = graph.exp %x : {VECTOR} -> {VECTOR}
  func.return %y : {VECTOR}
}}
func.func @f_vjp(%x: {VECTOR}, %i: tensor<i64>, %dy: {VECTOR}) -> ({VECTOR}, {VECTOR}) {{
  %t = graph.constant dense<10.0> : tensor<f64>
  %y = graph.exp %x : {VECTOR} -> {VECTOR}
  %d = graph.multiply %dy, %t : ({VECTOR}, tensor<f64>) -> {VECTOR}
  func.return %y, %d : {VECTOR}, {VECTOR}
}}"""


def gradient_of(text: str, wrt: str = "wrt [0]", callee: str = "f") -> list[float]:
    """The gradient of a function of a vector and a number, at (0.5, 1, 2)."""
    type = f"({VECTOR}, tensor<i64>) -> ({VECTOR}, {VECTOR})"
    main = f"""
    func.func @main(%x: {VECTOR}, %i: tensor<i64>) -> ({VECTOR}, {VECTOR}) {{
      %g = graph.gradient @{callee} {wrt} : {type}
      %y, %d = graph.call %g(%x, %i) : {type}
      func.return %y, %d : {VECTOR}, {VECTOR}
    }}"""
    ctx = StepwellContext()
    module = parse_module(ctx, text + main)
    run_pipeline(module, "gradient", ctx)
    verify_module(module)
    _, found = interpret(module, ctx, "main", [np.array([0.5, 1.0, 2.0]), np.array(1)])
    return np.asarray(found, np.float64).tolist()


def test_a_function_gives_its_derivative():
    assert gradient_of(GIVEN) == [10.0, 10.0, 10.0]


def test_the_given_derivative_is_taken_where_the_function_is_called():
    for call in ("graph.call", "func.call"):
        text = f"""{GIVEN}
        func.func @g(%x: {VECTOR}, %i: tensor<i64>) -> {VECTOR} {{
          %s = graph.multiply %x, %x : ({VECTOR}, {VECTOR}) -> {VECTOR}
          %y = {call} @f(%s, %i) : ({VECTOR}, tensor<i64>) -> {VECTOR}
          func.return %y : {VECTOR}
        }}"""
        assert gradient_of(text, callee="g") == [10.0, 20.0, 40.0]


def test_a_given_derivative_must_have_the_type_of_one():
    wrong = GIVEN.replace("%d : ", "%d, %d : ", 1)
    wrong = wrong.replace(f"({VECTOR}, {VECTOR}) {{", f"({VECTOR}, {VECTOR}, {VECTOR}) {{")
    wrong = wrong.replace(f"%y, %d, %d : {VECTOR}, {VECTOR}", f"%y, %d, %d : {VECTOR}, {VECTOR}, {VECTOR}")
    with pytest.raises(StepwellError) as caught:
        gradient_of(wrong)
    assert caught.value.code == "type-mismatch" and "@f_vjp" in caught.value.message
    with pytest.raises(StepwellError) as caught:
        gradient_of(GIVEN.replace("= @f_vjp", "= @unknown"))
    assert caught.value.code == "unknown-function"


def test_a_given_derivative_is_of_floats():
    with pytest.raises(StepwellError) as caught:
        gradient_of(GIVEN, "wrt [1]")
    assert caught.value.code == "not-differentiable"


def test_a_plugin_registers_the_derivative_of_its_op():
    @op("test_given.cube")
    class CubeOp(Op):
        """The third power."""

        x = operand_def(TensorType)
        result = result_def(TensorType)
        assembly_format = "$x attr-dict `:` type($x) `->` type($result)"

    def function(name: str) -> str:
        return f"""
        func.func @{name}(%x: {VECTOR}) -> {VECTOR} {{
          %y = test_given.cube %x : {VECTOR} -> {VECTOR}
          func.return %y : {VECTOR}
        }}
        func.func @main() {{
          %g = graph.gradient @{name} wrt [0] : ({VECTOR}) -> ({VECTOR}, {VECTOR})
          func.return
        }}"""

    with pytest.raises(StepwellError, match=r"stepwell.plugin.derivative"):
        run_pipeline(parse_module(StepwellContext(), function("f")), "gradient", StepwellContext())

    @derivative(CubeOp)
    def cube(op: CubeOp, dy: SSAValue, b: GradientBuilder) -> list[SSAValue | None]:  # pyright: ignore[reportUnusedFunction]
        return [b.multiply(dy, b.scaled(b.square(op.x), 3.0))]

    module = parse_module(StepwellContext(), function("f"))
    run_pipeline(module, "gradient", StepwellContext())
    (made,) = [each for each in module.ops if "gradient_0" in str(each.properties.get("sym_name"))]
    assert [each.name for each in made.walk()].count("graph.multiply") == 3
