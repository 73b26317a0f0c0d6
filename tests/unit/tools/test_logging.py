"""The logger `stepwell` at DEBUG: what a compilation does, what the caches gave, what was loaded."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import stepwell
from tests.commands import written
from tests.onnx_models import onnx_model


def test_a_compilation_and_what_is_loaded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path / "cache"))
    graph = "g (float[N, 4] x) => (float[N, 4] y) { y = Softmax(x) }"
    path = written(tmp_path / "m.onnx", onnx_model(graph))

    def reported(action: str) -> str:
        caplog.clear()
        with caplog.at_level(logging.DEBUG, "stepwell"):
            if action == "compile":
                stepwell.compile(path).save(tmp_path / "m.stepwell")
            elif action == "compile again":
                stepwell.compile(path.read_bytes())
            else:
                stepwell.load(tmp_path / "m.stepwell")
        assert all(record.name.startswith("stepwell.") for record in caplog.records)
        return "\n".join(caplog.messages)

    first = reported("compile")
    assert "the model is not in the cache" in first and "pipeline convert-onnx-to-graph" in first
    assert "pass fuse-ops: " in first and "pass vectorize: " in first
    assert "1 kernels, 0 of them in the cache" in first and " compiled: " in first
    again = reported("compile again")
    assert "1 kernels, 1 of them in the cache" in again and "@main is in the cache" in again
    assert " compiled: " not in again
    assert "the model is in the cache" in reported("compile")
    assert f"artifact {tmp_path / 'm.stepwell'} read: " in reported("load")


def test_nothing_is_said_by_default(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    stepwell.compile(onnx_model("g (float[4] x) => (float[4] y) { y = Relu(x) }"), use_cache=False)
    assert not caplog.records and capfd.readouterr() == ("", "")
