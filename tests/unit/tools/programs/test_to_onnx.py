"""`stepwell to-onnx`: files of every front end as ONNX, with the same results by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import stepwell
from stepwell.tools.cli import main
from tests.onnx_models import onnx_model
from tests.support.imports import ROOT
from tests.support.onnx_runtime import reference_session

TORCH = ROOT / "tests" / "models" / "torch"


def _arrays(name: str, kind: str) -> list[npt.NDArray[np.float32]]:
    with np.load(TORCH / f"{name}.npz") as file:
        return [file[key] for key in sorted(file) if key.startswith(kind)]


@pytest.mark.parametrize("name", ["cnn", "mlp", "types", "cache"])
def test_a_program_of_torch_is_written(tmp_path: Path, name: str) -> None:
    file = tmp_path / "m.onnx"
    assert main(["to-onnx", str(TORCH / f"{name}.pt2"), "-o", str(file)]) == 0
    model = onnx.load(file)
    onnx.checker.check_model(model, full_check=True)
    session = reference_session(model, optimized=False)
    states = {"k": np.zeros([4, 2], np.float32)} if name == "cache" else {}
    names = [value.name for value in session.get_inputs() if value.name not in states]
    inputs = dict(zip(names, _arrays(name, "in"), strict=True)) | _zeros(session, states)
    found = [np.asarray(each, np.float32) for each in session.run(None, inputs)]
    for ours, expected in zip(found, _arrays(name, "out"), strict=False):
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)


def _zeros(session: object, states: object) -> dict[str, npt.NDArray[np.float32]]:
    """The initial values of states, which are inputs of the file."""
    inputs = session.get_inputs()  # type: ignore[attr-defined]
    return {i.name: np.zeros(i.shape, np.float32) for i in inputs if i.name in states}  # type: ignore[operator]


def test_a_state_is_an_input_and_an_output(tmp_path: Path) -> None:
    file = tmp_path / "m.onnx"
    assert main(["to-onnx", str(TORCH / "cache.pt2"), "-o", str(file)]) == 0
    compiled = stepwell.compile(file, states="k=k_next")
    session = compiled.session()
    inputs = _arrays("cache", "in")
    assert [float(np.asarray(session(*inputs)[1])) for _ in range(2)] == [2.0, 4.0]


def test_functions_are_inlined_and_names_stay(tmp_path: Path) -> None:
    model = onnx_model(
        """g (float[N, 2] x) => (float[N, 2] y) { h = local.twice(x) y = Relu(h) }
        <domain: "local", opset_import: ["" : 18]> twice (a) => (b) { b = Add(a, a) }""",
        header=', "local" : 1',
    )
    source, file = tmp_path / "f.onnx", tmp_path / "m.onnx"
    onnx.save(model, source)
    assert main(["to-onnx", str(source), "-o", str(file), "--opset", "17"]) == 0
    written = onnx.load(file)
    assert not written.functions
    assert [(e.domain, e.version) for e in written.opset_import] == [("", 17)]
    assert ([v.name for v in written.graph.input], [v.name for v in written.graph.output]) == (["x"], ["y"])
    x = np.array([[1, -2]], np.float32)
    assert reference_session(written).run(None, {"x": x})[0].tolist() == [[2, 0]]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["-o", "m.txt"], "-o m.txt is named otherwise"),
        (["-o", "m.onnx", "--opset", "99"], "cannot be written in opset 99"),
    ],
)
def test_what_is_refused(
    arguments: list[str],
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["to-onnx", str(TORCH / "types.pt2"), *arguments]) == 1
    assert text in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_all_operators_without_counterpart_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "m.mlir"
    file.write_text(
        """func.func @main(%x: tensor<?x4xf32>) -> (tensor<?x4xf32>, tensor<?x4xi32>) {
          %y = graph.scan %x kind "prod" axis 1 exclusive false reverse false
            : tensor<?x4xf32> -> tensor<?x4xf32>
          %z = graph.bitcast %x to i32 : tensor<?x4xf32> -> tensor<?x4xi32>
          func.return %y, %z : tensor<?x4xf32>, tensor<?x4xi32>
        }"""
    )
    assert main(["to-onnx", str(file), "-o", str(tmp_path / "m.onnx")]) == 1
    assert "no conversion for graph.bitcast, graph.scan" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["coreml/residual.mlpackage", "paddle/residual.json"])
def test_open_sizes_are_fixed_by_shapes(tmp_path: Path, name: str) -> None:
    source, file = ROOT / "tests" / "models" / name, tmp_path / "m.onnx"
    assert main(["to-onnx", str(source), "-o", str(file), "--input-shape", "x0=2x3x16x16"]) == 0
    (given,), (result,) = (onnx.load(file).graph.input, onnx.load(file).graph.output)
    sizes = [[each.dim_value for each in value.type.tensor_type.shape.dim] for value in (given, result)]
    assert sizes == [[2, 3, 16, 16], [2, 5]]


def test_a_shape_that_the_model_contradicts_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, file = ROOT / "tests" / "models" / "paddle" / "residual.json", tmp_path / "m.onnx"
    assert main(["to-onnx", str(source), "-o", str(file), "--input-shape", "x0=2x3x8x8"]) == 1
    assert "shape-mismatch" in capsys.readouterr().err and not file.exists()
