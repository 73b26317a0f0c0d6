"""WGSL in a browser: the same text as on drivers, by a stricter compiler."""

import shutil
from base64 import b64encode
from pathlib import Path

import numpy as np
import pytest

from tests.devices.test_models import REQUIRED
from tests.support.devices.chromium import Chromium
from tests.support.devices.gpu_kernels import kernel_module
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


def test_reductions_over_subgroups(chromium: Chromium) -> None:
    """The standard asks for the directive that the compiler of wgpu refuses."""
    body = """%t = gpu.thread_id x
    %v = memref.load %x[%t] : memref<64xf32>
    %sum = gpu.subgroup_reduce add %v : (f32) -> f32
    %most = gpu.subgroup_reduce maximumf %v : (f32) -> f32
    %n = gpu.subgroup_size : index
    %i = arith.index_cast %n : index to i32
    %f = arith.sitofp %i : i32 to f32
    %mean = arith.divf %sum, %f : f32
    memref.store %mean, %y[%t] : memref<64xf32>
    memref.store %most, %z[%t] : memref<64xf32>"""
    module = kernel_module(body, ", ".join(f"%{name}: memref<64xf32>" for name in "xyz"), threads=64)
    launch = chromium.launcher(module, "webgpu{features=subgroups}")
    function = next(op for op in module.walk() if op.name == "gpu.func")
    x, y, z = (np.full(64, number, np.float32) for number in (2, 0, 0))
    launch(function, (1, 1, 1), [x, y, z])
    assert (y == 2).all() and (z == 2).all()
    x[:] = np.nan
    launch(function, (1, 1, 1), [x, y, z])
    assert np.isnan(z).all()


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
