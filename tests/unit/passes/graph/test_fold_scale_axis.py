"""`fold-scale-axis`: the memory of factors."""

from __future__ import annotations

import tracemalloc

import numpy as np

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes import run_pipeline

CHANNELS = 1024
CONV = """
func.func @main(%x: tensor<1xCx4x4xf32>) -> tensor<1xCx4x4xf32> {
  %s = graph.constant #graph.weight<"s", "SCALE", tensor<Cx1x1xf32>> : tensor<Cx1x1xf32>
  %w = graph.constant #graph.weight<"w", "WEIGHTS", tensor<CxCx1x1xf32>> : tensor<CxCx1x1xf32>
  %0 = graph.multiply %x, %s : (tensor<1xCx4x4xf32>, tensor<Cx1x1xf32>) -> tensor<1xCx4x4xf32>
  %y = graph.conv %0, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
    : (tensor<1xCx4x4xf32>, tensor<CxCx1x1xf32>) -> tensor<1xCx4x4xf32>
  func.return %y : tensor<1xCx4x4xf32>
}
"""


def test_the_factors_of_inputs_are_one_a_channel() -> None:
    """Not one a weight: the factors of 1x1 convolutions took as much as weights (densenet121: 39 MB)."""
    ctx = StepwellContext()
    scale = np.linspace(1, 2, CHANNELS, dtype=np.float32).reshape(CHANNELS, 1, 1)
    weights = np.ones((CHANNELS, CHANNELS, 1, 1), np.float32)
    keys = {"SCALE": ctx.weights.add(scale), "WEIGHTS": ctx.weights.add(weights)}
    text = CONV.replace("xCx", f"x{CHANNELS}x").replace("<C", f"<{CHANNELS}").replace("xCx", f"x{CHANNELS}x")
    for name, key in keys.items():
        text = text.replace(name, key)
    module = parse_module(ctx, text)
    run_pipeline(module, "fold-constant", ctx)
    tracemalloc.start()
    try:
        run_pipeline(module, "fold-scale-axis{direction=forward}", ctx)
        assert tracemalloc.get_traced_memory()[1] < weights.nbytes / 2
    finally:
        tracemalloc.stop()
    assert "graph.multiply" not in str(module)
    made = next(key for key in ctx.weights if key not in keys.values())
    np.testing.assert_array_equal(ctx.weights.get(made), weights * scale.reshape(1, CHANNELS, 1, 1))
