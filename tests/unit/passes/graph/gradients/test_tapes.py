"""Gradients through recursion, tuples and data: against central differences, twice, and on the VM."""

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
from stepwell.runtime.values import Data
from stepwell.tools.check.cotangents import made_up
from stepwell.tools.check.gradients import BOUND, GradientCheck
from tests.support.samples import whole

F, N, V = "tensor<f64>", "tensor<i64>", "tensor<2xf64>"
L = f"!adt.data<@List, {F}>"
P = f"tuple<{F}, {N}>"
PAIRS = f"!adt.data<@List, {P}>"
FF = f"({F}, {F}) -> {F}"
NN = f"({N}, {N}) -> {N}"
ROWS = 'tensor<?x3xf64, #graph.dims<["N", 3]>>'
GROWING = 'tensor<?xf64, #graph.dims<["n"]>>'
LESS = f"""
  %zero = graph.constant dense<0> : {N}
  %k = graph.constant dense<1> : {N}
  %done = graph.less_equal %n, %zero : ({N}, {N}) -> tensor<i1>
  %m = graph.subtract %n, %k : {NN}"""

POWER = f"""
func.func @power(%x: {F}, %n: {N}) -> {F} {{{LESS}
  %y = graph.if %done : tensor<i1> -> ({F}) {{
    %one = graph.constant dense<1.0> : {F}
    graph.yield %one : {F}
  }} else {{
    %r = graph.call @power(%x, %m) : ({F}, {N}) -> {F}
    %p = graph.multiply %x, %r : {FF}
    graph.yield %p : {F}
  }}
  func.return %y : {F}
}}"""
# f(f(acc, x0), x1) with f(a, x) = sin(a) x: the accumulator begins as a constant.
FOLD = f"""
func.func @fold(%acc: {F}, %l: {L}) -> {F} {{
  %r = adt.match %l : {L} -> ({F}) case Cons(%x: {F}, %t: {L}) {{
    %s = graph.sin %acc : {F} -> {F}
    %a = graph.multiply %s, %x : {FF}
    %r = graph.call @fold(%a, %t) : ({F}, {L}) -> {F}
    graph.yield %r : {F}
  }} case Nil {{
    graph.yield %acc : {F}
  }}
  func.return %r : {F}
}}
func.func @folded(%l: {L}) -> {F} {{
  %one = graph.constant dense<1.0> : {F}
  %r = graph.call @fold(%one, %l) : ({F}, {L}) -> {F}
  func.return %r : {F}
}}"""
# The list of products of neighbours: data is taken apart two deep, and made.
NEIGHBOURS = f"""
func.func @neighbours(%l: {PAIRS}, %w: {F}) -> {L} {{
  %r = adt.match %l : {PAIRS} -> ({L}) case Cons((%x: {F}, _), Cons((%y: {F}, %n: {N}), %t: {PAIRS})) {{
    %p = graph.multiply %x, %y : {FF}
    %q = graph.multiply %p, %w : {FF}
    %r = graph.call @neighbours(%t, %q) : ({PAIRS}, {F}) -> {L}
    %c = adt.make @List::@Cons(%q, %r) : ({F}, {L}) -> {L}
    graph.yield %c : {L}
  }} case _ {{
    %z = graph.multiply %w, %w : {FF}
    %nil = adt.make @List::@Nil() : () -> {L}
    %c = adt.make @List::@Cons(%z, %nil) : ({F}, {L}) -> {L}
    graph.yield %c : {L}
  }}
  func.return %r : {L}
}}"""
# A tree whose leaves have integers too: its tangent is another data type.
TREE = f"""
adt.data @Leafy {{
  adt.constructor @Leaf({V}, {N})
  adt.constructor @Fork(!adt.data<@Leafy>, !adt.data<@Leafy>)
}}
func.func @tree(%t: !adt.data<@Leafy>, %w: {V}) -> tuple<{V}, {N}> {{
  %r = adt.match %t : !adt.data<@Leafy> -> (tuple<{V}, {N}>) case Leaf(%x: {V}, %n: {N}) {{
    %q = graph.multiply %x, %w : ({V}, {V}) -> {V}
    %p = graph.tuple %q, %n : {V}, {N}
    graph.yield %p : tuple<{V}, {N}>
  }} case Fork(%a: !adt.data<@Leafy>, %b: !adt.data<@Leafy>) {{
    %u = graph.call @tree(%a, %w) : (!adt.data<@Leafy>, {V}) -> tuple<{V}, {N}>
    %v = graph.call @tree(%b, %w) : (!adt.data<@Leafy>, {V}) -> tuple<{V}, {N}>
    %u0 = graph.get %u [0] : tuple<{V}, {N}> -> {V}
    %v0 = graph.get %v [0] : tuple<{V}, {N}> -> {V}
    %v1 = graph.get %v [1] : tuple<{V}, {N}> -> {N}
    %q = graph.multiply %u0, %v0 : ({V}, {V}) -> {V}
    %s = graph.add %q, %w : ({V}, {V}) -> {V}
    %p = graph.tuple %s, %v1 : {V}, {N}
    graph.yield %p : tuple<{V}, {N}>
  }}
  func.return %r : tuple<{V}, {N}>
}}"""
OPEN_ROWS = f"""
func.func @rows(%x: {ROWS}, %w: tensor<3xf64>, %n: {N}) -> {ROWS} {{{LESS}
  %y = graph.if %done : tensor<i1> -> ({ROWS}) {{
    graph.yield %x : {ROWS}
  }} else {{
    %s = graph.sin %x : {ROWS} -> {ROWS}
    %p = graph.multiply %s, %w : ({ROWS}, tensor<3xf64>) -> {ROWS}
    %r = graph.call @rows(%p, %w, %m) : ({ROWS}, tensor<3xf64>, {N}) -> {ROWS}
    %q = graph.add %r, %x : ({ROWS}, {ROWS}) -> {ROWS}
    graph.yield %q : {ROWS}
  }}
  func.return %y : {ROWS}
}}"""
# Two functions that call each other, in a loop.
MUTUAL = f"""
func.func @even(%x: {F}, %n: {N}) -> {F} {{{LESS}
  %y = graph.if %done : tensor<i1> -> ({F}) {{
    graph.yield %x : {F}
  }} else {{
    %s = graph.sin %x : {F} -> {F}
    %r = graph.call @odd(%s, %m) : ({F}, {N}) -> {F}
    %t = graph.multiply %r, %x : {FF}
    graph.yield %t : {F}
  }}
  func.return %y : {F}
}}
func.func @odd(%x: {F}, %n: {N}) -> {F} {{{LESS}
  %y = graph.if %done : tensor<i1> -> ({F}) {{
    %q = graph.multiply %x, %x : {FF}
    graph.yield %q : {F}
  }} else {{
    %r = func.call @even(%x, %m) : ({F}, {N}) -> {F}
    %t = graph.add %r, %x : {FF}
    graph.yield %t : {F}
  }}
  func.return %y : {F}
}}
func.func @loop(%x: {F}) -> {F} {{
  %n = graph.constant dense<3> : {N}
  %y = graph.for %i to %n (%a = %x : {F}) -> ({F}) {{
    %b = graph.call @even(%a, %i) : ({F}, {N}) -> {F}
    %c = graph.add %b, %x : {FF}
    graph.yield %c : {F}
  }}
  func.return %y : {F}
}}"""

