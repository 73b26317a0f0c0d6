"""Quotients that are rounded on: no reciprocal takes the place of a division."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stepwell
from tests.onnx_models import onnx_model, run

SIZES = (41, 49, 82, 97)
"""Numbers whose reciprocals, times themselves, are not 1: the first in f32, the second in f64."""


@pytest.mark.parametrize(("element", "level"), [("float", 2), ("double", 0)])
def test_positions_by_division(element: str, level: int) -> None:
    """Rows of indices: divided by one number of the call, by one of the model, and what is left over."""
    model = onnx_model(f"""
        g ({element}[64] x, {element} s) => ({element}[64] row, int64[64] fixed, {element}[64] rest)
        <{element} c = {{41}}> {{
          d = Div(x, s) row = Floor(d) e = Div(x, c) fixed = Cast<to = 7>(e) rest = Mod<fmod = 1>(x, s)
        }}
    """)
    dtype = np.float32 if element == "float" else np.float64
    compiled: Any = stepwell.compile(model, opt_level=level)
    for size in SIZES:
        x = (np.arange(64) * size).astype(dtype)
        row, fixed, rest = compiled(x, np.array(size, dtype))
        np.testing.assert_array_equal(row, np.arange(64))
        np.testing.assert_array_equal(fixed, (x / dtype(41)).astype(np.int64))
        np.testing.assert_array_equal(rest, np.zeros(64))


def test_nearest_pixels_of_two_axes() -> None:
    """12 to 22 columns: the coordinate of column 5 is 2.5, from which pixel 2 is taken."""
    model = onnx_model(
        """
        g (float[1, 1, 12, 12] x) => (float[1, 1, 5, 22] y) <int64[4] shape = {1, 1, 5, 22}> {
          y = Resize<coordinate_transformation_mode = "pytorch_half_pixel", mode = "nearest",
                     nearest_mode = "round_prefer_floor">(x, "", "", shape)
        }
        """,
        opset=19,
    )
    x = np.arange(144, dtype=np.float32).reshape(1, 1, 12, 12)
    np.testing.assert_array_equal(stepwell.compile(model)(x), run(model, {"x": x})[0])
