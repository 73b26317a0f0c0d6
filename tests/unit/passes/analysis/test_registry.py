"""The table of analyses: each is found under its own name, reads a module without changing it, and prints."""

from __future__ import annotations

import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes.analysis.registry import ANALYSES, load_analysis
from stepwell.passes.instruments import module_text
from stepwell.runtime.errors import StepwellError

PROGRAM = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = func.call @k(%x) : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
func.func private @k(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %y = linalg.fill ins(%zero : f32) outs(%x : tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}
"""


@pytest.mark.parametrize("name", ANALYSES)
def test_an_analysis_has_its_name_and_prints_lines(name: str) -> None:
    analysis = load_analysis(name)
    assert analysis.name == name
    module = parse_module(StepwellContext(), PROGRAM, "program.mlir")
    before = module_text(module)
    text = str(analysis.of(module))
    assert text.endswith("\n") and ("@" in text or "arena" in text)
    assert module_text(module) == before


def test_an_unknown_name_lists_the_others() -> None:
    with pytest.raises(StepwellError, match="no analysis is called 'arena'") as found:
        load_analysis("arena")
    assert all(name in found.value.render() for name in ANALYSES)
