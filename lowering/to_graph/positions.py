"""Positions along an axis: the bounds of slices, the cells that padding adds."""

from __future__ import annotations

from stepwell.lowering.to_graph.calls import ForeignCall
from stepwell.runtime.dims import Dim


def wrapped(bound: Dim, size: Dim) -> Dim:
    """A position, counted from the end if negative."""
    return bound + size if bound.is_static and bound.value < 0 else bound


def bounds_of(begin: Dim | None, end: Dim | None, size: Dim, step: int) -> tuple[Dim, Dim]:
    """The bounds of Python's slice, clamped; for steps down the limit -1 includes element 0."""
    least, most = (Dim.of(0), size) if step > 0 else (Dim.of(-1), size - 1)
    start = least if step > 0 else most
    limit = most if step > 0 else least
    if begin is not None:
        start = _clamped(wrapped(begin, size), least, most)
    if end is not None:
        limit = _clamped(wrapped(end, size), least, most)
    if step > 0:
        return start, limit.maximum(start)
    return start.maximum(Dim.of(0)), limit.minimum(start)


def _clamped(bound: Dim, least: Dim, most: Dim) -> Dim:
    if bound.is_static and bound.value <= least.value:
        return least
    if bound == most:
        return most
    return bound.minimum(most)


def same_pad(call: ForeignCall, size: Dim, kernel: Dim, stride: int, dilation: int) -> int:
    """The cells that padding adds to an axis, so that the result has ⌈size / stride⌉."""
    span = (kernel - 1) * dilation + 1
    if size.is_static and span.is_static:
        return max((-(-size.value // stride) - 1) * stride + span.value - size.value, 0)
    if stride == 1 and span.is_static:
        return span.value - 1
    raise call.unsupported(
        f"padding SAME with stride {stride} over the open size {size}",
        "fix the size: --shape, or input_shapes",
    )
