"""Numpy meanings of normalizations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stepwell.runtime.meaning import meaning
from stepwell.runtime.meaning.floats import Numbers, through_f32, wide


def _along(
    vector: Numbers | None, axis: int, rank: int, default: float, dtype: np.dtype[np.generic]
) -> Numbers:
    """A vector reshaped to broadcast along all axes but `axis`; a default number where it is absent."""
    if vector is None:
        return np.full((1,) * rank, default, dtype)
    return vector.reshape([-1 if i == axis else 1 for i in range(rank)]).astype(dtype)


@meaning("graph.batch_norm")
@through_f32
def batch_norm(
    x: Numbers,
    mean: Numbers,
    variance: Numbers,
    scale: Numbers | None = None,
    bias: Numbers | None = None,
    *,
    eps: float,
    axis: int,
) -> Numbers:
    """Normalize channels by given statistics: (x - mean) / sqrt(variance + eps) * scale + bias."""

    def along(vector: Numbers | None, default: float) -> Numbers:
        return _along(vector, axis, x.ndim, default, x.dtype)

    deviation = np.sqrt(along(variance, 1) + x.dtype.type(eps))
    return (x - along(mean, 0)) / deviation * along(scale, 1) + along(bias, 0)


def _statistics(x: Numbers, axes: Sequence[int], eps: float) -> tuple[Numbers, Numbers]:
    """Mean and inverse standard deviation over some axes, with those axes as extents of 1."""
    mean = np.mean(x, axis=tuple(axes), keepdims=True, dtype=x.dtype)
    centred = x - mean
    variance = np.mean(centred * centred, axis=tuple(axes), keepdims=True, dtype=x.dtype)
    return mean, x.dtype.type(1) / np.sqrt(variance + x.dtype.type(eps))


def _scaled(
    normal: Numbers, scale: Numbers | None, bias: Numbers | None, dtype: np.dtype[np.generic]
) -> Numbers:
    normal = normal if scale is None else normal * wide(scale).astype(normal.dtype)
    normal = normal if bias is None else normal + wide(bias).astype(normal.dtype)
    return normal.astype(dtype)


@meaning("graph.layer_norm")
def layer_norm(
    x: Numbers,
    scale: Numbers | None = None,
    bias: Numbers | None = None,
    *,
    axis: int,
    eps: float,
    compute_type: np.dtype[np.generic],
    resultSegmentSizes: Sequence[int],
) -> tuple[Numbers, ...]:
    """
    Layer normalization from `axis` on; by `resultSegmentSizes` mean and inverse deviation are results too.
    """
    with np.errstate(all="ignore"):
        computed: Numbers = x.astype(compute_type)
        mean, inv_std = _statistics(computed, range(axis, x.ndim), eps)
        y = _scaled((computed - mean) * inv_std, scale, bias, x.dtype)
    return (y, mean, inv_std) if resultSegmentSizes[1] else (y,)


@meaning("graph.rms_norm")
def rms_norm(
    x: Numbers,
    scale: Numbers | None = None,
    bias: Numbers | None = None,
    *,
    axis: int,
    eps: float,
    compute_type: np.dtype[np.generic],
) -> Numbers:
    """Divide by the root mean square over the dimensions from `axis` on, then scale and add the bias."""
    with np.errstate(all="ignore"):
        computed: Numbers = x.astype(compute_type)
        axes = tuple(range(axis, x.ndim))
        square: Numbers = np.mean(computed * computed, axis=axes, keepdims=True, dtype=computed.dtype)
        return _scaled(computed / np.sqrt(square + computed.dtype.type(eps)), scale, bias, x.dtype)


@meaning("graph.instance_norm")
def instance_norm(
    x: Numbers, scale: Numbers | None = None, bias: Numbers | None = None, *, eps: float
) -> Numbers:
    """Group normalization with a group for each channel."""
    return group_norm(x, scale, bias, groups=x.shape[1], eps=eps)


def group_norm(
    x: Numbers, scale: Numbers | None = None, bias: Numbers | None = None, *, groups: int, eps: float
) -> Numbers:
    """Normalize by the statistics of groups of channels (dimension 1)."""
    with np.errstate(all="ignore"):
        computed = wide(x)
        grouped = computed.reshape(x.shape[0], groups, x.shape[1] // max(groups, 1), *x.shape[2:])
        mean, inv_std = _statistics(grouped, range(2, grouped.ndim), eps)
        normal = ((grouped - mean) * inv_std).reshape(x.shape)
        vectors = (_along(scale, 1, x.ndim, 1, normal.dtype), _along(bias, 1, x.ndim, 0, normal.dtype))
        return _scaled(normal, *vectors, x.dtype)


meaning("graph.group_norm")(group_norm)


@meaning("graph.lp_norm")
@through_f32
def lp_norm(x: Numbers, axis: int, p: int) -> Numbers:
    """Divide by the L1 or L2 norm along an axis; 0 for a norm of 0."""
    total = np.sum(np.abs(x) if p == 1 else x * x, axis=axis, keepdims=True, dtype=x.dtype)
    norm = total if p == 1 else np.sqrt(total)
    return np.where(norm == 0, x.dtype.type(0), x / norm)


@meaning("graph.lrn")
@through_f32
def lrn(x: Numbers, size: int, alpha: float, beta: float, bias: float) -> Numbers:
    """Local response normalization over `size` neighbouring channels."""
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    pads = [(before, after) if i == 1 else (0, 0) for i in range(x.ndim)]
    padded = np.pad(x * x, pads)
    window = sum(padded[:, k : k + x.shape[1]] for k in range(size))
    number = x.dtype.type
    return x / np.power(number(bias) + number(alpha / size) * window, number(beta))
