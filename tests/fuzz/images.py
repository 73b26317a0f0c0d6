"""Random nodes on images and signals: sampling, windows put together again, transforms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.fuzz.builder import GraphBuilder, Value
from tests.fuzz.layers import is_image, weights
from tests.fuzz.operators import Adder, ranked


def _image(value: Value) -> bool:
    return is_image(value) and value.dtype == "float32" and len(value.shape) == 4


def resize(g: GraphBuilder) -> None:
    """By scales, nearest or linear."""
    value = g.pick(lambda v: is_image(v) and v.dtype == "float32")
    scales = [1.0, 1.0, *(g.choice([2.0, 1.5, 0.5, 3.0]) for _ in value.shape[2:])]
    mode = g.choice(["nearest", "linear"])
    how = g.choice(["half_pixel", "asymmetric", "align_corners"])
    nearest = {"nearest_mode": g.choice(["floor", "round_prefer_floor"])} if mode == "nearest" else {}
    inputs = [value, None, g.constant(np.array(scales, np.float32))]
    g.node("Resize", inputs, mode=mode, coordinate_transformation_mode=how, **nearest)


def upsample(g: GraphBuilder) -> None:
    """The op before Resize (opset 9)."""
    value = g.pick(_image)
    scales = np.array([1, 1, g.integer(1, 3), g.integer(1, 2)], np.float32)
    g.node("Upsample", [value, g.constant(scales)], mode="nearest")


def grid_sample(g: GraphBuilder) -> None:
    """At places in and around the image; jumps of `nearest` are left to the node tests."""
    value = g.pick(_image)
    shape = [value.shape[0], g.integer(1, 3), g.integer(1, 4), 2]
    grid = g.constant(g.rng.uniform(-1.2, 1.2, shape).astype(np.float32))
    g.node(
        "GridSample",
        [value, grid],
        mode=g.choice(["linear", "cubic"]),
        padding_mode=g.choice(["zeros", "border", "reflection"]),
        align_corners=g.integer(0, 1),
    )


def affine_grid(g: GraphBuilder) -> None:
    """The places of a transformed image."""
    theta = g.pick(lambda v: v.dtype == "float32" and v.shape[1:] == (2, 3) and v.shape[0] < 5)
    g.node(
        "AffineGrid",
        [theta, g.ints(theta.shape[0], 1, g.integer(1, 4), g.integer(2, 4))],
        align_corners=g.integer(0, 1),
    )


def affine_from(g: GraphBuilder) -> None:
    """Matrices for the above, cut from a value."""
    value = g.pick(lambda v: v.dtype == "float32" and v.array.size >= 6 and v.array.ndim > 0)
    g.node("Reshape", [value, g.ints(-1)], exact=True)
    g.node("Slice", [g.values[-1], g.ints(0), g.ints(6)], exact=True)
    g.node("Reshape", [g.values[-1], g.ints(1, 2, 3)], exact=True)
    affine_grid(g)


def deformable(g: GraphBuilder) -> None:
    """A convolution at places that move."""
    value = g.pick(_image)
    kernel = [g.integer(1, min(2, n)) for n in value.shape[2:]]
    size = [n - k + 1 for n, k in zip(value.shape[2:], kernel, strict=True)]
    moves = weights(g, "float32", value.shape[0], 2 * kernel[0] * kernel[1], *size)
    g.node("DeformConv", [value, weights(g, "float32", 2, value.shape[1], *kernel), moves])


def regions(g: GraphBuilder) -> None:
    """Boxes of an image, read on a grid."""
    value = g.pick(_image)
    corners = np.sort(g.rng.uniform(0, max(value.shape[2:]), (2, 2, 2)), axis=1).reshape(2, 4)
    at = g.rng.integers(0, value.shape[0], 2)
    g.node(
        "RoiAlign",
        [value, g.constant(corners.astype(np.float32)), g.constant(at)],
        mode=g.choice(["avg", "max"]),
        output_height=g.integer(1, 3),
        output_width=g.integer(1, 3),
        sampling_ratio=g.integer(1, 2),
        coordinate_transformation_mode=g.choice(["half_pixel", "output_half_pixel"]),
    )


def columns(g: GraphBuilder) -> None:
    """Windows as columns, added up where they were."""
    rows, width, kernel = g.integer(3, 5), g.integer(3, 5), g.integer(1, 2)
    places = (rows - kernel + 1) * (width - kernel + 1)
    value = weights(g, "float32", g.integer(1, 2), 2 * kernel * kernel, places)
    g.node("Col2Im", [value, g.ints(rows, width), g.ints(kernel, kernel)])


def unpool(g: GraphBuilder) -> None:
    """The maxima back at their places."""
    value = g.pick(lambda v: _image(v) and v.exact and min(v.shape[2:]) >= 2)
    size: dict[str, Any] = {"kernel_shape": [2, 2], "strides": [2, 2]}
    g.node("MaxPool", [value], exact=True, outputs=2, **size)
    g.node("MaxUnpool", g.values[-2:], exact=True, **size)


def power_pool(g: GraphBuilder) -> None:
    """The norm of each window."""
    value = g.pick(lambda v: is_image(v) and v.dtype == "float32")
    kernel = [g.integer(1, min(3, n)) for n in value.shape[2:]]
    g.node("LpPool", [value], kernel_shape=kernel, strides=[1] * len(kernel), p=g.integer(1, 3))


def crop_or_pad(g: GraphBuilder) -> None:
    """Around the middle."""
    value = g.pick(ranked)
    sizes = [max(1, n + g.integer(-2, 3)) for n in value.shape]
    g.node("CenterCropPad", [value, g.ints(*sizes)], exact=True)


def determinant(g: GraphBuilder) -> None:
    """Of square matrices."""
    value = g.pick(lambda v: v.dtype == "float32" and len(v.shape) >= 2 and v.shape[-1] <= 5)
    g.node("Slice", [value, g.ints(0), g.ints(min(value.shape[-2:])), g.ints(-2)], exact=value.exact)
    g.node("Slice", [g.values[-1], g.ints(0), g.ints(min(value.shape[-2:])), g.ints(-1)], exact=value.exact)
    g.node("Det", [g.values[-1]])


def fourier(g: GraphBuilder) -> None:
    """Of real signals, one side or both."""
    value = g.pick(lambda v: v.dtype == "float32" and len(v.shape) == 2 and v.array.size > 0)
    g.node("Unsqueeze", [value, g.ints(-1)], exact=True)
    signal = g.values[-1]
    side = g.integer(0, 1)
    if g.opset >= 20:
        g.node("DFT", [signal, None, g.constant(np.array(1))], onesided=side, precision="float32")
    else:
        g.node("DFT", [signal], axis=1, onesided=side, precision="float32")


def short_fourier(g: GraphBuilder) -> None:
    """Of the frames of a signal, weighted by a window."""
    value = g.pick(lambda v: v.dtype == "float32" and len(v.shape) == 2 and v.shape[1] >= 8)
    step, window = g.constant(np.array(g.integer(1, 3))), weights(g, "float32", 4)
    g.node("Unsqueeze", [value, g.ints(-1)], exact=True)
    g.node("STFT", [g.values[-1], step, window], onesided=g.integer(0, 1), precision="float32")


def windows(g: GraphBuilder) -> None:
    """The functions that frames of a signal are weighted with, and its bands."""
    if g.chance(0.3):
        numbers = [g.constant(np.array(n)) for n in (g.integer(2, 5), 16, 8192)]
        edges = [g.constant(np.array(n, np.float32)) for n in (0, 4096)]
        g.node("MelWeightMatrix", [*numbers, *edges], precision="float32")
    else:
        op = g.choice(["HannWindow", "HammingWindow", "BlackmanWindow"])
        size = g.constant(np.array(g.integer(2, 9)))
        g.node(op, [size], periodic=g.integer(0, 1), precision="float32")


IMAGES: Mapping[Adder, float] = {
    resize: 0.7,
    upsample: 0.5,
    grid_sample: 0.5,
    affine_from: 0.3,
    deformable: 0.4,
    regions: 0.4,
    columns: 0.3,
    unpool: 0.5,
    power_pool: 0.5,
    crop_or_pad: 0.5,
    determinant: 0.4,
    fourier: 0.5,
    short_fourier: 0.4,
    windows: 0.3,
}
"""How often each is tried."""
