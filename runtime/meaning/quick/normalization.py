"""Quicker normalizations: all passes over a block of channels before the next block."""

from __future__ import annotations

from math import prod

import numpy as np

from stepwell.runtime.meaning import quick_form
from stepwell.runtime.meaning.contraction import Numbers
from stepwell.runtime.meaning.quick.blocks import parts_in_block


@quick_form("graph.batch_norm")
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
    """(x - mean) * factor + bias, with one factor a channel: scale / sqrt(variance + eps)."""
    deviation = np.sqrt(variance + x.dtype.type(eps))
    factor = (np.ones_like(deviation) if scale is None else scale) / deviation
    shift = np.zeros_like(mean) if bias is None else bias
    before, channels, after = prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])
    cells = np.ascontiguousarray(x).reshape(before, channels, after)
    y = np.empty_like(cells)
    block = parts_in_block(before * after * x.itemsize)
    for begin in range(0, channels, block):
        some = slice(begin, begin + block)
        out = np.subtract(cells[:, some], mean[some, None], out=y[:, some])
        out *= factor[some, None]
        out += shift[some, None]
    return y.reshape(x.shape)
