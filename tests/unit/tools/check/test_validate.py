"""`stepwell validate`: each pass of a compilation, run before and after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import save

from stepwell.passes.registry import load_pass
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli
from stepwell.tools.check.rows import Row, Status, table_of
from tests.commands import shown_error
from tests.onnx_models import onnx_model
from tests.support.faults import FAULTS, planted
from tests.support.plugins import forgotten_plugins

Capture = pytest.CaptureFixture[str]

MODEL = """
g (float[4,8] x, float[8,8] w) => (float[4,8] y) {
  [mm] a = MatMul(x, w)
  [sub] s = Sub(a, x)
  [relu] r = Relu(s)
  [sig] t = Sigmoid(r)
  [soft] y = Softmax(t)
}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    save(onnx_model(MODEL), path)
    return path


def found(capsys: Capture, *argv: str | Path) -> tuple[int, list[dict[str, Any]]]:
    """The exit status and the rows of the command."""
    capsys.readouterr()
    status = cli.main(["validate", *map(str, argv), "--json"])
    facts = json.loads(capsys.readouterr().out)
    assert facts["schema"] == "stepwell-validate/1"
    return status, facts["runs"]


def validate(arguments: list[str]) -> int:
    return cli.main(["validate", *arguments])


def wrong(rows: list[dict[str, Any]]) -> set[tuple[str, str]]:
    return {(row["level"], row["pass"].partition("{")[0]) for row in rows if row["status"] == "differs"}


