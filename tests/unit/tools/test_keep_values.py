"""`keep_values`: the same kernels, each with memory of its own for its results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from tests.onnx_models import onnx_model

MODEL = onnx_model(
    "g (float[N, 8] x, float[8, 8] w) => (float[N, 8] y)"
    " { a = MatMul(x, w) b = MatMul(a, w) y = MatMul(b, w) }"
)


def entries(folder: Path) -> set[str]:
    return {path.name for path in (folder / "cache").glob("*.kernel")}


def test_only_main_has_another_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled again with kept values, all kernels come from the cache, and nothing but `@main` is added."""
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path / "cache"))
    plain = stepwell.compile(MODEL)
    before = entries(tmp_path)
    kept = stepwell.compile(MODEL, keep_values=True)
    assert (
        kept.image.effort["cached kernels"] == kept.image.summary["kernels"] == plain.image.summary["kernels"]
    )
    assert entries(tmp_path) > before
    assert len(entries(tmp_path)) == len(before) + 1
    again = stepwell.compile(MODEL, keep_values=True)
    assert again.image.buffers == kept.image.buffers  # `@main` is from the cache
    assert len(entries(tmp_path)) == len(before) + 1


def test_buffers_are_apart_and_named() -> None:
    model = stepwell.compile(MODEL, keep_values=True)
    memory = [(b.value, b.memory, [str(dim) for dim in b.dims], b.dtype) for b in model.image.buffers]
    shape = ["N", "8"]
    assert memory == [(name, "arena", shape, "float32") for name in "ab"] + [
        ("y", "output", shape, "float32")
    ]
    starts = [b.offset.evaluate({"N": 3}) for b in model.image.buffers[:2]]
    assert abs(starts[0] - starts[1]) >= 3 * 8 * 4
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    np.testing.assert_array_equal(model(x, 2 * np.eye(8, dtype=np.float32)), 8 * x)
    assert stepwell.compile(MODEL).image.buffers == ()


def test_the_option_is_checked() -> None:
    with pytest.raises(StepwellError, match="keep_values must be one of True, False"):
        stepwell.compile(MODEL, keep_values=1)  # pyright: ignore[reportArgumentType]
