"""Code for fixed sizes beside the code for any: results, weights, artifacts, and refused sizes."""

from __future__ import annotations

import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell import StepwellError
from stepwell.tools import cli

ROWS = 'tensor<?x4xf32, #graph.dims<["N", 4]>>'
TEXT = f"""
func.func @main(%x: {ROWS} {{graph.name = "x"}}, %z: {ROWS} {{graph.name = "z"}}) -> {ROWS} {{
  %w = graph.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [1.0, 0.0, 2.0, 0.0],
                            [0.5, 0.0, 0.0, 1.0]]>
    : tensor<4x4xf32>
  %y = graph.matmul %x, %w : ({ROWS}, tensor<4x4xf32>) -> {ROWS}
  %s = graph.add %y, %z : ({ROWS}, {ROWS}) -> {ROWS}
  func.return %s : {ROWS}
}}
"""
W = np.array([[1, 2, 3, 4], [5, 6, 7, 8], [1, 0, 2, 0], [0.5, 0, 0, 1]], np.float32)


@cache
def compiled() -> stepwell.CompiledModel:
    return stepwell.compile(stepwell.parse(TEXT), threads=1, specialize=[{"N": 1}, {"N": 3}])


def arrays(rows: int) -> list[Any]:
    rng = np.random.default_rng(rows)
    return list(rng.standard_normal((2, rows, 4)).astype(np.float32))


def assert_right(model: Any) -> None:
    for rows in (1, 2, 3, 4):
        x, z = arrays(rows)
        np.testing.assert_allclose(model(x, z), x @ W + z, rtol=1e-5, atol=1e-6)


def test_calls_of_all_sizes_have_their_results():
    assert_right(compiled())
    assert list(compiled().image.versions) == ["main[N=1]", "main[N=3]"]


def test_a_call_runs_the_code_of_its_size(monkeypatch: pytest.MonkeyPatch):
    model, ran = compiled(), list[int]()
    versions = model._versions  # pyright: ignore[reportPrivateUsage]
    assert versions is not None
    for rows, version in zip((1, 3), versions._versions, strict=True):  # pyright: ignore[reportPrivateUsage]

        def noted(values: Any, targets: Any = None, rows: int = rows) -> Any:
            ran.append(rows)
            return (np.zeros((rows, 4)),)

        monkeypatch.setattr(version.model, "_invoke", noted)
    for rows in (1, 2, 3, 1):
        model(*arrays(rows))
    assert ran == [1, 3, 1]


def test_weights_are_stored_once():
    model = compiled()
    assert sum(weight.nbytes for weight in model.image.weights) == W.nbytes
    assert {entry.weights for entry in model.image.versions.values()} == {model.image.main.weights}


def test_artifacts_and_copies_have_the_versions(tmp_path: Path):
    compiled().save(tmp_path / "m.stepwell")
    for same in (stepwell.load(tmp_path / "m.stepwell", threads=2), pickle.loads(pickle.dumps(compiled()))):
        assert len(same.image.versions) == 2
        assert_right(same)
        same.threads = 1
        assert_right(same)


def test_inputs_that_do_not_fit_are_refused_as_without_versions():
    x, z = arrays(1)
    for given in ((x, arrays(2)[0]), (x[0], z), (x.astype(np.float64), z), (x[:, :2], z)):
        with pytest.raises(StepwellError, match=r"error\[(shape|type)-mismatch\]"):
            compiled()(*given)


def test_sizes_that_no_input_leaves_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "m.mlir").write_text(TEXT)
    with pytest.raises(
        StepwellError, match=r"error\[bad-option\]: no input leaves a size 'M' open(.|\n)*are N"
    ):
        stepwell.compile(tmp_path / "m.mlir", specialize=[{"M": 1}])
    with pytest.raises(StepwellError, match=r"error\[bad-option\]: specialize must be sizes by name"):
        stepwell.compile(tmp_path / "m.mlir", specialize=[{"N": -1}])
    with pytest.raises(SystemExit):
        cli.main(
            ["compile", str(tmp_path / "m.mlir"), "--specialize", "N", "-o", str(tmp_path / "m.stepwell")]
        )
    assert "expected S=1 or none, found 'N'" in capsys.readouterr().err


def test_the_command_makes_them_too(tmp_path: Path):
    (tmp_path / "m.mlir").write_text(TEXT)
    out = tmp_path / "m.stepwell"
    asked = ["compile", str(tmp_path / "m.mlir"), "-o", str(out)]
    assert cli.main([*asked, "--specialize", "N=1"]) == 0
    assert list(stepwell.load(out).image.versions) == ["main[N=1]"]
