"""Ranges, scales and zero points of activations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.dialects.quantization.ranges import BINS, Calibration, Range, Statistics, activation_scale
from stepwell.runtime.errors import StepwellError
from tests.support.samples import examples


@pytest.mark.parametrize(
    ("lo", "hi", "scale", "zero"),
    [(-1.0, 3.0, 0.015686275, 64), (0.5, 2.0, 2 / 255, 0), (0.0, 0.0, 1.0, 0), (-2.0, -1.0, 2 / 255, 255)],
)
def test_unsigned_scales_reach_over_zero(lo: float, hi: float, scale: float, zero: int) -> None:
    found = activation_scale(Range(lo, hi))
    assert found[0] == np.float32(scale)
    assert found[1].dtype == np.uint8 and int(found[1]) == zero


def test_signed_scales_are_symmetric() -> None:
    scale, zero = activation_scale(Range(-1.0, 3.0), is_unsigned=False)
    assert scale == np.float32(3 / 127)
    assert zero.dtype == np.int8 and int(zero) == 0


def test_global_needs_no_statistics() -> None:
    scale, zero = Calibration("global").scale_of(Statistics(0.0, 0.0))
    assert scale == 0.0625
    assert int(zero) == 128


@given(st.lists(st.floats(-(2.0**99), 2.0**99, width=32), min_size=1, max_size=30))
@examples(60)
def test_quantized_numbers_are_within_half_a_step(numbers: list[float]) -> None:
    x = np.array(numbers, np.float64)
    scale, zero = activation_scale(Range(x.min(), x.max()))
    codes = np.clip(np.rint(x / float(scale)) + int(zero), 0, 255)
    error = np.abs((codes - int(zero)) * float(scale) - x)
    # The zero point is rounded too, so numbers at an end may be clipped by half of a step.
    assert (error <= 1.001 * float(scale)).all()
    inside = (codes > 0) & (codes < 255)
    assert (error[inside] <= 0.5001 * float(scale)).all()


def _normal() -> Statistics:
    x = np.random.default_rng(0).standard_normal(100_000)
    x[0] = 50.0
    counts, _ = np.histogram(x, BINS, (x.min(), x.max()))
    return Statistics(float(x.min()), float(x.max()), float(x.mean()), tuple(int(c) for c in counts))


@pytest.mark.parametrize(("method", "most"), [("percentile", 4.5), ("entropy", 25.0), ("mse", 45.0)])
def test_histograms_cut_an_outlier(method: str, most: float) -> None:
    found = Calibration(method).range_of(_normal())
    assert found.lo < -2.5
    assert 2.5 < found.hi < most


def test_percentile_is_linear_inside_a_bin() -> None:
    counts = (0,) * 2 + (1000,) + (0,) * 3
    found = Calibration("percentile", percentile=80.0).range_of(Statistics(0.0, 6.0, 2.5, counts))
    assert found == pytest.approx((2.1, 2.9))
    assert Calibration("percentile", percentile=100.0).range_of(_normal()).hi == 50.0


@pytest.mark.parametrize("method", ["percentile", "entropy", "mse"])
def test_zeros_have_a_range(method: str) -> None:
    scale, zero = Calibration(method).scale_of(Statistics(0.0, 0.0, 0.0, (0,) * BINS))
    assert (float(scale), int(zero)) == (1.0, 0)


def test_a_method_that_is_not_there() -> None:
    for bad in (Calibration("median"), Calibration(percentile=50.0), Calibration(global_scale=-1.0)):
        with pytest.raises(StepwellError) as caught:
            bad.check()
        assert caught.value.code == "bad-option"
