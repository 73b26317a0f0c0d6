"""Options of `gradient`: checkpoints and tapes of loops, straight-through estimators."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import stepwell
from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.types import dims_of
from stepwell.dialects.verify import verify_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.runtime.errors import StepwellError

Array = npt.NDArray[Any]
T = "tensor<3xf64>"
ITERATION = f"""
  %e = graph.sin %a : {T} -> {T}
  %g = graph.multiply %e, %w : ({T}, {T}) -> {T}
  %t = graph.cast %i to f64 saturate true round "nearest" : tensor<i64> -> tensor<f64>
  %h = graph.multiply %g, %t : ({T}, tensor<f64>) -> {T}
  %b = graph.add %h, %a : ({T}, {T}) -> {T}
"""
FOR = f"%y = graph.for %i to %n (%a = %x : {T}) -> ({T}) {{ {ITERATION} graph.yield %b : {T} }}"
WHILE = f"""
  %zero = graph.constant dense<0> : tensor<i64>
  %one = graph.constant dense<1> : tensor<i64>
  %k, %y = graph.while (%p = %zero : tensor<i64>, %q = %x : {T}) -> (tensor<i64>, {T}) {{
    %l = graph.less %p, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    graph.yield %l : tensor<i1>
  }} do (%i: tensor<i64>, %a: {T}) {{
    {ITERATION}
    %j = graph.add %i, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %j, %b : tensor<i64>, {T}
  }}
"""
X, W = np.array([0.5, 1.0, -1.0]), np.array([0.3, 0.2, 0.7])


def text(loop: str) -> str:
    types, results = f"{T}, {T}, tensor<i64>", f"({T}, {T}, {T})"
    return f"""
