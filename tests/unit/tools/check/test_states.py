"""`stepwell validate` and `stepwell bisect` of models with states, which the code takes and returns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.tools import cli
from stepwell.tools.check.whole_call import whole_results
from tests.commands import Capture

ROWS = 'tensor<?x4xf32, #graph.dims<["N", 4]>>'
OPEN = f"""
func.func @main(%t: {ROWS} {{graph.state = "total"}}, %x: {ROWS} {{graph.name = "x"}})
    -> ({ROWS} {{graph.state = "total"}}, {ROWS} {{graph.name = "y"}}) {{
  %n = graph.subtract %t, %x : ({ROWS}, {ROWS}) -> {ROWS}
  %y = graph.tanh %n : {ROWS} -> {ROWS}
  func.return %n, %y : {ROWS}, {ROWS}
}}
"""
FIXED = OPEN.replace(ROWS, "tensor<2x4xf32>").replace(
    'graph.state = "total"}, %x', 'graph.state = "total", graph.initial = dense<1.0> : tensor<2x4xf32>}, %x'
)


@pytest.mark.sample(3)
@pytest.mark.parametrize("text", [OPEN, FIXED], ids=["open", "fixed"])
@pytest.mark.parametrize("command", ["validate", "bisect"])
def test_a_model_with_states_is_judged(command: str, text: str, tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "m.mlir").write_text(text)
    assert cli.main([command, str(tmp_path / "m.mlir")]) == 0
    found = capsys.readouterr().out
    assert "nothing wrong" in found if command == "bisect" else "failed" not in found and "right" in found


@pytest.mark.parametrize("text", [OPEN, FIXED], ids=["open", "fixed"])
def test_states_begin_with_what_is_given_and_are_among_the_results(text: str, tmp_path: Path) -> None:
    (tmp_path / "m.mlir").write_text(text)
    model = stepwell.compile(tmp_path / "m.mlir", threads=1)
    total, x = np.random.default_rng(1).standard_normal((2, 2, 4)).astype(np.float32)
    names = [spec.name for spec in model.image.main.interface.inputs]
    after, y = whole_results(model, dict(zip(names, (total, x), strict=True)))
    np.testing.assert_array_equal(after, total - x)
    np.testing.assert_allclose(np.asarray(y, np.float64), np.tanh(total - x), rtol=1e-5)
