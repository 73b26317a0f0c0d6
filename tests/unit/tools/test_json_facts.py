"""`--json` of the commands: where it goes, and that it is alone there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from stepwell.tools import cli
from stepwell.tools.json_facts import facts_as_json, with_joined_places
from stepwell.tools.measure.calibrate import MachineLimits
from tests.commands import shown_error, written
from tests.onnx_models import onnx_model

Capture = pytest.CaptureFixture[str]


def model_of(folder: Path, model: ModelProto | None = None) -> Path:
    """A model of one node as a file."""
    text = "g (float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }"
    return written(folder / "net.onnx", model or onnx_model(text))


@pytest.mark.parametrize(
    ("given", "joined"),
    [
        (["run", "--json", "m.onnx"], ["run", "--json=-", "m.onnx"]),
        (["run", "--json", "f.json", "m.onnx"], ["run", "--json=f.json", "m.onnx"]),
        (["run", "m.onnx", "--json"], ["run", "m.onnx", "--json"]),
        (["run", "m.onnx", "--json", "-"], ["run", "m.onnx", "--json=-"]),
        (["run", "--json", "--check", "m.onnx"], ["run", "--json=-", "--check", "m.onnx"]),
        (["run", "--json=f.json", "m.onnx"], ["run", "--json=f.json", "m.onnx"]),
    ],
)
def test_a_model_is_no_place(given: list[str], joined: list[str]) -> None:
    assert with_joined_places(given) == joined


def facts(capsys: Capture, *arguments: object) -> dict[str, Any]:
    """What a command prints with `--json`, which is nothing else."""
    assert cli.main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_command(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = MachineLimits({1: 100.0}, {1: 10.0}, {1: 40.0})
    monkeypatch.setattr("stepwell.tools.measure.calibrate.machine_limits", lambda: limits)
    monkeypatch.setattr("stepwell.tools.measure.calibrate.kept_limits", lambda: limits)
    model, artifact = model_of(tmp_path), tmp_path / "net.stepwell"
    shape = {"name": "y", "shape": ["N", 4], "dtype": "float32", "type": "float32[N, 4]"}
    assert facts(capsys, "compile", model, "-o", artifact)["outputs"] == [shape]
    assert facts(capsys, "inspect", artifact)["outputs"] == [shape]
    assert facts(capsys, "inspect", model)["operators"] == [{"name": "Relu", "support": "native", "count": 1}]
    run = facts(capsys, "run", model, "--check", "--fill", "ones")
    assert run["outputs"][0] == {
        "name": "y", "dtype": "float32", "shape": [1, 4], "min": 1.0, "mean": 1.0, "max": 1.0
    }  # fmt: skip
    unit = {"allowed": 1e-4, "unit": "of the range"}
    assert run["check"] == [{"name": "y", "difference": 0.0, "ok": True, **unit}]
    assert run["peak"]["gflops"] == 100.0 and run["rows"]
    assert facts(capsys, "run", artifact, "--repeat", "3")["threads"]
    assert (
        facts(capsys, "bench", model, "--rounds", "1", "--against", "stepwell")["models"][0]["model"] == "net"
    )
    assert facts(capsys, "cache", "info")["kernels"]["max_bytes"] > 0
    assert facts(capsys, "calibrate", "--show")["limits"]["gflops"] == {"1": 100.0}


def test_a_file_gets_the_same(tmp_path: Path, capsys: Capture) -> None:
    model, place = model_of(tmp_path), tmp_path / "facts.json"
    assert cli.main(["inspect", "--json", str(place), str(model)]) == 0
    assert "operators:" in capsys.readouterr().out  # the text is printed as ever
    assert json.loads(place.read_text()) == facts(capsys, "inspect", model)


def test_places_that_cannot_be(tmp_path: Path, capsys: Capture) -> None:
    model = model_of(tmp_path)
    error = shown_error(capsys, cli.main, "inspect", model, "--json", tmp_path / "none" / "f.json")
    assert "error[cannot-write]" in error
    with pytest.raises(SystemExit):
        cli.main(["inspect", str(model), "--json=facts.txt"])
    assert "expected - or a name that ends in .json, found 'facts.txt'" in capsys.readouterr().err
    error = shown_error(capsys, cli.main, "compile", model, "--emit", "graph", "--json")
    assert "error[bad-option]" in error and "both want standard output" in error


def test_an_error_writes_nothing(tmp_path: Path, capsys: Capture) -> None:
    assert cli.main(["inspect", str(tmp_path / "none.onnx"), "--json", str(tmp_path / "f.json")]) == 1
    assert cli.main(["inspect", str(tmp_path / "none.onnx"), "--json"]) == 1
    assert not (tmp_path / "f.json").exists() and not capsys.readouterr().out


def test_values_that_json_lacks(capsys: Capture) -> None:
    with facts_as_json("-") as found:
        found |= {"a": float("nan"), "b": np.float64(0.5), "c": np.int64(3), "d": Path("m"), "e": (1, True)}
    assert json.loads(capsys.readouterr().out) == {"a": None, "b": 0.5, "c": 3, "d": "m", "e": [1, True]}
