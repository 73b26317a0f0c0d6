"""Our ops of `arith`, and what stands for them in upstream MLIR, by the interpreter."""

from __future__ import annotations

import numpy as np

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret
from stepwell.passes.upstream.arithmetic import expand_arithmetic

SCALE = """
func.func @main(%x: tensor<8xf32>, %n: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>,
      affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x, %n : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %r = arith.scale %a, %b : f32
    linalg.yield %r : f32
  } -> tensor<8xf32>
  func.return %y : tensor<8xf32>
}"""


def test_products_with_powers_of_two() -> None:
    """Denormal results round once; exponents are far ones too, and NaN."""
    x = np.array([3, -1.5, 1, 1.75, np.inf, 0, 1, 2], np.float32)
    n = np.array([-150, 127, 2000, -149, -5, 900, -2000, np.nan], np.float32)
    wanted = [2 * 2.0**-149, -1.5 * 2.0**127, np.inf, 2 * 2.0**-149, np.inf, 0, 0, np.nan]
    for expands in (False, True):
        ctx = StepwellContext()
        module = parse_module(ctx, SCALE)
        if expands:
            expand_arithmetic(module)
            assert "arith.scale" not in str(module)
        (found,) = interpret(module, ctx, "main", [x, n])
        np.testing.assert_array_equal(found, np.array(wanted, np.float32))
