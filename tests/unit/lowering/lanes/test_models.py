"""Models whose kernels are mapped to a GPU naively: on the interpreter with all checks, against level 2."""

from pathlib import Path

import numpy as np
import pytest

from tests.support.devices.gpu_models import MODELS, agree, small_model
from tests.support.imports import ROOT


def test_a_trained_model_runs_whole() -> None:
    inputs = np.random.default_rng(5).standard_normal((5, 64), np.float32)
    module = agree(ROOT / "examples/digits.onnx", [inputs])
    assert sum(op.name == "gpu.launch_func" for op in module.walk()) == 13


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", MODELS)
def test_small_models(name: str, tmp_path: Path) -> None:
    agree(*small_model(name, tmp_path))
