"""`--schedules`: scripts of a file decide the schedules of a model's kernels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.tools.cli import main

_MODEL = """
func.func @main(%x: tensor<64x48xf32>, %w: tensor<48x40xf32>) -> tensor<64x40xf32> {
  %y = graph.matmul %x, %w : (tensor<64x48xf32>, tensor<48x40xf32>) -> tensor<64x40xf32>
  %s = graph.scan %y kind "sum" axis 0 exclusive false reverse false : tensor<64x40xf32> -> tensor<64x40xf32>
  func.return %s : tensor<64x40xf32>
}
"""
_SCRIPTS = """
sched.script @product for "y" {
  %c = sched.stage "y"
  %i, %j, %r = sched.loops %c
  %i0, %j0, %i1, %j1 = sched.tile %i, %j by [5, 8]
  sched.reorder %i0, %j0, %r, %i1, %j1
  sched.parallel %i0
  sched.vectorize %j1
  sched.unroll %i1
}
sched.script @sums for "k1" {
  %s = sched.stage "s"
  sched.set_form %s to "layers"
}
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """A model and scripts for it."""
    paths = tmp_path / "m.mlir", tmp_path / "s.mlir"
    for path, text in zip(paths, (_MODEL, _SCRIPTS), strict=True):
        path.write_text(text)
    return paths


def test_kernels_have_the_schedules_of_the_file(files: tuple[Path, Path]) -> None:
    x, w = np.random.default_rng(0).standard_normal((2, 64, 48), np.float32)
    model, w = stepwell.compile(files[0], schedules=files[1], threads=1), w[:40].T.copy()
    assert np.allclose(model(x, w), np.cumsum(x @ w, axis=0), rtol=1e-4, atol=1e-4)
    product, _ = (kernel.schedule for kernel in model.kernels.values())
    assert "#sched.schedule<tile = [5, 8, 1], parallel = [0], vectorize = 1>" in product


def test_the_command_line(files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(files[0]), "--schedules", str(files[1]), "--emit", "linalg"]) == 0
    assert "tile = [5, 8, 1]" in capsys.readouterr().out
    files[1].write_text(_SCRIPTS.replace("sched.parallel %i0", "sched.parallel %r"))
    assert main(["run", str(files[0]), "--schedules", str(files[1])]) == 1
    assert "parallel(r): loop r of y is summed over" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["validate"], ["bisect"], ["compile", "--pass-limit", "9"]])
def test_commands_that_run_passes_one_by_one(
    command: list[str], files: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, str(files[0]), "--schedules", str(files[1])]) != 0
    assert "schedules are those of a file" in capsys.readouterr().err
