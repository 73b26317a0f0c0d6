"""`GridSample` → `graph`, against the reference evaluator, with coordinates inside and far outside."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.onnx_nodes import check_node


@pytest.mark.sample(6)
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [0, 1])
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_grid_sample(mode: str, align_corners: int, padding_mode: str) -> None:
    """Two images of different size a side, two channels, a grid that leaves the image."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((2, 2, 4, 5)).astype(np.float32)
    grid = rng.uniform(-1.4, 1.4, (2, 3, 2, 2)).astype(np.float32)
    check_node(
        "GridSample",
        [x, grid],
        names={1: ["N", "H", "W", 2]},
        mode=mode,
        align_corners=align_corners,
        padding_mode=padding_mode,
        tolerance=1e-5,
    )


def test_not_a_number_reads_inside() -> None:
    """NaN and infinite coordinates give some number, and read no memory that is not the image's."""
    x = np.ones((1, 1, 2, 2), np.float32)
    grid = np.array([[[[np.nan, 0.0], [np.inf, -np.inf]]]], np.float32)
    expected = [np.ones((1, 1, 1, 2), np.float32)]
    check_node("GridSample", [x, grid], padding_mode="border", expected=expected, tolerance=1e-5)