# A loop that carries a tensor which grows.
GROWS = f"""
func.func @grows(%x: tensor<1xf64>, %n: {N}) -> tensor<?xf64> {{
  %y = graph.for %i to %n (%a = %x : tensor<1xf64> as {GROWING}) carries ["n"] (%s) -> (tensor<?xf64>) {{
    %q = graph.sin %a : {GROWING} -> {GROWING}
    %b = graph.concat %q, %x axis 0 : ({GROWING}, tensor<1xf64>) -> tensor<?xf64, #graph.dims<["n + 1"]>>
    graph.yield %b : tensor<?xf64, #graph.dims<["n + 1"]>>
  }}
  func.return %y : tensor<?xf64>
}}
func.func @grown(%x: tensor<1xf64>, %n: {N}) -> {F} {{
  %y = graph.call @grows(%x, %n) : (tensor<1xf64>, {N}) -> tensor<?xf64>
  %r = graph.reduce %y kind "sum_square" axes [0] keep_dims false : tensor<?xf64> -> {F}
  func.return %r : {F}
}}"""
# A loop that walks down a list, as long as there is more.
WALK = f"""
func.func @walk(%l: {L}, %w: {F}) -> {F} {{
  %more = graph.constant dense<true> : tensor<i1>
  %sum, %rest, %go = graph.while (%s = %w : {F}, %xs = %l : {L}, %c = %more : tensor<i1>) -> ({F}, {L}, tensor<i1>) {{
    graph.yield %c : tensor<i1>
  }} do (%s: {F}, %xs: {L}, %c: tensor<i1>) {{
    %a, %b, %d = adt.match %xs : {L} -> ({F}, {L}, tensor<i1>) case Cons(%x: {F}, %t: {L}) {{
      %p = graph.multiply %s, %x : {FF}
      %u = graph.add %p, %w : {FF}
      graph.yield %u, %t, %c : {F}, {L}, tensor<i1>
    }} case Nil {{
      %stop = graph.constant dense<false> : tensor<i1>
      graph.yield %s, %xs, %stop : {F}, {L}, tensor<i1>
    }}
    graph.yield %a, %b, %d : {F}, {L}, tensor<i1>
  }}
  func.return %sum : {F}
}}"""  # noqa: E501

