"""Gradients through branches and loops, of first and second order, against formulas and differences."""

from __future__ import annotations

from math import cos, sin

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.runtime.errors import StepwellError

PAIR = "(tensor<f64>, tensor<f64>) -> tensor<f64>"
ONE = "tensor<f64> -> tensor<f64>"
IF = f"""
  %z = graph.constant dense<0.0> : tensor<f64>
  %c = graph.less %x, %z : (tensor<f64>, tensor<f64>) -> tensor<i1>
  %y = graph.if %c : tensor<i1> -> (tensor<f64>) {{
    %m = graph.neg %x : {ONE}
    graph.yield %m : tensor<f64>
  }} else {{
    %s = graph.multiply %x, %x : {PAIR}
    %q = graph.multiply %s, %x : {PAIR}
    graph.yield %q : tensor<f64>
  }}"""
POWER = f"""
  %y, %other = graph.for %i to %n (%a = %x : tensor<f64>, %u = %x : tensor<f64>)
      -> (tensor<f64>, tensor<f64>) {{
    %b = graph.multiply %a, %x : {PAIR}
    graph.yield %b, %u : tensor<f64>, tensor<f64>
  }}"""
SINES = f"""
  %y = graph.for %i to %n (%a = %x : tensor<f64>) -> (tensor<f64>) {{
    %k = graph.cast %i to f64 saturate false round "nearest" : tensor<i64> -> tensor<f64>
    %s = graph.sin %a : {ONE}
    %b = graph.multiply %k, %s : {PAIR}
    %c = graph.add %b, %a : {PAIR}
    graph.yield %c : tensor<f64>
  }}"""
DOUBLE = f"""
  %l = graph.constant dense<100.0> : tensor<f64>
  %y = graph.while (%a = %x : tensor<f64>) -> (tensor<f64>) {{
    %c = graph.less %a, %l : (tensor<f64>, tensor<f64>) -> tensor<i1>
    graph.yield %c : tensor<i1>
  }} do (%b: tensor<f64>) {{
    %d = graph.multiply %b, %x : {PAIR}
    graph.yield %d : tensor<f64>
  }}"""
NESTED = f"""
  %y = graph.for %i to %n (%a = %x : tensor<f64>) -> (tensor<f64>) {{
    %z = graph.constant dense<2.0> : tensor<f64>
    %c = graph.less %a, %z : (tensor<f64>, tensor<f64>) -> tensor<i1>
    %b = graph.if %c : tensor<i1> -> (tensor<f64>) {{
      %e = graph.for %j to %n (%g = %a : tensor<f64>) -> (tensor<f64>) {{
        %h = graph.multiply %g, %x : {PAIR}
        graph.yield %h : tensor<f64>
      }}
      graph.yield %e : tensor<f64>
    }} else {{
      %e = graph.multiply %a, %a : {PAIR}
      graph.yield %e : tensor<f64>
    }}
    graph.yield %b : tensor<f64>
  }}"""


def derivatives(body: str, x: float, n: int = 3, order: int = 1, static: bool = False) -> float:
    """The derivative of the order given of a function of text from `%x` and a number `%n` to `%y`."""
    arguments = "%x: tensor<f64>" if static else "%x: tensor<f64>, %n: tensor<i64>"
    given, kinds = ("%x", "tensor<f64>") if static else ("%x, %n", "tensor<f64>, tensor<i64>")
    count = f"%n = graph.constant dense<{n}> : tensor<i64>\n" if static else ""
    parts = [f"func.func @f0({arguments}) -> tensor<f64> {{\n{count}{body}\nfunc.return %y : tensor<f64>\n}}"]
    type = f"({kinds}) -> (tensor<f64>, tensor<f64>)"
    for number in range(order):
        parts.append(
            f"func.func @f{number + 1}({arguments}) -> tensor<f64> {{\n"
            f"%g = graph.gradient @f{number} wrt [0] : {type}\n"
            f"%v, %d = graph.call %g({given}) : {type}\nfunc.return %d : tensor<f64>\n}}"
        )
    module, ctx = module_of("\n".join(parts)), StepwellContext()
    verify_module(module)
    run_pipeline(module, "gradient", ctx)
    verify_module(module)
    values = [np.asarray(x)] if static else [np.asarray(x), np.asarray(n)]
    (found,) = interpret(module, ctx, f"f{order}", values)
    return float(found)


