"""Random nodes of layers: products, convolutions, windows, normalizations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.fuzz.builder import GraphBuilder, Value
from tests.fuzz.operators import Adder, is_float, ranked

_WORST_CONDITION = 100
"""Results are not compared where an error of the operand can grow more than that."""


def weights(g: GraphBuilder, dtype: str, *shape: int) -> Value:
    """A small constant: sums of products stay small."""
    return g.constant((g.rng.normal(0, 0.5, shape)).astype(dtype))


def matmul(g: GraphBuilder) -> None:
    """With a constant, or with a value that fits."""
    value = g.pick(lambda v: is_float(v) and ranked(v))
    depth = value.shape[-1]
    others = [v for v in g.values if v.dtype == value.dtype and len(v.shape) >= 2 and v.shape[-2] == depth]
    if others and g.chance(0.4):
        g.node("MatMul", [value, g.choice(others)])
    else:
        batch = value.shape[:-2] if g.chance(0.2) else ()
        g.node("MatMul", [value, weights(g, value.dtype, *batch, depth, g.integer(1, 9))])


def gemm(g: GraphBuilder) -> None:
    """All flags and factors."""
    value = g.pick(lambda v: v.dtype in ("float32", "float64") and len(v.shape) == 2)
    from_a, from_b = g.integer(0, 1), g.integer(0, 1)
    depth, rows = value.shape if from_a else value.shape[::-1]
    columns = g.integer(1, 8)
    b = weights(g, value.dtype, *((columns, depth) if from_b else (depth, columns)))
    added = [weights(g, value.dtype, columns), weights(g, value.dtype, rows, 1)]
    c = g.choice([None, *added] if g.opset >= 11 else added)
    g.node(
        "Gemm",
        [value, b, c],
        transA=from_a,
        transB=from_b,
        alpha=g.choice([1.0, 0.5]),
        beta=g.choice([1.0, 2.0]),
    )


def einsum(g: GraphBuilder) -> None:
    """A few equations."""
    value = g.pick(lambda v: is_float(v) and len(v.shape) in (2, 3))
    if len(value.shape) == 2:
        equation, other = g.choice(["ij,jk->ik", "ij,kj->ki", "ij,j->i"]), value.shape[1]
        shape = {"jk": (other, 3), "kj": (3, other), "j": (other,)}[equation.split(",")[1].split("->")[0]]
    else:
        equation, shape = "bij,bjk->bik", (value.shape[0], value.shape[2], 4)
    g.node("Einsum", [value, weights(g, value.dtype, *shape)], equation=equation)


def window(g: GraphBuilder, value: Value) -> dict[str, Any]:
    """Attributes of a window that fits."""
    spatial = value.shape[2:]
    kernel = [g.integer(1, min(3, n)) for n in spatial]
    attributes: dict[str, Any] = {"kernel_shape": kernel, "strides": [g.integer(1, 2) for _ in spatial]}
    if g.chance(0.2):
        attributes["auto_pad"] = g.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif g.chance(0.5):
        attributes["pads"] = [g.integer(0, k - 1) for k in kernel * 2]
    if g.chance(0.2) and all(n >= 2 * k for n, k in zip(spatial, kernel, strict=True)):
        attributes["dilations"] = [2] * len(spatial)
    return attributes


def is_image(value: Value) -> bool:
    """A batch of channels of one or two dimensions."""
    return is_float(value) and len(value.shape) in (3, 4) and value.array.size > 0


def conv(g: GraphBuilder) -> None:
    """Any groups, depthwise too, with or without bias."""
    value = g.pick(is_image)
    channels = value.shape[1]
    groups = g.choice([n for n in (1, 1, 2, channels) if channels % n == 0])
    filters = groups * g.integer(1, 4)
    attributes = window(g, value)
    w = weights(g, value.dtype, filters, channels // groups, *attributes["kernel_shape"])
    bias = [weights(g, value.dtype, filters)] if g.chance(0.5) else []
    g.node("Conv", [value, w, *bias], group=groups, **attributes)
    if g.chance(0.5):
        g.node("Relu", [g.values[-1]])


def conv_transpose(g: GraphBuilder) -> None:
    """Strides and pads."""
    value = g.pick(lambda v: is_image(v) and v.dtype == "float32")
    kernel = [g.integer(1, 3) for _ in value.shape[2:]]
    w = weights(g, value.dtype, value.shape[1], g.integer(1, 3), *kernel)
    g.node("ConvTranspose", [value, w], strides=[g.integer(1, 2) for _ in kernel])


def pool(g: GraphBuilder) -> None:
    """Maxima and means, of windows and of all."""
    value = g.pick(lambda v: is_image(v) and v.dtype in ("float32", "float64"))
    if g.chance(0.3):
        # The reference reduces another axis as well where there is one dimension only.
        g.node(g.choice(["GlobalAveragePool", "GlobalMaxPool"][: len(value.shape) - 2]), [value])
        return
    attributes = window(g, value)
    attributes.pop("auto_pad", None)  # the reference counts the pads of SAME wrongly
    if "pads" in attributes:  # the reference has another size where they differ
        attributes["pads"] = attributes["pads"][: len(value.shape) - 2] * 2
    if g.chance(0.5):
        g.node("MaxPool", [value], exact=True, **attributes)
    else:
        attributes.pop("dilations", None)
        g.node("AveragePool", [value], count_include_pad=g.integer(0, 1), **attributes)


def row_norm(g: GraphBuilder) -> None:
    """Layer normalization from any axis on."""
    value = g.pick(lambda v: is_float(v) and ranked(v))
    axis = g.integer(0, len(value.shape) - 1)
    if int(np.prod(value.shape[axis:])) < 3:
        return  # the variance of so few is mostly rounding
    scale, bias = (weights(g, value.dtype, *value.shape[axis:]) for _ in range(2))
    g.node(
        "LayerNormalization",
        [value, scale, *([bias] if g.chance(0.7) else [])],
        axis=axis,
        epsilon=0.01,
        precision="float32",
    )


def channel_norm(g: GraphBuilder) -> None:
    """By channels: batch, instance, lp and response normalization."""
    value = g.pick(lambda v: is_image(v) and v.dtype == "float32")
    channels = value.shape[1]
    match g.integer(0, 5):
        case 0:
            numbers = [weights(g, "float32", channels) for _ in range(3)]
            variance = g.constant(g.rng.uniform(0.5, 2, channels).astype(np.float32))
            g.node("BatchNormalization", [value, *numbers, variance])
        case 1:
            numbers = [weights(g, "float32", channels) for _ in range(2)]
            g.node("InstanceNormalization", [value, *numbers], epsilon=0.1)
        case 2:
            g.node("LRN", [value], size=3)
        case 3:
            g.node("LpNormalization", [value], axis=g.integer(-1, 1), p=g.integer(1, 2))
        case 4:
            groups = g.choice([n for n in (1, 2, 4, channels) if channels % n == 0])
            numbers = [weights(g, "float32", channels) for _ in range(2)]
            g.node("GroupNormalization", [value, *numbers], num_groups=groups, epsilon=0.1)
        case _:
            axes = (0, *range(2, len(value.shape)))
            if _is_steady(value, axes):
                g.node("MeanVarianceNormalization", [value], axes=axes)


def _is_steady(value: Value, axes: tuple[int, ...]) -> bool:
    """
    Whether the variance is more than rounding: the op takes it as E(x^2) - E(x)^2, and divides by its root.

    An error of one rounding in E(x^2) is one of E(x^2) / variance / 2 roundings in the root.
    """
    numbers = value.array.astype(np.float64)
    mean_square = np.square(numbers).mean(axis=axes)
    return bool(np.all(mean_square <= _WORST_CONDITION * numbers.var(axis=axes)))


LAYERS: Mapping[Adder, float] = {
    matmul: 3,
    gemm: 1,
    einsum: 0.7,
    conv: 3,
    conv_transpose: 0.7,
    pool: 1.5,
    row_norm: 1.2,
    channel_norm: 1.8,
}
"""How often each is tried."""