# Each element through a lambda that has captured a weight, twice.
HIGHER = f"""
func.func private @each(%f: ({F}) -> {F}, %l: {L}) -> {L} {{
  %r = adt.match %l : {L} -> ({L}) case Cons(%x: {F}, %t: {L}) {{
    %y = graph.call %f(%x) : ({F}) -> {F}
    %u = graph.call @each(%f, %t) : (({F}) -> {F}, {L}) -> {L}
    %c = adt.make @List::@Cons(%y, %u) : ({F}, {L}) -> {L}
    graph.yield %c : {L}
  }} case Nil {{
    graph.yield %l : {L}
  }}
  func.return %r : {L}
}}
func.func @waves(%l: {L}, %w: {F}) -> {L} {{
  %f = graph.lambda (%x: {F}) -> ({F}) {{
    %p = graph.multiply %x, %w : {FF}
    %y = graph.sin %p : {F} -> {F}
    graph.yield %y : {F}
  }}
  %r = graph.call @each(%f, %l) : (({F}) -> {F}, {L}) -> {L}
  %s = graph.call @each(%f, %r) : (({F}) -> {F}, {L}) -> {L}
  func.return %s : {L}
}}
func.func @sum_of(%l: {L}) -> {F} {{
  %r = adt.match %l : {L} -> ({F}) case Cons(%x: {F}, %t: {L}) {{
    %u = graph.call @sum_of(%t) : ({L}) -> {F}
    %s = graph.add %x, %u : {FF}
    graph.yield %s : {F}
  }} case Nil {{
    %z = graph.constant dense<0.0> : {F}
    graph.yield %z : {F}
  }}
  func.return %r : {F}
}}
func.func @total(%l: {L}, %w: {F}) -> {F} {{
  %m = graph.call @waves(%l, %w) : ({L}, {F}) -> {L}
  %r = graph.call @sum_of(%m) : ({L}) -> {F}
  func.return %r : {F}
}}"""


def gradient(name: str, of: str, types: str, results: str, gradients: str, wrt: str = "0") -> str:
    """A function of text that returns the gradients of another one."""
    kinds = types.split("; ")
    declared = ", ".join(f"%a{n}: {kind}" for n, kind in enumerate(kinds))
    given = ", ".join(f"%a{n}" for n in range(len(kinds)))
    named = ", ".join(f"%d{n}" for n in range(len(gradients.split("; "))))
    listed = gradients.replace(";", ",")
    type = f"({', '.join(kinds)}) -> ({results}, {listed})"
    return f"""
func.func @{name}({declared}) -> ({listed}) {{
  %g = graph.gradient @{of} wrt [{wrt}] : {type}
  %v, {named} = graph.call %g({given}) : {type}
  func.return {named} : {listed}
}}"""


def error(text: str, function: str, *wrt: int) -> float:
    """The relative error of a gradient against central differences."""
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    return GradientCheck(module, ctx, function, list(wrt) or None, seed=1).function().error


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("text", "function", "wrt"),
    [
        (POWER, "power", ()),
        (FOLD, "fold", ()),
        (FOLD, "fold", (1,)),
        (FOLD, "folded", ()),
        (NEIGHBOURS, "neighbours", ()),
        (NEIGHBOURS, "neighbours", (1,)),
        (TREE, "tree", ()),
        (TREE, "tree", (0,)),
        (OPEN_ROWS, "rows", ()),
        (MUTUAL, "even", ()),
        (MUTUAL, "loop", ()),
        (GROWS, "grows", ()),
        (GROWS, "grown", ()),
        (WALK, "walk", ()),
    ],
)
def test_gradients_agree_with_central_differences(text: str, function: str, wrt: tuple[int, ...]):
    assert error(text, function, *wrt) < BOUND


def as_lists(value: Any) -> Any:
    """A value of the interpreter as Python has it: lists of lists."""
    if isinstance(value, Data) and value.constructor in ("Cons", "Nil"):
        return [as_lists(value.fields[0]), *as_lists(value.fields[1])] if value.fields else []
    if isinstance(value, Data):
        return Data(value.constructor, [as_lists(part) for part in value.fields])
    return tuple(map(as_lists, value)) if isinstance(value, tuple) else value


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
def test_bytecode_computes_what_the_interpreter_does(
    text: str, function: str, wrt: str, gradients: str, tmp_path: Path
):
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    (of,) = [op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == function]
    types = [arg.type for arg in of.args]
    text += gradient("main", function, "; ".join(map(str, types)), F, gradients, wrt)
    module = parse_module(ctx, text)
    rng = np.random.default_rng(2)
    inputs = [made_up(type, Tangents(module), rng) for type in types]
    run_pipeline(module, "gradient", ctx)
    expected = interpret(module, ctx, "main", inputs)
    (tmp_path / "program.mlir").write_text(text)
    found: Any = stepwell.compile(tmp_path / "program.mlir")(*map(as_lists, inputs))
    for value, wanted in zip(found if len(expected) > 1 else [found], expected, strict=True):
        np.testing.assert_allclose(value, as_lists(wanted), rtol=1e-13)


