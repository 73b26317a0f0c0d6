"""Softmax and norms of the library."""

from __future__ import annotations

from stepwell.frontend.te.functions import FUNCTIONS
from stepwell.frontend.te.library.elementwise import multiply, subtract
from stepwell.frontend.te.library.reductions import mean, reduce
from stepwell.frontend.te.library.shapes import axis_in, mapped
from stepwell.frontend.te.tensors import Tensor, compute

_exp, _log, _rsqrt = (FUNCTIONS[name] for name in ("exp", "log", "rsqrt"))


def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """exp(x) over its sum along an axis."""
    powers = mapped("powers", lambda a, b: _exp(a - b), x, reduce(x, "max", axis, keep_dims=True))
    return mapped("softmax", lambda a, b: a / b, powers, reduce(powers, "sum", axis, keep_dims=True))


def log_softmax(x: Tensor, axis: int = -1) -> Tensor:
    """The logarithm of the softmax."""
    below = subtract(x, reduce(x, "max", axis, keep_dims=True))
    total = reduce(mapped("powers", _exp, below), "sum", axis, keep_dims=True)
    return mapped("log_softmax", lambda a, b: a - _log(b), below, total)


def layer_norm(x: Tensor, scale: Tensor, bias: Tensor, axis: int = -1, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(variance + eps) along the axes from `axis` on, times scale, plus bias."""
    axes = range(axis_in(axis, x.ndim), x.ndim)
    centered = subtract(x, mean(x, axes, keep_dims=True))
    variance = mean(multiply(centered, centered), axes, keep_dims=True)
    return mapped(
        "layer_norm", lambda v, s, a, b: v * _rsqrt(s + eps) * a + b, centered, variance, scale, bias
    )


def rms_norm(x: Tensor, scale: Tensor, axis: int = -1, eps: float = 1e-5) -> Tensor:
    """x / sqrt(mean(x * x) + eps) along the axes from `axis` on, times scale."""
    axes = range(axis_in(axis, x.ndim), x.ndim)
    squares = mean(multiply(x, x), axes, keep_dims=True)
    return mapped("rms_norm", lambda v, s, a: v * _rsqrt(s + eps) * a, x, squares, scale)


def batch_norm(
    x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, variance: Tensor, eps: float = 1e-5
) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * scale + bias, by numbers of each channel, the second axis."""
    return compute(
        x.dims,
        lambda *i: (x[i] - mean[i[1]]) * _rsqrt(variance[i[1]] + eps) * scale[i[1]] + bias[i[1]],
        name="batch_norm",
    )
