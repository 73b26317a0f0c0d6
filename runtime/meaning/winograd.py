"""The numpy meaning of convolutions by Winograd's algorithm."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stepwell.runtime.meaning import Array, meaning
from stepwell.runtime.meaning.contraction import halves_of
from stepwell.runtime.winograd import FILTER, as_array, transforms


@meaning("graph.winograd_conv")
def winograd_conv(
    x: npt.NDArray[np.float32],
    u: npt.NDArray[np.float32] | npt.NDArray[np.int32],
    *,
    tile: int,
    pads: Sequence[int],
) -> Array:
    """
    Winograd convolution: transform input tiles, multiply and sum over channels point by point, transform
    back. With pairs of bf16 in `u` the transformed tiles are rounded to bf16.
    """
    forth = as_array(transforms(tile).input).astype(x.dtype)
    back = as_array(transforms(tile).output).astype(x.dtype)
    size = tile + FILTER - 1
    n, blocks, height, width, lanes = x.shape
    top, left, bottom, right = pads
    rows, columns = height + top + bottom - FILTER + 1, width + left + right - FILTER + 1
    # Whole tiles: the last ones may extend past the output.
    more = -rows % tile, -columns % tile
    padded = np.pad(x, [(0, 0), (0, 0), (top, bottom + more[0]), (left, right + more[1]), (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(2, 3))
    tiles = windows[:, :, ::tile, ::tile]
    v = np.einsum("ik,jl,nchwbkl->ijcbnhw", forth, forth, tiles, optimize=True)
    down, across = v.shape[-2:]
    points = v.reshape(size * size, blocks * lanes, n * down * across)
    if u.dtype == np.int32:
        import ml_dtypes  # no other convolutions have bf16 of their own

        points, u = points.astype(ml_dtypes.bfloat16).astype(x.dtype), halves_of(u, 2)
    m = np.einsum("pqcs,pct->pqst", u, points, optimize=True)
    m = m.reshape(size, size, -1, n, down, across)
    y = np.einsum("ik,jl,klonhw->nohiwj", back, back, m, optimize=True)
    y = y.reshape(n, -1, lanes, down * tile, across * tile)[..., :rows, :columns]
    return np.ascontiguousarray(np.moveaxis(y, 2, -1))
