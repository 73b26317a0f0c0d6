"""`--weights-from`: a `.pt2` program with the tensors of a safetensors file."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
import pytest

import stepwell
from stepwell.tools.cli import main
from tests.support.imports import ROOT
from tests.support.onnx_runtime import reference_session

MLP = ROOT / "tests" / "models" / "torch" / "mlp.pt2"
X = np.linspace(-1, 1, 18, dtype=np.float32).reshape(3, 6)
BIAS = np.arange(6, dtype=np.float32)


def _write(path: Path, arrays: Mapping[str, npt.NDArray[np.float32]]) -> Path:
    header: dict[str, object] = {}
    data = b""
    for name, array in arrays.items():
        offsets = [len(data), len(data) + array.nbytes]
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": offsets}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


@pytest.fixture
def zeros(tmp_path: Path) -> Path:
    """Weights with which the logits are the last bias, whatever the input is."""
    tensors = {"last.weight": np.zeros([6, 6], np.float32), "last.bias": BIAS}
    return _write(tmp_path / "m.safetensors", tensors)


def test_the_artifact_has_the_other_weights(tmp_path: Path, zeros: Path) -> None:
    """Also after the program was compiled with its own: nothing stale comes out of the cache."""
    for weights in ([], ["--weights-from", str(zeros)]):
        assert main(["compile", str(MLP), "-o", str(tmp_path / "m.stepwell"), *weights]) == 0
        logits = np.asarray(stepwell.load(tmp_path / "m.stepwell")(X)[0])
        assert np.array_equal(logits, np.tile(BIAS, (3, 1))) == bool(weights)
    compiled = stepwell.compile(MLP, weights_from=zeros)
    np.testing.assert_array_equal(np.asarray(compiled(X)[0]), np.tile(BIAS, (3, 1)))


def test_the_onnx_file_has_them(tmp_path: Path, zeros: Path) -> None:
    file = tmp_path / "m.onnx"
    assert main(["to-onnx", str(MLP), "-o", str(file), "--weights-from", str(zeros)]) == 0
    logits = reference_session(onnx.load(file)).run(None, {"x": X})[0]
    np.testing.assert_array_equal(logits, np.tile(BIAS, (3, 1)))


@pytest.mark.parametrize(
    ("tensors", "text"),
    [
        ({"other": BIAS}, "no tensor of"),
        ({"last.bias": BIAS[:3]}, "last.bias: expected float32 [6], found float32 [3]"),
    ],
)
def test_tensors_that_do_not_fit(
    tensors: Mapping[str, npt.NDArray[np.float32]],
    text: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    weights, output = _write(tmp_path / "m.safetensors", tensors), tmp_path / "m.stepwell"
    assert main(["compile", str(MLP), "-o", str(output), "--weights-from", str(weights)]) == 1
    assert text in capsys.readouterr().err
    assert not output.exists()


def test_where_it_is_refused(zeros: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(MLP), "--emit", "graph", "--weights-from", str(zeros)]) == 1
    assert "--weights-from does not go with --emit" in capsys.readouterr().err
    model = ROOT / "tests" / "models" / "gru_seq.onnx"
    assert main(["to-onnx", str(model), "-o", str(tmp_path / "m.onnx"), "--weights-from", str(zeros)]) == 1
    assert "weights_from is for programs of PyTorch" in capsys.readouterr().err
