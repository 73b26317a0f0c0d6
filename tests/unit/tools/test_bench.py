"""The benchmark's own pieces: what a table says of the engines."""

from __future__ import annotations

import re
from importlib.metadata import version
from pathlib import Path

import pytest

from benchmarks.run import put_in, report, summary
from stepwell.runtime.rpc.interleaved import Ratio
from stepwell.tools import cli
from stepwell.tools.measure.bench import ModelResult
from stepwell.tools.measure.peers import ENGINES, installed_peers
from tests.commands import shown_error, written
from tests.onnx_models import onnx_model

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", ["stepwell", *installed_peers()])
def test_an_engine_is_found_in_the_package_index(name: str) -> None:
    # A package may bear another name than what it is imported by: iree, tvm.
    assert version(ENGINES[name].distribution)


def test_without_peers_the_command_says_how_to_get_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = written(tmp_path / "net.onnx", onnx_model("g (float[N] x) => (float[N] y) { y = Relu(x) }"))
    monkeypatch.setattr("stepwell.tools.commands.bench.installed_peers", lambda: list[str]())
    monkeypatch.setattr("stepwell.tools.measure.bench.onnxruntime_session", _not_installed)
    assert cli.main(["bench", str(model), "--rounds", "1"]) == 0
    printed = capsys.readouterr()
    assert "net" in printed.out and "ours, ms" in printed.out
    assert "peer" not in printed.out and "nan" not in printed.out
    assert "pip install 'stepwell[bench]'" in printed.err


def test_our_code_on_a_device(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    net = onnx_model("g (float[4, 8] x, float[8, 3] w) => (float[4, 3] y) { y = MatMul(x, w) }")
    model = written(tmp_path / "net.onnx", net)
    monkeypatch.setattr("stepwell.tools.commands.bench.installed_peers", lambda: list[str]())
    line = ["bench", str(model), "--rounds", "1", "--device"]
    assert cli.main([*line, "gpu-interpreter"]) == 0
    assert re.search(r"net: \d kernels in [\d.]+ ms, [\d.]+ GFLOP/s, 272 B copied", capsys.readouterr().out)
    error = shown_error(capsys, cli.main, *line, "gpu-interpreter", "--on", "rpc://localhost:1")
    assert "error[bad-option]: `--on` measures Stepwell alone" in error
    error = shown_error(capsys, cli.main, *line, "cuda:9")
    assert "error[no-device]: " in error


def _not_installed(*_: object, **__: object) -> object:
    raise ImportError


def test_a_peer_that_there_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    error = shown_error(capsys, cli.main, "bench", tmp_path / "m.onnx", "--against", "onnxruntim")
    assert "error[bad-option]: " in error and "did you mean onnxruntime?" in error


def test_a_report_names_versions_and_peers_that_failed() -> None:
    peers = installed_peers()
    result = ModelResult("net", 1, {"stepwell": 1.5}, failed={p: "failed: RuntimeError" for p in peers})
    text = report([result], peers)
    assert text.count("failed: RuntimeError") == len(peers)
    assert all(f"{p} {version(ENGINES[p].distribution)}" in text for p in ("stepwell", *peers))


def test_the_readme_shows_some_models_and_the_mean_of_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.run.conditions", lambda peers: "A machine.")
    results = [
        ModelResult(model, threads, {"stepwell": 1.5 * threads}, {"peer": Ratio(ratio, 1, 4)})
        for model, ratio in (("vit_tiny", 1), ("another", 4))
        for threads in (1, 2)
    ]
    text = summary(results, ["peer"])
    assert "| vit_tiny | 1.50 · 3.00 | 1.00 · 1.00 | 1.00 · 1.00 |" in text and "another" not in text
    assert "| **geometric mean of 2** | | **2.00** · **2.00** | **2.00** · **2.00** |" in text
    for name in ("README.md", "docs/benchmarks.md"):
        page = written(tmp_path / Path(name).name, (ROOT / name).read_text(encoding="utf-8"))
        put_in(page, text)
        assert "geometric mean of 2" in (once := page.read_text(encoding="utf-8"))
        put_in(page, text)
        assert page.read_text(encoding="utf-8") == once
