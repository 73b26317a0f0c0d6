"""The numpy meaning of attention."""

from __future__ import annotations

import numpy as np

from stepwell.runtime.meaning import meaning
from stepwell.runtime.meaning.floats import Numbers, through_f32


@meaning("graph.attention")
@through_f32
def attention(
    q: Numbers,
    k: Numbers,
    v: Numbers,
    mask: Numbers | None = None,
    *,
    scale: float,
    zero_masked: bool = False,
    pairs: bool = False,
) -> Numbers:
    """
    Scaled dot-product attention: scores [queries, keys], their softmax over the keys, and the values weighed
    by it.
    """
    if pairs:
        q, k, v = (_rounded(x) for x in (q * q.dtype.type(scale), k, v))
        scale = 1
    scores: Numbers = np.matmul(q, k.swapaxes(-1, -2)) * q.dtype.type(scale)
    scores = scores if mask is None else scores + mask
    top: Numbers = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
    powers = np.exp(scores - top)
    sums = np.sum(powers, axis=-1, keepdims=True, dtype=powers.dtype)
    result: Numbers = np.matmul(_rounded(powers), v) / sums if pairs else np.matmul(powers / sums, v)
    return np.where(top == -np.inf, result.dtype.type(0), result) if zero_masked else result


def _rounded(numbers: Numbers) -> Numbers:
    """Numbers with the digits of bf16."""
    import ml_dtypes  # for pairs only

    return numbers.astype(ml_dtypes.bfloat16).astype(numbers.dtype)
