"""Derivatives of graph ops against central differences in f64, and what the pass makes of functions."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.runtime.errors import StepwellError


def module_of(text: str) -> ModuleOp:
    return parse_module(StepwellContext(), text)


SCALARS = "(tensor<f64>, tensor<f64>) -> tensor<f64>"
CUBE = f"%s = graph.multiply %x, %x : {SCALARS}\n%y = graph.multiply %s, %x : {SCALARS}"


def gradient_of(body: str, *arguments: float, names: str = "x", count: int = 1) -> float:
    """
    The gradient of a function of text by its first argument; `count` 2 is that of the gradient, and so on.

    Args: `body` computes `%y`, a scalar of f64, from scalars with names of one letter.
    """
    declared = ", ".join(f"%{name}: tensor<f64>" for name in names)
    given = ", ".join(f"%{name}" for name in names)
    parts = [f"func.func @f0({declared}) -> tensor<f64> {{\n{body}\nfunc.return %y : tensor<f64>\n}}"]
    type = f"({', '.join(['tensor<f64>'] * len(names))}) -> (tensor<f64>, tensor<f64>)"
    for number in range(count):
        lines = [
            f"func.func @f{number + 1}({declared}) -> tensor<f64> {{",
            f"%g = graph.gradient @f{number} wrt [0] : {type}",
            f"%v, %d = graph.call %g({given}) : {type}",
            "func.return %d : tensor<f64>\n}",
        ]
        parts.append("\n".join(lines))
    module, ctx = module_of("\n".join(parts)), StepwellContext()
    run_pipeline(module, "gradient", ctx)
    verify_module(module)
    (found,) = interpret(module, ctx, f"f{count}", [np.asarray(a, np.float64) for a in arguments])
    return float(found)


@pytest.mark.parametrize(("count", "wanted"), [(1, 12.0), (2, 12.0), (3, 6.0), (4, 0.0)])
def test_gradients_of_gradients(count: int, wanted: float):
    assert gradient_of(CUBE, 2.0, count=count) == wanted


@pytest.mark.parametrize(
    ("body", "at", "wanted"),
    [
        (f"%y = graph.multiply %x, %x : {SCALARS}", 3.0, 6.0),
        (f"%y = graph.add %x, %x : {SCALARS}", 3.0, 2.0),
        (f"%y = graph.maximum %x, %x : {SCALARS}", 3.0, 1.0),
        ("%y = graph.relu %x : tensor<f64> -> tensor<f64>", 0.0, 0.0),
        ("%y = graph.abs %x : tensor<f64> -> tensor<f64>", 0.0, 0.0),
        ("%y = graph.sqrt %x : tensor<f64> -> tensor<f64>", 0.0, np.inf),
        (f"%n = graph.constant dense<0.0> : tensor<f64>\n%y = graph.power %x, %n : {SCALARS}", 0.0, 0.0),
        ('%y = graph.reduce %x kind "l2" axes [] keep_dims false : tensor<f64> -> tensor<f64>', 0.0, 0.0),
    ],
)
def test_conventions_at_kinks(body: str, at: float, wanted: float):
    assert gradient_of(body, at) == wanted


def test_the_bounds_of_a_clip_count_as_inside():
    bound = "%l = graph.constant dense<1.0> : tensor<f64>\n"
    lo = "%y = graph.clip %x lo %l : tensor<f64> : tensor<f64> -> tensor<f64>"
    hi = "%y = graph.clip %x hi %l : tensor<f64> : tensor<f64> -> tensor<f64>"
    assert [gradient_of(bound + text, 1.0) for text in (lo, hi)] == [1.0, 1.0]
    assert [gradient_of(bound + text, 0.5) for text in (lo, hi)] == [0.0, 1.0]


def test_a_power_of_zero_has_no_slope_by_its_exponent():
    assert gradient_of(f"%y = graph.power %z, %x : {SCALARS}", 2.0, 0.0, names="xz") == 0.0


def test_open_sizes_are_summed_over():
    rows = 'tensor<?x3xf64, #graph.dims<["N", 3]>>'
    text = f"""
    func.func @f(%x: {rows}, %b: tensor<3xf64>) -> tensor<f64> {{
      %s = graph.add %x, %b : ({rows}, tensor<3xf64>) -> {rows}
      %y = graph.reduce %s kind "mean" axes [0, 1] keep_dims false : {rows} -> tensor<f64>
      func.return %y : tensor<f64>
    }}
    func.func @main(%x: {rows}, %b: tensor<3xf64>) -> tensor<3xf64> {{
      %g = graph.gradient @f wrt [1] : ({rows}, tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>)
      %y, %d = graph.call %g(%x, %b) : ({rows}, tensor<3xf64>) -> (tensor<f64>, tensor<3xf64>)
      func.return %d : tensor<3xf64>
    }}"""
    module, ctx = module_of(text), StepwellContext()
    run_pipeline(module, "gradient", ctx)
    verify_module(module)
    (found,) = interpret(module, ctx, "main", [np.ones((5, 3)), np.ones(3)])
    np.testing.assert_allclose(np.asarray(found, np.float64), np.full(3, 1 / 3), rtol=1e-15)


def failing(body: str, wrt: int = 0) -> StepwellError:
    """The error of the gradient of a function that computes `%y` from floats `%x` and integers `%i`."""
    given, floats = "(tensor<4xf32>, tensor<4xi64>)", "tensor<4xf32>"
    text = f"""
    func.func @f(%x: {floats}, %i: tensor<4xi64>) -> {floats} {{
      {body}
      func.return %y : {floats}
    }}
    func.func @main(%x: {floats}, %i: tensor<4xi64>) -> {floats} {{
      %g = graph.gradient @f wrt [{wrt}] : {given} -> ({floats}, {floats})
      %y, %d = graph.call %g(%x, %i) : {given} -> ({floats}, {floats})
      func.return %y : {floats}
    }}"""
    with pytest.raises(StepwellError) as caught:
        run_pipeline(module_of(text), "gradient", StepwellContext())
    return caught.value


def test_all_ops_without_a_derivative_are_named():
    error = failing(
        "%a = graph.bitcast %x to i32 : tensor<4xf32> -> tensor<4xi32>\n"
        "%f = graph.floor %x : tensor<4xf32> -> tensor<4xf32>\n"
        "%b = graph.bitcast %f to i32 : tensor<4xf32> -> tensor<4xi32>\n"
        '%c = graph.host_call "numpy" "f" payload "{}" (%x) : (tensor<4xf32>) -> tensor<4xf32>\n'
        "%y = graph.relu %c : tensor<4xf32> -> tensor<4xf32>"
    )
    assert error.code == "no-derivative"
    assert error.message == "no derivative is known of graph.bitcast, graph.host_call"
    assert [note for note in error.notes if "made of bits" in note]


def test_arguments_without_a_derivative():
    body = "%y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>"
    for wrt in (1, 2):
        error = failing(body, wrt)
        assert error.code == "not-differentiable" and ":7:7" in error.where, "where the gradient is asked for"


def test_what_only_indices_depend_on_has_the_gradient_zero():
    text = """
      %k = graph.argmax %v axis 0 keep_dims false select_last false : tensor<1xf64> -> tensor<i64>
      %y = graph.cast %k to f64 saturate false round "nearest" : tensor<i64> -> tensor<f64>"""
    assert gradient_of("%v = graph.expand_dims %x axes [0] : tensor<f64> -> tensor<1xf64>" + text, 2.0) == 0.0


def test_quantized_numbers_have_no_derivative():
    error = failing(
        "%s = graph.constant dense<0.5> : tensor<f32>\n"
        "%q = graph.quantize %x, %s to i8 : (tensor<4xf32>, tensor<f32>) -> tensor<4xi8>\n"
        "%y = graph.dequantize %q, %s to f32 : (tensor<4xi8>, tensor<f32>) -> tensor<4xf32>"
    )
    assert error.code == "no-derivative" and "graph.quantize" in error.message
