"""The example for Ray Serve, where Ray is installed: a model behind its proxy."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import onnx.parser
import pytest

import stepwell

pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).parents[2] / "examples" / "ray_serve.py"
RELU = '<ir_version: 8, opset_import: ["" : 18]> g (float[N] x) => (float[N] y) { y = Relu (x) }'
_SECONDS = 180


def test_the_example_serves_a_model(tmp_path: Path) -> None:
    pytest.importorskip("ray.serve", reason="ray[serve] is not installed")
    stepwell.compile(onnx.parser.parse_model(RELU)).save(tmp_path / "relu.stepwell")
    command = [sys.executable, str(EXAMPLE), str(tmp_path / "relu.stepwell")]
    with subprocess.Popen(command) as server:
        try:
            end = time.monotonic() + _SECONDS
            about = None
            while about is None and time.monotonic() < end and server.poll() is None:
                time.sleep(1)
                with suppress(URLError, OSError):
                    about = json.load(urlopen("http://127.0.0.1:8000/v2/models/relu", timeout=5))
            assert about is not None and about["inputs"][0]["datatype"] == "FP32"
        finally:
            server.terminate()


def test_the_example_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    from examples import ray_serve

    assert ray_serve.main(["m.stepwell"]) == 1
    assert "pip install 'ray[serve]'" in capsys.readouterr().err
