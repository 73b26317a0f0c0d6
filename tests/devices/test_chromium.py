"""WGSL in a browser: the same text as on drivers, by a stricter compiler."""

import shutil
from base64 import b64encode
from pathlib import Path

import pytest

from tests.devices.test_models import REQUIRED
from tests.support.devices.chromium import Chromium
from tests.support.devices.gpu_models import agree, small_model

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Chromium:
    """The browser."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        assert not REQUIRED, "no Chromium: apt-get install chromium"
        pytest.skip("no Chromium")
    return Chromium(program, tmp_path_factory.mktemp("chromium"))


@pytest.mark.parametrize("name", ["softmax", "product", "elementwise", "bytes", "positions"])
def test_small_models(name: str, tmp_path: Path, chromium: Chromium) -> None:
    agree(*small_model(name, tmp_path), chromium.launcher)


def test_a_barrier_that_some_threads_reach_is_refused(chromium: Chromium) -> None:
    code = """
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(32)
fn k(@builtin(local_invocation_id) thread: vec3<u32>) {
  if (thread.x < 16u) { workgroupBarrier(); }
  y[thread.x] = 1.0;
}"""
    zeros = b64encode(bytes(128)).decode()
    job = {"code": code, "entry": "k", "grid": [1, 1, 1], "buffers": [zeros], "uniform": ""}
    assert "uniform" in chromium.result(job)["error"]
