"""The replay of kernels: equal digests for equal code, and another one for every kernel that changed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from benchmarks.replay import main
from tests.onnx_models import onnx_model
from tests.support.samples import whole

ROOT = Path(__file__).resolve().parents[3]


def write_model(folder: Path, *, middle: str = "s", last: str = "Relu") -> None:
    """Write a model of three kernels, two of them equal; the names of its values begin with `middle`."""
    first, second, third = (f"{middle}{index}" for index in range(3))
    body = (
        f"{first} = MatMul(x, x)  {second} = MatMul({first}, {first})"
        f"  {third} = MatMul({second}, {second})  y = {last}({third})"
    )
    model = onnx_model(f"g (float[4, 4] x) => (float[4, 4] y) {{ {body} }}")
    onnx.save(model, str(folder / "small.onnx"))


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a small model's digests; the model is beside it, in the working folder."""
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path)
    assert main(["--save", "replay.json", "small.onnx"]) == 0
    return tmp_path / "replay.json"


@whole
def test_another_process_with_other_hashes_finds_no_difference(saved: Path) -> None:
    environment = {**os.environ, "PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "benchmarks.replay", "--check", saved.name]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_equal_kernels_are_equal_and_names_of_values_do_not_count(saved: Path) -> None:
    content = json.loads(saved.read_text())
    found = content["models"]["small.onnx"]
    assert [*found] == ["k0", "k1", "main"]
    content["models"]["small.onnx"] = {
        "k0": found["k0"],
        "k1": found["k0"],
        "k2": found["k1"],
        "main": found["main"],
    }
    saved.write_text(json.dumps(content))
    write_model(saved.parent, middle="other")
    assert main(["--check", saved.name]) == 0


def test_a_changed_kernel_is_found(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_model(saved.parent, last="Neg")
    assert main(["--check", saved.name]) == 1
    assert capsys.readouterr().out == "small.onnx: @k1: text and object differ\n"


@pytest.mark.parametrize("kind", ["text", "object"])
def test_text_alone_may_differ_where_only_objects_count(
    saved: Path, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = json.loads(saved.read_text())
    content["models"]["small.onnx"]["main"][["text", "object"].index(kind)] = "another"
    saved.write_text(json.dumps(content))
    assert main(["--check", saved.name]) == 1
    assert capsys.readouterr().out == f"small.onnx: @main: {kind} differs\n"
    assert main(["--check", saved.name, "--objects"]) == (1 if kind == "object" else 0)


def test_a_model_that_was_not_saved_is_no_equal_one(saved: Path) -> None:
    with pytest.raises(SystemExit, match=r"replay\.json does not have other\.onnx"):
        main(["--check", saved.name, "other.onnx"])
    with pytest.raises(SystemExit):
        main(["--save", "gru_seq"])  # a model in the place of the file