def module_of(text: str) -> ModuleOp:
    return parse_module(StepwellContext(), text)


@pytest.mark.parametrize(("x", "wanted"), [(-1.0, [-1.0, 0.0]), (2.0, [12.0, 12.0])])
def test_a_branch_has_the_derivative_of_the_arm_that_is_taken(x: float, wanted: list[float]):
    assert [derivatives(IF, x, order=order) for order in (1, 2)] == wanted


@pytest.mark.sample(3)
@pytest.mark.parametrize("static", [False, True])
def test_a_loop_of_products_has_the_derivatives_of_a_power(static: bool):
    for n in (0, 1, 4):
        power = n + 1
        for order, factor in ((1, power), (2, power * n), (3, power * n * (n - 1))):
            wanted = factor * 1.5 ** (power - order) if factor else 0.0
            assert derivatives(POWER, 1.5, n, order, static) == pytest.approx(wanted, rel=1e-14)


def test_a_while_loop_is_counted_and_differentiated():
    # 3 ^ 5 is the first power above 100.
    assert derivatives(DOUBLE, 3.0) == pytest.approx(5 * 3.0**4, rel=1e-14)
    assert derivatives(DOUBLE, 3.0, order=2) == pytest.approx(20 * 3.0**3, rel=1e-14)
    assert derivatives(DOUBLE, 101.0) == 1.0


def sines(x: float, n: int) -> float:
    for i in range(n):
        x = i * sin(x) + x
    return x


def sines_slope(x: float, n: int) -> float:
    slope = 1.0
    for i in range(n):
        slope, x = slope * (i * cos(x) + 1), i * sin(x) + x
    return slope


def test_the_number_of_the_iteration_is_that_of_the_forward_loop():
    assert derivatives(SINES, 0.7, 4) == pytest.approx(sines_slope(0.7, 4), rel=1e-14)
    change = (sines_slope(0.7 + 1e-6, 4) - sines_slope(0.7 - 1e-6, 4)) / 2e-6
    assert derivatives(SINES, 0.7, 4, order=2) == pytest.approx(change, rel=1e-7)


def test_loops_in_branches_in_loops():
    # x = 1.2, n = 2: below 2 in both iterations, each of which multiplies by x twice.
    assert derivatives(NESTED, 1.2, 2) == pytest.approx(5 * 1.2**4, rel=1e-14)
    assert derivatives(NESTED, 1.2, 2, order=2) == pytest.approx(20 * 1.2**3, rel=1e-13)
    # From 1.5: 1.5 ^ 3 = 3.375 is above 2, and is squared.
    assert derivatives(NESTED, 1.5, 2) == pytest.approx(6 * 1.5**5, rel=1e-14)


def failing(text: str) -> StepwellError:
    with pytest.raises(StepwellError) as caught:
        run_pipeline(module_of(text), "gradient", StepwellContext())
    return caught.value


def test_ops_without_a_derivative_are_found_in_regions():
    error = failing(f"""
    func.func @f(%x: tensor<f64>, %n: tensor<i64>) -> tensor<f64> {{
      %y = graph.for %i to %n (%a = %x : tensor<f64>) -> (tensor<f64>) {{
        %b = graph.bitcast %a to i64 : tensor<f64> -> tensor<i64>
        %c = graph.bitcast %b to f64 : tensor<i64> -> tensor<f64>
        %d = graph.multiply %c, %a : {PAIR}
        graph.yield %d : tensor<f64>
      }}
      func.return %y : tensor<f64>
    }}
    func.func @main() {{
      %g = graph.gradient @f wrt [0] : (tensor<f64>, tensor<i64>) -> (tensor<f64>, tensor<f64>)
      func.return
    }}""")
    assert error.message == "no derivative is known of graph.bitcast"
