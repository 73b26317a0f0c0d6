"""Codes of weights: bytes of channels, and blocks of 4 bits by ONNX Runtime's formulas."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from stepwell.dialects.quantization.codes import codes_of, weight_scales
from stepwell.dialects.quantization.plan import PlanEntry

Floats = npt.NDArray[np.float32]


def _entry(weight: Floats, to: str, axis: int, block: int = 0, method: str = "rtn") -> PlanEntry:
    found = weight_scales(weight, to, axis, block=block, method=method)
    zero = () if found.zero_point is None else [int(z) for z in found.zero_point.ravel()]
    return PlanEntry("n", "1", "weight", to, found.scale.ravel().tolist(), zero, axis, block)


def _numbers(weight: Floats, entry: PlanEntry) -> Floats:
    """The numbers that the codes of a weight stand for."""
    codes, zero = codes_of(weight, entry).astype(np.float32), entry.zero_points(weight.shape)
    if zero is not None:
        codes = codes - entry.spread(zero.astype(np.float32), weight.shape)
    return codes * entry.spread(entry.scales(weight.shape), weight.shape)


def test_channels() -> None:
    weight = np.array([[0.5, 0.0], [-1.27, 0.0]], np.float32)
    entry = _entry(weight, "s8", 1)
    assert entry.scale == pytest.approx([0.01, 1.0])
    assert codes_of(weight, entry).tolist() == [[50, 0], [-127, 0]]


def test_symmetric_blocks() -> None:
    weight = np.arange(-8, 8, dtype=np.float32)[None]
    entry = _entry(weight, "s4", 1, 16)
    assert entry.scale == [1.0]
    assert codes_of(weight, entry).astype(int).tolist() == [list(range(-8, 8))]
    rising = np.linspace(0.5, 16, 32, dtype=np.float32)[None]
    entry = _entry(rising, "s4", 1, 32)
    assert entry.scale == [-2.0]
    assert codes_of(rising, entry).astype(int)[0, :4].tolist() == [0, 0, -1, -1]


def test_asymmetric_blocks() -> None:
    rising = np.linspace(0.5, 16, 32, dtype=np.float32)[None]
    entry = _entry(rising, "u4", 1, 32)
    assert entry.scale == pytest.approx([16 / 15])
    assert entry.zero_point == [0]
    assert codes_of(rising, entry).astype(int)[0, :5].tolist() == [0, 1, 1, 2, 2]


@pytest.mark.parametrize("to", ["u4", "s4"])
def test_zeros(to: str) -> None:
    weight = np.zeros((2, 32), np.float32)
    entry = _entry(weight, to, 1, 32)
    assert entry.scale == [0.0, 0.0]
    assert not _numbers(weight, entry).any()


@pytest.mark.parametrize("to", ["u4", "s4"])
@pytest.mark.parametrize("axis", [0, 1])
def test_a_short_last_block(to: str, axis: int) -> None:
    weight = np.random.default_rng(0).standard_normal((80, 3) if axis == 0 else (3, 80)).astype(np.float32)
    entry = _entry(weight, to, axis, 32)
    assert entry.scales(weight.shape).shape == ((3, 3))
    along = np.moveaxis(weight, axis, -1)
    for block in range(3):
        part = np.ascontiguousarray(along[:, 32 * block : 32 * (block + 1)])
        alone = _numbers(part, _entry(part, to, 1, 32))
        assert np.array_equal(np.moveaxis(_numbers(weight, entry), axis, -1)[:, 32 * block :][:, :32], alone)


@pytest.mark.parametrize(("to", "block"), [("s8", 0), ("u4", 32), ("s4", 32)])
def test_least_error_is_no_worse_than_rounding(to: str, block: int) -> None:
    weight = np.random.default_rng(1).standard_t(3, (16, 64)).astype(np.float32)
    axis = 1 if block else 0
    rounded, best = (
        np.square(_numbers(weight, _entry(weight, to, axis, block, method)) - weight)
        .reshape(16, -1, 32)
        .sum(-1)
        for method in ("rtn", "mse")
    )
    assert (best <= rounded * 1.0001).all()
    assert not block or best.sum() < 0.97 * rounded.sum()
