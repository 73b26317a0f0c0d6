"""Gradients by closures: of programs with cells and function values, against differences and first order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.passes.analysis.tangents import Tangents
from stepwell.runtime.errors import StepwellError
from stepwell.tools.check.cotangents import floats_in, made_up
from stepwell.tools.check.gradients import BOUND
from tests.unit.passes.graph.gradients.test_tapes import (
    FF,
    FOLD,
    HIGHER,
    LESS,
    MUTUAL,
    POWER,
    WALK,
    F,
    L,
    N,
    error,
    gradient,
)

C, G = f"!ref.cell<{F}>", f"({F}) -> {F}"
FUNCTIONS = f"!adt.data<@List, {G}>"
SQUARE = f"""
func.func @square(%x: {F}) -> {F} {{
  %r = ref.new %x : {F} -> {C}
  %a = ref.read %r : {C} -> {F}
  %s = graph.multiply %a, %a : {FF}
  ref.write %r, %s : {C}, {F}
  %y = ref.read %r : {C} -> {F}
  func.return %y : {F}
}}"""
# A cell is written in a loop and in one arm of a branch.
WRITES = f"""
func.func @writes(%x: {F}, %n: {N}) -> {F} {{
  %one = graph.constant dense<1.0> : {F}
  %r = ref.new %one : {F} -> {C}
  %y = graph.for %i to %n (%a = %x : {F}) -> ({F}) {{
    %b = ref.read %r : {C} -> {F}
    %c = graph.multiply %a, %b : {FF}
    %big = graph.less %one, %c : ({F}, {F}) -> tensor<i1>
    %d = graph.if %big : tensor<i1> -> ({F}) {{
      %s = graph.sin %c : {F} -> {F}
      ref.write %r, %s : {C}, {F}
      graph.yield %s : {F}
    }} else {{
      %t = graph.add %c, %x : {FF}
      ref.write %r, %c : {C}, {F}
      graph.yield %t : {F}
    }}
    graph.yield %d : {F}
  }}
  %z = ref.read %r : {C} -> {F}
  %w = graph.add %y, %z : {FF}
  func.return %w : {F}
}}"""
# A list of closures, each of which is called on the result of the one before.
CHAIN = f"""
func.func private @through(%l: {FUNCTIONS}, %x: {F}) -> {F} {{
  %r = adt.match %l : {FUNCTIONS} -> ({F}) case Cons(%f: {G}, %t: {FUNCTIONS}) {{
    %y = graph.call %f(%x) : {G}
    %z = graph.call @through(%t, %y) : ({FUNCTIONS}, {F}) -> {F}
    graph.yield %z : {F}
  }} case Nil {{
    graph.yield %x : {F}
  }}
  func.return %r : {F}
}}
func.func @chain(%x: {F}, %w: {F}) -> {F} {{
  %f = graph.lambda (%a: {F}) -> ({F}) {{
    %b = graph.multiply %a, %w : {FF}
    graph.yield %b : {F}
  }}
  %g = graph.lambda (%a: {F}) -> ({F}) {{
    %b = graph.call %f(%a) : {G}
    %c = graph.sin %b : {F} -> {F}
    graph.yield %c : {F}
  }}
  %n = adt.make @List::@Nil() : () -> {FUNCTIONS}
  %l0 = adt.make @List::@Cons(%f, %n) : ({G}, {FUNCTIONS}) -> {FUNCTIONS}
  %l1 = adt.make @List::@Cons(%g, %l0) : ({G}, {FUNCTIONS}) -> {FUNCTIONS}
  %y = graph.call @through(%l1, %x) : ({FUNCTIONS}, {F}) -> {F}
  func.return %y : {F}
}}"""
GROW = f"""
func.func @grow(%f: {G}, %x: {F}, %n: {N}) -> {F} {{{LESS}
  %y = graph.if %done : tensor<i1> -> ({F}) {{
    %r = graph.call %f(%x) : {G}
    graph.yield %r : {F}
  }} else {{
    %g = graph.lambda (%a: {F}) -> ({F}) {{
      %b = graph.call %f(%a) : {G}
      %c = graph.sin %b : {F} -> {F}
      graph.yield %c : {F}
    }}
    %r = graph.call @grow(%g, %x, %m) : ({G}, {F}, {N}) -> {F}
    graph.yield %r : {F}
  }}
  func.return %y : {F}
}}
func.func @grown(%x: {F}, %n: {N}) -> {F} {{
  %f = graph.lambda (%a: {F}) -> ({F}) {{
    %b = graph.sin %a : {F} -> {F}
    graph.yield %b : {F}
  }}
  %r = graph.call @grow(%f, %x, %n) : ({G}, {F}, {N}) -> {F}
  func.return %r : {F}
}}"""


@pytest.mark.sample(4)
@pytest.mark.parametrize(
    ("text", "function"), [(SQUARE, "square"), (WRITES, "writes"), (CHAIN, "chain"), (GROW, "grown")]
)
def test_gradients_agree_with_central_differences(text: str, function: str):
    assert error(text, function) < BOUND


def test_gradients_of_gradients_with_cells():
    assert error(SQUARE + gradient("slope", "square", F, F, F), "slope") < BOUND
    assert error(WRITES + gradient("slope", "writes", f"{F}; {N}", F, F), "slope") < BOUND


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("text", "function", "wrt", "gradients"),
    [
        (POWER, "power", "0", F),
        (FOLD, "fold", "0, 1", f"{F}; {L}"),
        (HIGHER, "total", "0, 1", f"{L}; {F}"),
        (MUTUAL, "loop", "0", F),
        (WALK, "walk", "0, 1", f"{L}; {F}"),
    ],
)
def test_both_modes_agree(text: str, function: str, wrt: str, gradients: str):
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    (of,) = [op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == function]
    types = [arg.type for arg in of.args]
    text += gradient("main", function, "; ".join(map(str, types)), F, gradients, wrt)
    found: list[Any] = []
    for mode in ("first-order", "higher-order"):
        module = parse_module(ctx, text)
        inputs = [made_up(type, Tangents(module), np.random.default_rng(5)) for type in types]
        run_pipeline(module, f"gradient{{mode={mode}}}", ctx)
        verify_module(module)
        found.append([each for value in interpret(module, ctx, "main", inputs) for each in floats_in(value)])
    for first, second in zip(*found, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-12)


def test_bytecode_computes_gradients_by_closures(tmp_path: Path):
    (tmp_path / "square.mlir").write_text(SQUARE + gradient("main", "square", F, F, F))
    model: Any = stepwell.compile(tmp_path / "square.mlir")
    assert model(np.array(3.0)) == 6.0
    (tmp_path / "chain.mlir").write_text(
        CHAIN + gradient("main", "chain", f"{F}; {F}", F, f"{F}; {F}", "0, 1")
    )
    model = stepwell.compile(tmp_path / "chain.mlir")
    x, w = 0.4, 1.3
    wanted = w * w * np.cos(x * w), np.sin(x * w) + w * x * np.cos(x * w)
    np.testing.assert_allclose(model(np.array(x), np.array(w)), wanted, rtol=1e-12)


def failing(text: str, mode: str = "auto") -> StepwellError:
    with pytest.raises(StepwellError) as caught:
        run_pipeline(parse_module(StepwellContext(), text), f"gradient{{mode={mode}}}", StepwellContext())
    return caught.value


def test_a_function_that_takes_a_function_value_has_none():
    text = f"""
func.func @apply(%f: {G}, %x: {F}) -> {F} {{
  %y = graph.call %f(%x) : {G}
  func.return %y : {F}
}}""" + gradient("main", "apply", f"{G}; {F}", F, F, "1")
    found = failing(text)
    assert found.code == "no-derivative" and "function value" in found.message
    found = failing(text, "first-order")
    assert found.code == "no-derivative" and "graph.call" in found.message
    assert any("function value" in note for note in found.notes)


def test_cells_need_the_mode_of_closures():
    found = failing(SQUARE + gradient("main", "square", F, F, F), "first-order")
    assert found.code == "no-derivative" and "ref.new" in found.message


def test_ops_without_a_derivative_are_named():
    text = f"""
func.func @bits(%x: {F}) -> {F} {{
  %i = graph.bitcast %x to i64 : {F} -> {N}
  %y = graph.bitcast %i to f64 : {N} -> {F}
  %z = graph.bitcast %y to f64 : {F} -> {F}
  func.return %z : {F}
}}""" + gradient("main", "bits", F, F, F)
    found = failing(text, "higher-order")
    assert found.code == "no-derivative" and "graph.bitcast" in found.message


def test_an_unknown_mode_is_an_error():
    assert failing(POWER, "backwards").code == "bad-option"