def test_a_healthy_model(model: Path, capsys: Capture) -> None:
    status, rows = found(capsys, model)
    assert status == 0
    assert {row["status"] for row in rows} == {"same", "right"}
    assert {row["level"] for row in rows} == {"graph", "tensor", "loop", "llvm"}
    judged = {row["pass"] for row in rows if row["status"] == "right"}
    assert judged > {"convert-onnx-to-graph", "fuse-ops", "convert-graph-to-linalg", "bufferize", "machine"}
    assert all(row["difference"] <= row["allowed"] for row in rows if row["status"] == "right")


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_planted_fault(
    name: str, model: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The faulty pass alone differs, besides what comes of it: the model's outputs."""
    monkeypatch.setattr(load_pass(name), "apply", load_pass(name).apply)  # undone in the end
    with forgotten_plugins():
        status, rows = found(capsys, model, "--load", planted(name, tmp_path))
    level = FAULTS[name].level
    assert status == 1
    assert (level, "machine" if level == "llvm" else name) in wrong(rows)
    assert wrong(rows) <= {(level, name), ("llvm", "machine")}
    if level != "graph":
        assert {row["kernel"] for row in rows if row["status"] == "differs"} - {None}


def test_a_transposed_map_of_equal_extents_is_right(tmp_path: Path, capsys: Capture) -> None:
    """A layout transform is the model's transpose; that axes are equally long does not make it wrong."""
    text = """g (float[1, 8, 8, 8] x, float[8] p) => (float[1, 8, 8, 8] y) <float[8, 8, 3, 3] w = {WEIGHTS}> {
      c = Conv <pads = [1, 1, 1, 1]> (x, w)
      e = Conv <pads = [1, 1, 1, 1]> (c, w)
      t = Transpose <perm = [0, 2, 3, 1]> (e)
      y = Add (t, p)
    }"""
    weights = ", ".join(str((37 * n % 41 - 20) / 16) for n in range(576))
    save(onnx_model(text.replace("WEIGHTS", weights)), tmp_path / "m.onnx")
    lanes = ("--mcpu", "x86-64-v3")  # 8, as long as the axes
    status, rows = found(capsys, tmp_path / "m.onnx", "--level", "graph", *lanes)
    assert not status and not wrong(rows)
    assert any(row["pass"].startswith("convert-layout") and row["status"] == "right" for row in rows)


def test_levels(model: Path, capsys: Capture) -> None:
    for level in ("graph", "tensor", "loop", "llvm"):
        status, rows = found(capsys, model, "--level", level)
        assert status == 0
        assert {row["level"] for row in rows} == {level}


def test_several_seeds(model: Path, capsys: Capture) -> None:
    once, twice = (found(capsys, model, "--level", "graph", "--seeds", n)[1] for n in "12")
    assert [row["pass"] for row in twice] == 2 * [row["pass"] for row in once]


def test_a_pass_that_fails(model: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that raises an error is a row, and the exit status is 1."""

    def apply(self: object, ctx: object, op: object) -> None:
        raise StepwellError("unsupported", op, "no room")

    monkeypatch.setattr(load_pass("vectorize"), "apply", apply)
    status, rows = found(capsys, model, "--level", "tensor")
    assert status == 1
    failed = [row for row in rows if row["status"] == "failed"]
    assert {row["pass"] for row in failed} == {"vectorize"}
    assert "no room" in failed[0]["note"]


PROGRAM = """
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %a = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  %b = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
  %c = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %c : tensor<4xf32>
}
"""


def test_passes_on_a_file(tmp_path: Path, capsys: Capture) -> None:
    (file := tmp_path / "f.mlir").write_text(PROGRAM)
    status, rows = found(capsys, file, "-p", "eliminate-common-subexpr,dead-code-elimination")
    assert status == 0
    assert [(row["pass"], row["kernel"], row["status"]) for row in rows] == [
        ("eliminate-common-subexpr", "f", "right"),
        ("dead-code-elimination", None, "same"),
    ]


def test_options_choose_the_passes_of_a_file(tmp_path: Path, capsys: Capture) -> None:
    (file := tmp_path / "f.mlir").write_text(PROGRAM)
    pipeline = "eliminate-common-subexpr,dead-code-elimination,fold-scale-axis"
    names = pipeline.split(",")

    def ran(*options: str) -> list[str]:
        return [row["pass"] for row in found(capsys, file, "-p", pipeline, *options)[1]]

    assert ran() == names
    assert ran("--disable-pass", names[0]) == names[1:]
    assert ran("--pass-limit", "1") == names[:1]
    optional = [name for name in names if getattr(load_pass(name), "opt_level", 0)]
    assert optional, "the test needs a pass that does not run at level 0"
    assert ran("--opt-level", "0") == [name for name in names if name not in optional]
    assert ran("--opt-level", "0", "--require-pass", optional[0]) == [
        name for name in names if name not in optional[1:]
    ]


def test_limits_do_not_go_with_a_model(model: Path, capsys: Capture) -> None:
    assert "error[bad-option]: limits" in shown_error(capsys, validate, model, "--pass-limit", "3")


def test_a_program_of_level_2(tmp_path: Path, model: Path, capsys: Capture) -> None:
    """Kernels of a program as text run on made-up inputs."""
    file = tmp_path / "m.mlir"
    assert cli.main(["compile", str(model), "--emit", "linalg", "-o", str(file)]) == 0
    status, rows = found(capsys, file)
    assert status == 0
    assert {row["level"] for row in rows} == {"tensor", "loop", "llvm"}
    assert "unjudged" not in {row["status"] for row in rows}


def test_what_cannot_be_validated(tmp_path: Path, model: Path, capsys: Capture) -> None:
    (artifact := tmp_path / "m.stepwell").write_bytes(b"")
    shown = shown_error(capsys, validate, artifact)
    assert "error[no-source]" in shown and "give it the model" in shown
    assert cli.main(["validate", str(model), "-p", "simplify-expr"]) == 2
    assert "-p is for .mlir files" in capsys.readouterr().err
    assert cli.main(["compile", str(model), "--emit", "loops", "-o", str(loops := tmp_path / "l.mlir")]) == 0
    assert "below level 2" in shown_error(capsys, validate, loops)
    with pytest.raises(SystemExit) as exit:
        cli.main(["validate", str(model), "--level", "grape"])
    assert exit.value.code == 2


def test_inputs_from_a_file(tmp_path: Path, model: Path, capsys: Capture) -> None:
    """A NaN in the inputs is in the results before and after."""
    np.savez(file := tmp_path / "x.npz", x=np.full((4, 8), np.nan, np.float32))
    assert found(capsys, model, "--inputs", file)[0] == 0


def test_the_table_has_the_worst_first() -> None:
    rows = [
        Row("loop", "b", "k1", Status.RIGHT, 0.0, 1e-5, 0.25),
        Row("graph", "a", None, Status.RIGHT, 0.0, 0.0),
        Row("loop", "b", "k2", Status.DIFFERS, 0.5, 1e-5),
        Row("loop", "b", "k3", Status.DIFFERS, 0.7, 1e-5),
        Row("loop", "c", "k1", Status.SAME),
    ]
    lines = table_of(rows).split("\n")
    assert lines[0].split() == (
        "differs loop b, kernel k3 and 1 more: difference 0.7, allowed 1e-05, "
        "at least 25.0% of a result compared".split()
    )
    assert lines[1].split()[:3] == ["right", "graph", "a:"]
    assert lines[2] == "5 runs of passes: 2 differs, 2 right, 1 same; 0.0 s"


HIDDEN = """g (float[5, 1] x) => (float[5, 1] y) {
  e = Exp(x)
  s = Sub(x, e)
  y = Softmax(s)
}"""


def test_a_value_that_no_output_shows(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A softmax of one number is 1, whatever the number: each value of the model is judged."""
    monkeypatch.setattr(load_pass("simplify-expr"), "apply", load_pass("simplify-expr").apply)
    save(onnx_model(HIDDEN), path := tmp_path / "m.onnx")
    with forgotten_plugins():
        status, rows = found(capsys, path, "--load", planted("simplify-expr", tmp_path))
    assert status == 1
    assert wrong(rows) == {("graph", "simplify-expr")}
    assert {row["value"] for row in rows if row["status"] == "differs"} == {"s"}
