"""GPTQ: weights moved to the steps of their codes such that a product's results change least."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from stepwell.dialects.quantization.codes import Scales
from stepwell.runtime.errors import StepwellError

Doubles: TypeAlias = npt.NDArray[np.float64]
Floats: TypeAlias = npt.NDArray[np.float32]

MAX_SUM = 16_384
"""The longest sum of a product: its matrix of second moments has 2 GiB in f64."""
_DAMPING = 0.01
_BATCH = 128


def gptq_weight(
    weight: Floats, moments: Doubles, scales: Scales, block: int, *, by_diagonal: bool = True
) -> Floats:
    """
    A weight of the steps of 4-bit codes, for a product `x @ weight`.

    Rows are rounded one after another, and the error of each is spread over the rows that follow, by the
    Cholesky factor of the inverse of `H = 2 XᵀX / n + 0.01 mean(diag) I`.

    Args: `weight` is [K, N]; `moments` are `XᵀX / n`, [K, K]; `scales` are those of the weight as it is,
    [blocks of K, N]. With `by_diagonal` rows with large activations come first.
    Raises: StepwellError `too-large` for a sum beyond `MAX_SUM`.
    Source: Frantar et al., GPTQ, 2022, algorithm 1.
    """
    if len(weight) > MAX_SUM:
        message = f"gptq takes sums of up to {MAX_SUM} products, found {len(weight)}"
        raise StepwellError("too-large", None, message, help="--method mse, which needs no data")
    diagonal = np.diag(moments)
    order = np.argsort(-diagonal, kind="stable") if by_diagonal else np.arange(len(weight))
    factor = _inverse_factor(_damped(moments)[np.ix_(order, order)])
    left = weight[order].astype(np.float64)
    round_row = _rounding(scales, block, order)
    found = np.empty_like(weight)
    for begin in range(0, len(left), _BATCH):
        end = min(begin + _BATCH, len(left))
        errors = np.empty((end - begin, left.shape[1]))
        for i in range(begin, end):
            rounded = round_row(i, left[i])
            found[order[i]] = rounded
            errors[i - begin] = (left[i] - rounded) / factor[i, i]
            left[i + 1 : end] -= np.outer(factor[i, i + 1 : end], errors[i - begin])
        left[end:] -= factor[begin:end, end:].T @ errors
    return found


def product_error(difference: npt.NDArray[np.floating], moments: Doubles) -> float:
    """The mean over samples of the squared error of a product whose weight differs, summed over results."""
    return float(np.sum((moments @ difference) * difference))


def _damped(moments: Doubles) -> Doubles:
    """The matrix H; rows of activations that are always zero have a diagonal of 1."""
    h = 2 * moments
    h[np.diag_indices_from(h)] += _DAMPING * float(np.mean(np.diag(h)))
    dead = np.flatnonzero(np.diag(h) == 0)
    h[dead, dead] = 1
    return h


def _inverse_factor(h: Doubles) -> Doubles:
    """The upper triangle U with `inverse(h) = Uᵀ U`: the inverted Cholesky factor from the other end."""
    lower: Doubles = np.linalg.cholesky(h[::-1, ::-1]).astype(np.float64, copy=False)
    return np.ascontiguousarray(_inverse_of_lower(lower)[::-1, ::-1])


def _inverse_of_lower(lower: Doubles) -> Doubles:
    """The inverse of a lower triangle, by halves, so that nearly all of it is products."""
    size = len(lower)
    if size <= 64:
        return np.linalg.inv(lower).astype(np.float64, copy=False)
    half = size // 2
    first, last = _inverse_of_lower(lower[:half, :half]), _inverse_of_lower(lower[half:, half:])
    found = np.zeros_like(lower)
    found[:half, :half], found[half:, half:] = first, last
    found[half:, :half] = -last @ (lower[half:, :half] @ first)
    return found


def _rounding(scales: Scales, block: int, order: npt.NDArray[np.intp]) -> Callable[[int, Doubles], Doubles]:
    """The function that rounds the i-th row in order to the steps of its block."""
    low, high = (-8, 7) if scales.zero_point is None else (0, 15)
    scale = scales.scale.astype(np.float64)
    steps = np.where(scale == 0, 1.0, scale)
    zeros = np.zeros_like(scale) if scales.zero_point is None else scales.zero_point.astype(np.float64)

    def round_row(i: int, row: Doubles) -> Doubles:
        at = order[i] // block
        codes = np.clip(np.rint(row / steps[at]) + zeros[at], low, high)
        return (codes - zeros[at]) * scale[at]

    return round_row
