"""The benchmark of the first answer: its parts add up, for us and for a peer."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks import first_answer, fresh
from benchmarks.zoo import Input, Model
from tests.commands import written
from tests.onnx_models import onnx_model

PARTS = ("imports", "reading", "conversion", "run")


@pytest.mark.sample(9)
@pytest.mark.parametrize("engine", ["stepwell", "start=now", "onnxruntime"])
def test_the_parts_are_the_whole(engine: str, tmp_path: Path) -> None:
    if engine == "onnxruntime":
        pytest.importorskip(engine)
    path = written(tmp_path / "net.onnx", onnx_model("g (float[2] x) => (float[2] y) { y = Relu(x) }"))
    figures = first_answer.first_answer(path, Model("net", {"x": Input("float32", (2,))}), engine, 1)
    assert all(figures[part] >= 0 for part in PARTS)
    assert sum(figures[part] for part in PARTS) == pytest.approx(figures["first answer"])
    assert figures["megabytes"] > 1 and figures["processor"] > 0
    assert (figures["full code"] > 0) == (engine != "onnxruntime")
    rows = first_answer.mean_rows({"net": {engine: figures}}, [engine])
    assert f"{figures['first answer']:.2f}" in rows[0]


def test_a_program_that_fails_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        fresh.run_fresh("raise SystemExit(3)", cache=str(tmp_path))


def test_a_folder_without_bytecode_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fresh.os, "access", lambda *_: False)
    assert "cannot be written" in fresh.bytecode_note()
    monkeypatch.setattr(fresh.os, "access", lambda *_: True)
    assert fresh.bytecode_note() == ""
