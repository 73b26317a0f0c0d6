"""Operators that are formulas of `graph` ops, against the reference evaluator, on more than onnx's cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.onnx_nodes import check_node

RNG = np.random.default_rng(8)


def test_det_exchanges_rows() -> None:
    """Zeros on the diagonal, a batch of two, one of them singular."""
    x = RNG.standard_normal((2, 3, 4, 4)).astype(np.float32)
    x[0, :, 0, 0] = 0
    x[1, 2, 1] = x[1, 2, 3]
    check_node("Det", [x], opset=22, tolerance=1e-4)


def test_col2im_adds_overlaps() -> None:
    """Blocks that overlap, with strides, dilations and pads of different sizes a side."""
    x = RNG.standard_normal((2, 18, 9)).astype(np.float32)
    shape, block = np.array([5, 8]), np.array([2, 3])
    check_node(
        "Col2Im", [x, shape, block], strides=[2, 3], dilations=[1, 2], pads=[1, 0, 0, 3], tolerance=1e-5
    )


@pytest.mark.parametrize("mode", ["avg", "max"])
def test_roi_align(mode: str) -> None:
    """Regions that leave the image, two images, half-pixel coordinates."""
    x = RNG.standard_normal((2, 3, 7, 9)).astype(np.float32)
    rois = np.array([[-3, 1, 5.5, 6], [2, 2, 12, 9], [0, 0, 1, 1]], np.float32)
    inputs = [x, rois, np.array([1, 0, 1])]
    check_node(
        "RoiAlign", inputs, mode=mode, output_height=2, output_width=3, sampling_ratio=2, tolerance=1e-5
    )


def test_deform_conv() -> None:
    """Groups of channels and of offsets, strides, dilations, pads and a mask."""
    x = RNG.standard_normal((2, 4, 6, 7)).astype(np.float32)
    w = RNG.standard_normal((4, 2, 2, 3)).astype(np.float32)
    offset = RNG.uniform(-2, 2, (2, 2 * 6 * 2, 3, 5)).astype(np.float32)
    mask = RNG.uniform(0, 1, (2, 2 * 6, 3, 5)).astype(np.float32)
    bias = np.arange(4, dtype=np.float32)
    window: dict[str, Any] = {"strides": [2, 1], "dilations": [2, 2], "pads": [1, 1, 1, 1]}
    inputs = [x, w, offset, bias, mask]
    check_node("DeformConv", inputs, opset=22, tolerance=1e-4, group=2, offset_group=2, **window)


@pytest.mark.parametrize("align_corners", [0, 1])
def test_affine_grid(align_corners: int) -> None:
    """Two matrices, sides of different size."""
    theta = RNG.standard_normal((2, 2, 3)).astype(np.float32)
    check_node("AffineGrid", [theta, np.array([2, 3, 4, 5])], align_corners=align_corners, tolerance=1e-5)
