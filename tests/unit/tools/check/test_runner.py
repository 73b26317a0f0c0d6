"""Functions that are called often: interpreted first, then compiled, with the same results."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects.builtin import StringAttr

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes import run_pipeline
from stepwell.tools.check import gradients, runner
from stepwell.tools.check.gradients import GradientCheck
from stepwell.tools.check.runner import Runner

TEXT = """
func.func @main(%x: tensor<3x4xf32>, %w: tensor<4x5xf32>) -> tensor<3x5xf32> {
  %p = graph.matmul %x, %w : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  %y = graph.SOFTMAX : tensor<3x5xf32> -> tensor<3x5xf32>
  func.return %y : tensor<3x5xf32>
}
""".replace("SOFTMAX", "softmax %p axis 1")


def test_compiled_functions_compute_what_the_interpreter_does():
    ctx = StepwellContext()
    module = parse_module(ctx, TEXT)
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(shape).astype(np.float32) for shape in ((3, 4), (4, 5))]
    for name in ("main", "other"):
        text = module.clone()
        next(iter(text.ops)).properties["sym_name"] = StringAttr(name)
        plain, compiled = Runner(text, ctx, name), Runner(text, ctx, name, is_slow=True)
        for found, wanted in zip(compiled(inputs), plain(inputs), strict=True):
            np.testing.assert_allclose(np.asarray(found, np.float64), wanted, rtol=1e-6)
        assert compiled._compiled is not None and plain._compiled is None  # pyright: ignore[reportPrivateUsage]


def test_checks_are_right_in_compiled_code(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runner, "SLOW_SECONDS", 0.0)
    made: list[Runner] = []

    class Noted(Runner):
        def __init__(self, *given: object, **named: object):
            super().__init__(*given, **named)  # type: ignore[arg-type]
            made.append(self)

    monkeypatch.setattr(gradients, "Runner", Noted)
    ctx = StepwellContext()
    check = GradientCheck(parse_module(ctx, TEXT), ctx, "main", None, 0)
    assert check.function().error < 1e-6
    assert [each._compiled is not None for each in made] == [True, True]  # pyright: ignore[reportPrivateUsage]


def test_a_wrong_derivative_departs_in_compiled_code(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(runner, "SLOW_SECONDS", 0.0)
    text = """
    func.func @f(%x: tensor<3xf32>) -> tensor<3xf32> attributes {graph.derivative = @wrong} {
      %y = graph.exp %x : tensor<3xf32> -> tensor<3xf32>
      func.return %y : tensor<3xf32>
    }
    func.func @wrong(%x: tensor<3xf32>, %dy: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
      %y = graph.exp %x : tensor<3xf32> -> tensor<3xf32>
      func.return %y, %dy : tensor<3xf32>, tensor<3xf32>
    }
    func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {
      %y = graph.call @f(%x) : (tensor<3xf32>) -> tensor<3xf32>
      func.return %y : tensor<3xf32>
    }"""
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    run_pipeline(module, "infer-types", ctx)
    assert not GradientCheck(module, ctx, "main", None, 0).function().is_right
