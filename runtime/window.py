"""
Window arithmetic of convolutions and pools: the number of windows that fit (ONNX 22, valid for all versions).
"""

from __future__ import annotations

from stepwell.runtime.dims import Dim


def window_count(
    size: Dim, kernel: Dim, stride: int, dilation: int, begin: int, end: int, *, ceil: bool = False
) -> Dim:
    """
    The number of windows on a padded axis: ⌊(size + begin + end - K) / stride⌋ + 1, K =
    dilation·(kernel-1)+1.

    With `ceil` rounded up, without a last window that would start at or after the end of the input itself.
    """
    if size.is_unknown or kernel.is_unknown:
        return Dim.of("?")
    free = size + (begin + end) - dilated(kernel, dilation)
    if not ceil:
        return free // stride + 1
    return (free.ceildiv(stride) + 1).minimum((size + begin).ceildiv(stride))


def dilated(kernel: Dim, dilation: int) -> Dim:
    """The cells that a dilated kernel spans."""
    return (kernel - 1) * dilation + 1
