"""Gradients of more programs that call themselves: open sizes, several results, own derivatives, units."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.runtime.values import Data
from stepwell.tools.check.gradients import BOUND
from tests.unit.passes.graph.gradients.test_tapes import (
    FF,
    FOLD,
    GROWING,
    LESS,
    TREE,
    F,
    L,
    N,
    V,
    error,
    gradient,
)

OPEN = "tensor<?xf64>"
OPEN_LIST = f"!adt.data<@List, {OPEN}>"
# A loop whose body calls a function on a list around it.
LOOP_OVER_LIST = (
    FOLD
    + f"""
func.func @t(%l: {L}, %x: {F}) -> {F} {{
  %n = graph.constant dense<3> : {N}
  %y = graph.for %i to %n (%a = %x : {F}) -> ({F}) {{
    %b = graph.call @fold(%a, %l) : ({F}, {L}) -> {F}
    %c = graph.add %b, %a : {FF}
    graph.yield %c : {F}
  }}
  func.return %y : {F}
}}"""
)
# Two results, one of which may have no cotangent.
TWO = f"""
func.func @two(%x: {F}, %n: {N}) -> ({F}, {L}) {{{LESS}
  %y, %z = graph.if %done : tensor<i1> -> ({F}, {L}) {{
    %nil = adt.make @List::@Nil() : () -> {L}
    graph.yield %x, %nil : {F}, {L}
  }} else {{
    %s = graph.sin %x : {F} -> {F}
    %a, %b = graph.call @two(%s, %m) : ({F}, {N}) -> ({F}, {L})
    %p = graph.multiply %a, %x : {FF}
    %c = adt.make @List::@Cons(%p, %b) : ({F}, {L}) -> {L}
    graph.yield %p, %c : {F}, {L}
  }}
  func.return %y, %z : {F}, {L}
}}
func.func @t(%x: {F}) -> {F} {{
  %n = graph.constant dense<3> : {N}
  %a, %b = graph.call @two(%x, %n) : ({F}, {N}) -> ({F}, {L})
  func.return %a : {F}
}}
func.func @u(%x: {F}) -> {L} {{
  %n = graph.constant dense<3> : {N}
  %a, %b = graph.call @two(%x, %n) : ({F}, {N}) -> ({F}, {L})
  func.return %b : {L}
}}"""
# A size that doubles with each call, which no type tells.
DOUBLES = f"""
func.func @grow(%x: {GROWING}, %n: {N}) -> {OPEN} {{{LESS}
  %y = graph.if %done : tensor<i1> -> ({OPEN}) {{
    graph.yield %x : {GROWING}
  }} else {{
    %s = graph.sin %x : {GROWING} -> {GROWING}
    %c = graph.concat %s, %x axis 0 : ({GROWING}, {GROWING}) -> tensor<?xf64, #graph.dims<["2 * n"]>>
    %a = graph.call @grow(%c, %m) : (tensor<?xf64, #graph.dims<["2 * n"]>>, {N}) -> {OPEN}
    graph.yield %a : {OPEN}
  }}
  %z = graph.multiply %y, %y : ({OPEN}, {OPEN}) -> {OPEN}
  func.return %z : {OPEN}
}}
func.func @t(%x: tensor<2xf64>) -> {F} {{
  %n = graph.constant dense<2> : {N}
  %y = graph.call @grow(%x, %n) : (tensor<2xf64>, {N}) -> {OPEN}
  %r = graph.reduce %y kind "sum" axes [0] keep_dims false : {OPEN} -> {F}
  func.return %r : {F}
}}"""
# A function that gives its derivative, branches in branches, tuples as arguments and results.
OWN = f"""
func.func @own(%x: {F}) -> {F} attributes {{graph.derivative = @own_vjp}} {{
  %y = graph.exp %x : {F} -> {F}
  func.return %y : {F}
}}
func.func @own_vjp(%x: {F}, %dy: {F}) -> ({F}, {F}) {{
  %y = graph.exp %x : {F} -> {F}
  %d = graph.multiply %y, %dy : {FF}
  func.return %y, %d : {F}, {F}
}}
func.func @t(%p: tuple<{F}, {N}, {F}>) -> tuple<{F}, {F}> {{
  %x = graph.get %p [0] : tuple<{F}, {N}, {F}> -> {F}
  %n = graph.get %p [1] : tuple<{F}, {N}, {F}> -> {N}
  %w = graph.get %p [2] : tuple<{F}, {N}, {F}> -> {F}{LESS}
  %half = graph.constant dense<0.3> : {F}
  %r = graph.if %done : tensor<i1> -> (tuple<{F}, {F}>) {{
    %t = graph.tuple %x, %w : {F}, {F}
    graph.yield %t : tuple<{F}, {F}>
  }} else {{
    %s = graph.multiply %x, %half : {FF}
    %neg = graph.less %w, %x : ({F}, {F}) -> tensor<i1>
    %q = graph.if %neg : tensor<i1> -> (tuple<{F}, {F}>) {{
      %e = graph.call @own(%s) : ({F}) -> {F}
      %a = graph.tuple %e, %m, %w : {F}, {N}, {F}
      %v = graph.call @t(%a) : (tuple<{F}, {N}, {F}>) -> tuple<{F}, {F}>
      graph.yield %v : tuple<{F}, {F}>
    }} else {{
      %a = graph.tuple %w, %m, %s : {F}, {N}, {F}
      %v = graph.call @t(%a) : (tuple<{F}, {N}, {F}>) -> tuple<{F}, {F}>
      %v0 = graph.get %v [0] : tuple<{F}, {F}> -> {F}
      %v1 = graph.get %v [1] : tuple<{F}, {F}> -> {F}
      %z = graph.multiply %v0, %v1 : {FF}
      %u = graph.tuple %z, %x : {F}, {F}
      graph.yield %u : tuple<{F}, {F}>
    }}
    graph.yield %q : tuple<{F}, {F}>
  }}
  func.return %r : tuple<{F}, {F}>
}}"""
# A list of tensors of any size.
NORMS = f"""
func.func @norms(%l: {OPEN_LIST}) -> {F} {{
  %r = adt.match %l : {OPEN_LIST} -> ({F}) case Cons(%x: {OPEN}, %t: {OPEN_LIST}) {{
    %s = graph.multiply %x, %x : ({OPEN}, {OPEN}) -> {OPEN}
    %q = graph.reduce %s kind "sum" axes [0] keep_dims false : {OPEN} -> {F}
    %u = graph.call @norms(%t) : ({OPEN_LIST}) -> {F}
    %v = graph.add %q, %u : {FF}
    graph.yield %v : {F}
  }} case Nil {{
    %z = graph.constant dense<0.0> : {F}
    graph.yield %z : {F}
  }}
  func.return %r : {F}
}}"""

# A field that is read twice, and a list that a case reads beside its parts.
TWICE = f"""{FOLD}
func.func @twice(%p: tuple<{F}, {L}>) -> {F} {{
  %x = graph.get %p [0] : tuple<{F}, {L}> -> {F}
  %l = graph.get %p [1] : tuple<{F}, {L}> -> {L}
  %y = graph.get %p [0] : tuple<{F}, {L}> -> {F}
  %r = adt.match %l : {L} -> ({F}) case Cons(%a: {F}, _) {{
    %s = graph.sin %y : {F} -> {F}
    %b = graph.call @fold(%s, %l) : ({F}, {L}) -> {F}
    %c = graph.multiply %a, %b : {FF}
    graph.yield %c : {F}
  }} case Nil {{
    graph.yield %y : {F}
  }}
  %z = graph.multiply %r, %x : {FF}
  func.return %z : {F}
}}"""


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("text", "function"),
    [
        (LOOP_OVER_LIST, "t"),
        (TWO, "t"),
        (TWO, "u"),
        (DOUBLES, "t"),
        (OWN, "t"),
        (NORMS, "norms"),
        (TWICE, "twice"),
    ],
)
def test_gradients_agree_with_central_differences(text: str, function: str):
    assert error(text, function) < BOUND


def test_bytecode_names_sizes_that_no_type_tells(tmp_path: Path):
    pair = "tensor<2xf64>"
    text = DOUBLES.replace("@t(", "@total(") + gradient("main", "total", pair, F, pair)
    (tmp_path / "doubles.mlir").write_text(text)
    model: Any = stepwell.compile(tmp_path / "doubles.mlir")

    def total(x: Any) -> float:
        for _ in range(2):
            x = np.concatenate([np.sin(x), x])
        return float(np.sum(x**8))  # squared by each of three calls

    x, step = np.array([0.3, 0.7]), 1e-6
    ends = [[total(x + sign * step * unit) for sign in (1, -1)] for unit in np.eye(2)]
    np.testing.assert_allclose(model(x), [(a - b) / (2 * step) for a, b in ends], rtol=1e-6)


def test_bytecode_has_units_for_integers(tmp_path: Path):
    type = f"(!adt.data<@Leafy>, {V}, tuple<{V}, tuple<>>)"
    results = f"(tuple<{V}, {N}>, !adt.data<@Leafy.tangent>)"
    text = f"""{TREE}
func.func @main(%t: !adt.data<@Leafy>, %w: {V}) -> !adt.data<@Leafy.tangent> {{
  %u = graph.tuple ()
  %dy = graph.tuple %w, %u : {V}, tuple<>
  %g = graph.vjp @tree wrt [0] : {type} -> {results}
  %v, %d = graph.call %g(%t, %w, %dy) : {type} -> {results}
  func.return %d : !adt.data<@Leafy.tangent>
}}"""
    (tmp_path / "tree.mlir").write_text(text)
    model: Any = stepwell.compile(tmp_path / "tree.mlir")
    leaves = [Data("Leaf", [np.array([a, a + 1]), np.array(3)]) for a in (1.0, 2.0)]
    found = model(Data("Fork", leaves), np.array([1.0, 2.0]))
    first, second = found.fields
    assert found.constructor == "Fork" and first.fields[1] == second.fields[1] == ()
    # The product of both leaves, each times w, has the slopes w·w times the other leaf; the cotangent is w.
    np.testing.assert_array_equal(first.fields[0], [2.0, 24.0])
    np.testing.assert_array_equal(second.fields[0], [1.0, 16.0])