def power_slopes(order: int) -> str:
    """The power, and its derivatives, each of the one before."""
    made = POWER
    for number in range(order):
        of = "power" if number == 0 else f"d{number - 1}"
        made += gradient(f"d{number}", of, f"{F}; {N}", F, F)
    return made


@pytest.mark.sample(4)
@pytest.mark.parametrize(("order", "wanted"), [(1, 80.0), (2, 160.0), (3, 240.0)])
def test_derivatives_of_a_recursive_power(order: int, wanted: float, tmp_path: Path):
    text = power_slopes(order)
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    run_pipeline(module, "gradient", ctx)
    verify_module(module)
    (found,) = interpret(module, ctx, f"d{order - 1}", [np.array(2.0), np.array(5)])
    assert float(found) == wanted
    (tmp_path / "power.mlir").write_text(text.replace(f"@d{order - 1}(", "@main("))
    model: Any = stepwell.compile(tmp_path / "power.mlir")
    assert model(np.array(2.0), np.array(5)) == wanted


def test_gradients_of_gradients_of_data():
    slope = gradient("slope", "fold", f"{F}; {L}", F, f"{F}; {L}", "0, 1")
    assert error(FOLD + slope, "slope") < BOUND


@whole
def test_gradients_of_gradients_of_loops_that_grow(tmp_path: Path):
    slope = gradient("slope", "grown", f"tensor<1xf64>; {N}", F, "tensor<1xf64>")
    assert error(GROWS + slope, "slope") < BOUND
    (tmp_path / "grows.mlir").write_text((GROWS + slope).replace("@slope(", "@main("))
    model: Any = stepwell.compile(tmp_path / "grows.mlir")
    x = 0.3  # the values are sin(sin(x)), sin(x), x
    a, b = np.sin(x), np.sin(np.sin(x))
    wanted = 2 * (x + a * np.cos(x) + b * np.cos(a) * np.cos(x))
    np.testing.assert_allclose(model(np.array([x]), np.array(2)), [wanted], rtol=1e-12)


def test_a_list_has_a_gradient_of_as_many_elements(tmp_path: Path):
    text = FOLD + gradient("main", "folded", L, F, L)
    (tmp_path / "fold.mlir").write_text(text)
    model: Any = stepwell.compile(tmp_path / "fold.mlir")
    x, y = 0.7, -1.3
    first = np.sin(1.0)
    wanted = [np.cos(first * x) * first * y, np.sin(first * x)]
    np.testing.assert_allclose(model([np.array(x), np.array(y)]), wanted, rtol=1e-12)


def test_the_tangent_of_data_with_integers_has_nothing_for_them():
    type = f"(!adt.data<@Leafy>, {V}, tuple<{V}, tuple<>>)"
    results = f"(tuple<{V}, {N}>, !adt.data<@Leafy.tangent>)"
    text = f"""{TREE}
func.func @main(%t: !adt.data<@Leafy>, %w: {V}, %dy: tuple<{V}, tuple<>>) -> !adt.data<@Leafy.tangent> {{
  %g = graph.vjp @tree wrt [0] : {type} -> {results}
  %v, %d = graph.call %g(%t, %w, %dy) : {type} -> {results}
  func.return %d : !adt.data<@Leafy.tangent>
}}"""
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    run_pipeline(module, "gradient", ctx)
    verify_module(module)
    assert str(module).count("adt.constructor @Leaf(tensor<2xf64>, tuple<>)") == 1


def test_deep_recursion_needs_no_stack():
    text = power_slopes(1)
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    run_pipeline(module, "gradient", ctx)
    (found,) = interpret(module, ctx, "d0", [np.array(1.0), np.array(3000)])
    assert float(found) == 3000.0


def failing(text: str) -> StepwellError:
    with pytest.raises(StepwellError) as caught:
        run_pipeline(parse_module(StepwellContext(), text), "gradient", StepwellContext())
    return caught.value


def test_what_a_closure_has_captured_gets_a_gradient():
    assert error(HIGHER, "waves") < BOUND


def test_a_function_without_a_body_is_named():
    text = f"""
func.func private @far(%x: {F}) -> {F}
func.func @near(%x: {F}) -> {F} {{
  %y = graph.call @far(%x) : ({F}) -> {F}
  func.return %y : {F}
}}""" + gradient("main", "near", F, F, F)
    error = failing(text)
    assert error.code == "no-derivative" and "@far" in error.message
