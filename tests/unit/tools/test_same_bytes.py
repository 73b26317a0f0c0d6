"""One model with one set of options is the same artifact, byte for byte, whenever it is compiled."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

import stepwell
from stepwell.tools import cli
from stepwell.tools.driver.options import CompileOptions
from tests.commands import Capture
from tests.onnx_models import onnx_model
from tests.support.samples import whole

BODY = """g (float[N, 3, 8, 8] x, float[4, 3, 3, 3] w) => (float[N, 4] p, int64[2, K] n) {
  c = Conv <pads = [1, 1, 1, 1]> (x, w)
  r = Relu(c)
  a = GlobalAveragePool(r)
  f = Flatten(a)
  p = Softmax(f)
  n = NonZero(f)
}"""
"""Several kernels, symbols, a size that depends on data."""


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The artifact that this process compiles without the cache."""
    folder = tmp_path_factory.mktemp("artifact")
    onnx.save(onnx_model(BODY), folder / "m.onnx")
    stepwell.compile(folder / "m.onnx", use_cache=False).save(folder / "m.stepwell")
    return (folder / "m.stepwell").read_bytes()


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path / "cache"))
    onnx.save(onnx_model(BODY), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


@whole
def test_with_and_without_the_cache(model: Path, artifact: bytes) -> None:
    """Without; into the caches of kernels and models; out of that of models; without, in one process."""
    plain = CompileOptions()
    for number, options in enumerate([plain, plain, CompileOptions(use_cache=False, processes=1)]):
        place = model.with_name(f"{number}.stepwell")
        stepwell.compile(model, options).save(place)
        assert place.read_bytes() == artifact


@whole
def test_under_another_hash_seed(model: Path, artifact: bytes) -> None:
    """In a new process, with other hashes of strings than this one has."""
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    command = [sys.executable, "-m", "stepwell", "compile", "m.onnx", "--no-cache", "-o", "m.stepwell"]
    environment = os.environ | {"PYTHONHASHSEED": seed}
    subprocess.run(command, cwd=model.parent, env=environment, check=True, capture_output=True)
    assert model.with_name("m.stepwell").read_bytes() == artifact


def test_times_are_shown_and_not_stored(model: Path, capsys: Capture) -> None:
    place = model.with_name("m.stepwell")
    assert cli.main(["compile", str(model), "-o", str(place), "--no-cache"]) == 0
    printed = capsys.readouterr().err
    assert "(0 from the cache)" in printed and "; " in printed and " s in all" in printed
    assert cli.main(["inspect", str(place)]) == 0
    printed = capsys.readouterr().out
    assert "kernels: " in printed and "arena bytes: " in printed and "seconds" not in printed
