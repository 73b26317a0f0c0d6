"""The measure of difference, and the difference that passes of a class may make."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.passes.base import Numerics
from stepwell.runtime.interface import Array
from stepwell.tools.check.differences import allowed_difference, allowed_of_model, relative_difference

F32 = np.float32
INFINITE = float("inf")


def f32(*values: float) -> Array:
    return np.array(values, F32)


@pytest.mark.parametrize(
    ("found", "wanted", "difference"),
    [
        (f32(0, 11), f32(0, 10), 0.1),
        (f32(-10, 11), f32(-10, 10), 0.05),  # the range, not the largest
        (f32(100, 100.5), f32(100, 100), 0.5 / (100 / 64)),  # a range of nothing: a share of the largest
        (f32(0, 0.5), f32(0, 0), 0.5),
        (f32(101), f32(100), 0.01),  # one number has no range
        (f32(1, 2), f32(1, 2, 3), INFINITE),
        (f32(1, np.nan), f32(1, np.nan), 0.0),
        (f32(1, np.nan), f32(1, 2), INFINITE),
        (f32(1, 2), f32(1, np.inf), INFINITE),
        (f32(1, -np.inf), f32(1, np.inf), INFINITE),
        (f32(), f32(), 0.0),
        (np.array([3, 250], np.uint8), np.array([5, 250], np.uint8), 2),
        (np.array([-128], np.int8), np.array([127], np.int8), 255),  # no overflow
        (np.array([-(2**63)]), np.array([2**63 - 1]), float(2**64)),
        (np.array([True, False]), np.array([True, True]), 1),
        (np.array(["a", "b"], object), np.array(["a", "b"], object), 0.0),
        (np.array(["a", "c"], object), np.array(["a", "b"], object), INFINITE),
        (np.array([1 + 2j]), np.array([1 + 1j]), 1 / abs(1 + 1j)),
    ],
)
def test_relative_difference(found: Array, wanted: Array, difference: float) -> None:
    assert relative_difference(found, wanted) == pytest.approx(difference)


def test_almost_equal_values_may_round() -> None:
    """Values near one half in a range of 1e-6: the roundings of their last digits are no difference."""
    wanted = (0.5 + np.linspace(0, 1e-6, 50)).astype(F32)
    found = np.nextafter(np.nextafter(wanted, F32(1)), F32(1))
    assert relative_difference(found, wanted) == 0.0
    assert relative_difference(found, wanted, Numerics.EXACT) > 0
    assert relative_difference(wanted + F32(1e-5), wanted) > allowed_difference(np.dtype(F32))


def test_approximate_passes_may_compute_in_another_type() -> None:
    """An error of 100 in 1,100 is all of the range, and an eleventh of the largest."""
    assert relative_difference(f32(1000, 1000), f32(1000, 1100)) == pytest.approx(1 / 1)
    approximate = relative_difference(f32(1000, 1000), f32(1000, 1100), Numerics.APPROXIMATE)
    assert approximate == pytest.approx(1 / 11)


@given(st.integers(1, 12), st.sampled_from([np.float32, np.float64, np.float16]))
def test_four_units_in_the_last_place(units: int, dtype: type[np.floating]) -> None:
    """Below 4 units in the last place of the largest value there is no difference, from 4 on there is."""
    wanted = np.array([1, -2], dtype)
    found = wanted - np.array([0, units * np.spacing(dtype(2))], dtype)
    assert (relative_difference(found, wanted) == 0.0) == (units < 4)


def test_allowed_differences() -> None:
    f32, u8 = np.dtype(F32), np.dtype(np.uint8)
    assert allowed_difference(f32, Numerics.EXACT) == 0
    assert allowed_difference(f32) < allowed_of_model(f32) < allowed_difference(f32, Numerics.APPROXIMATE)
    assert allowed_difference(u8) == allowed_of_model(u8) == 0
    assert allowed_difference(u8, Numerics.QUANTIZED) == allowed_of_model(u8, quantized=True) == 1
    assert allowed_difference(np.dtype(bool), Numerics.QUANTIZED) == 0
