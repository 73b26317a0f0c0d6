"""WGSL of whole models on a real implementation: wgpu, with lavapipe where there is no GPU."""

import os
from pathlib import Path

import numpy as np
import pytest

from tests.support.devices.gpu_models import MODELS, agree, small_model
from tests.support.devices.shaders import Gpu
from tests.support.imports import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def gpu(tmp_path_factory: pytest.TempPathFactory) -> Gpu:
    """The device."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
    return Gpu()


@pytest.mark.parametrize("name", MODELS)
def test_small_models(name: str, tmp_path: Path, gpu: Gpu) -> None:
    agree(*small_model(name, tmp_path), gpu.launcher)


def test_a_trained_model(gpu: Gpu) -> None:
    inputs = np.random.default_rng(5).standard_normal((5, 64), np.float32)
    agree(ROOT / "examples/digits.onnx", [inputs], gpu.launcher)