func.func @f(%x: {T}, %w: {T}, %n: tensor<i64>) -> {T} {{
  {loop}
  func.return %y : {T}
}}
func.func @main(%x: {T}, %w: {T}, %n: tensor<i64>) -> {results} {{
  %g = graph.gradient @f wrt [0, 1] : ({types}) -> {results}
  %y, %dx, %dw = graph.call %g(%x, %w, %n) : ({types}) -> {results}
  func.return %y, %dx, %dw : {T}, {T}, {T}
}}"""


def expected(n: int) -> list[Array]:
    """The result, and the gradients of its sum, by the chain rule."""
    a, dx, dw = X, np.ones(3), np.zeros(3)
    for i in range(n):
        slope = 1 + np.cos(a) * W * i
        dw, dx = dw * slope + np.sin(a) * i, dx * slope
        a = a + np.sin(a) * W * i
    return [a, dx, dw]


def expanded(source: str, options: str, ctx: StepwellContext) -> Any:
    module = parse_module(ctx, source)
    run_pipeline(module, f"gradient{options}", ctx)
    verify_module(module)
    return module


OPTIONS = ("", "{checkpoint=none}", '{checkpoint="every:3"}', "{tape=list}")


@pytest.mark.sample(3)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("loop", [FOR, WHILE])
@pytest.mark.parametrize("count", ["%n", "dense<7>"])
def test_all_tapes_give_the_same(loop: str, count: str, options: str):
    if count != "%n":
        constant = f"%c = graph.constant {count} : tensor<i64>\n"
        loop = constant + loop.replace("%i to %n", "%i to %c").replace("%p, %n :", "%p, %c :")
    ctx = StepwellContext()
    module = expanded(text(loop), options, ctx)
    assert "graph.blocked" not in str(module)
    for n in (0, 1, 6, 7) if count == "%n" else (3,):
        found = interpret(module, ctx, "main", [X, W, np.array(n)])
        for value, wanted in zip(found, expected(n if count == "%n" else int(count[6])), strict=True):
            np.testing.assert_allclose(np.asarray(value, np.float64), wanted, rtol=1e-12)


@pytest.mark.sample(3)
@pytest.mark.parametrize("options", OPTIONS)
def test_compiled_code_of_all_tapes(tmp_path: Path, options: str):
    loop = WHILE if "list" in options else FOR
    path = tmp_path / "m.mlir"
    path.write_text(str(expanded(text(loop), options, StepwellContext())))
    model = stepwell.compile(path, threads=1)
    for n in (0, 1, 7):
        for value, wanted in zip(model(X, W, np.array(n)), expected(n), strict=True):
            np.testing.assert_allclose(np.asarray(value, np.float64), wanted, rtol=1e-12)


def rows_of(module: Any) -> list[int]:
    """The first sizes of all stacks, in order."""
    return sorted(
        dims_of(op.result.type)[0].value for op in module.walk() if isinstance(op, graph.InsertSliceOp)
    )


def test_memory_of_checkpoints():
    loop = "%c = graph.constant dense<100> : tensor<i64>\n" + FOR.replace("%n", "%c")
    ctx = StepwellContext()
    assert rows_of(expanded(text(loop), "", ctx)) == [100]  # %a
    assert rows_of(expanded(text(loop), "{checkpoint=none}", ctx)) == [100, 100]  # %a and %t
    assert rows_of(expanded(text(loop), '{checkpoint="every:10"}', ctx)) == [10, 10]
    module = expanded(text(WHILE), "{tape=list}", ctx)
    assert rows_of(module) == []
    made = [op for function in module.ops if function.sym_name.data != "f" for op in function.walk()]
    assert not any(isinstance(op, graph.WhileOp) for op in made)


def test_a_tape_of_all_values_computes_nothing_again():
    # The product is read by the second derivative rule, and is no cheap op of taped values.
    loop = FOR.replace("graph.sin %a :", "graph.softmax %a axis 0 :")
    ctx = StepwellContext()
    counts = {
        options: sum(
            isinstance(op, graph.SoftmaxOp)
            for function in expanded(text(loop), options, ctx).ops
            if "gradient" in function.sym_name.data
            for op in function.walk()
        )
        for options in ("", "{checkpoint=none}")
    }
    assert counts == {"": 2, "{checkpoint=none}": 1}


QUANTIZED = """
func.func @f(%x: tensor<5xf64>, %s: tensor<f64>) -> tensor<5xf64> {
  %z = graph.constant dense<ZERO> : tensor<TYPE>
  %q = graph.quantize %x, %s zero_point %z : tensor<TYPE> to TYPE
    : (tensor<5xf64>, tensor<f64>) -> tensor<5xTYPE>
  %d = graph.dequantize %q, %s zero_point %z : tensor<TYPE> to f64
    : (tensor<5xTYPE>, tensor<f64>) -> tensor<5xf64>
  %y = graph.multiply %d, %d : (tensor<5xf64>, tensor<5xf64>) -> tensor<5xf64>
  func.return %y : tensor<5xf64>
}
func.func @main(%x: tensor<5xf64>, %s: tensor<f64>) -> (tensor<5xf64>, tensor<5xf64>) {
  %g = graph.gradient @f wrt [0] : (tensor<5xf64>, tensor<f64>) -> (tensor<5xf64>, tensor<5xf64>)
  %y, %dx = graph.call %g(%x, %s) : (tensor<5xf64>, tensor<f64>) -> (tensor<5xf64>, tensor<5xf64>)
  func.return %y, %dx : tensor<5xf64>, tensor<5xf64>
}
"""


@pytest.mark.parametrize(("type", "zero"), [("i8", 3), ("ui8", 100), ("i4", 0)])
def test_straight_through_is_the_identity_within_the_range(type: str, zero: int):
    width = int(type.strip("ui"))
    low = 0 if type[0] == "u" else -(1 << (width - 1))
    high, scale = low + (1 << width) - 1, 0.5
    ends = scale * (low - zero), scale * (high - zero)
    x = np.array([ends[0] - 1, ends[0], 0.3, ends[1], ends[1] + 0.2])
    ctx = StepwellContext()
    source = QUANTIZED.replace("TYPE", type).replace("ZERO", str(zero))
    module = expanded(source, "{straight-through}", ctx)
    y, dx = interpret(module, ctx, "main", [x, np.array(scale)])
    rounded = scale * (np.clip(np.rint(x / scale) + zero, low, high) - zero)
    np.testing.assert_allclose(np.asarray(y, np.float64), rounded**2)
    np.testing.assert_allclose(np.asarray(dx, np.float64), 2 * rounded * [0, 1, 1, 1, 0])
    with pytest.raises(StepwellError, match=r"error\[no-derivative\](.|\n)*straight-through"):
        expanded(source, "", StepwellContext())


@pytest.mark.parametrize(
    "options", ["{checkpoint=some}", '{checkpoint="every:0"}', "{tape=string}", "{mode=x}"]
)
def test_options_that_there_are_not(options: str):
    with pytest.raises(StepwellError, match=r"error\[bad-option\]"):
        expanded(text(FOR), options, StepwellContext())


def test_names_of_tvm():
    ctx = StepwellContext()
    module = parse_module(ctx, text(FOR))
    run_pipeline(module, "FirstOrderGradient,LazyGradientInit", ctx)
    other = parse_module(ctx, text(FOR))
    run_pipeline(other, "first-order-gradient,simplify-gradients", ctx)
    assert str(module) == str(other) and "graph.gradient" not in str(other)
