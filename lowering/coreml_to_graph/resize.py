"""Feature maps of other sizes."""

from __future__ import annotations

from math import floor
from typing import cast

from stepwell.dialects import graph
from stepwell.lowering.coreml_to_graph.support import Call, converts
from stepwell.lowering.to_graph import Value
from stepwell.runtime.dims import Dim

_SAMPLING = {
    "DEFAULT": "asymmetric",
    "ALIGN_CORNERS": "align_corners",
    "STRICT_ALIGN_CORNERS": "align_corners",
    "UNALIGN_CORNERS": "half_pixel",
}


@converts("upsample_nearest_neighbor")
def upsample_nearest(call: Call) -> Value:
    """The nearest pixel towards the corner, for sizes that are multiples."""
    return _resized(call, _scaled(call), "nearest", "asymmetric")


@converts("upsample_bilinear")
def upsample_bilinear(call: Call) -> Value:
    """Weighted means of the nearest four pixels, for sizes that are multiples."""
    half = "half_pixel" if call.flag("half_pixel_centers") else "asymmetric"
    return _resized(call, _scaled(call), "linear", "align_corners" if call.flag("align_corners") else half)


@converts("resize_nearest_neighbor")
def resize_nearest(call: Call) -> Value:
    """The nearest pixel towards the corner."""
    return _resized(call, _target(call), "nearest", "asymmetric")


@converts("resize_bilinear")
def resize_bilinear(call: Call) -> Value:
    """Weighted means of the nearest four pixels."""
    if (sampling := call.text("sampling_mode")) not in _SAMPLING:
        raise call.unsupported(f"the sampling {sampling!r}")
    return _resized(call, _target(call), "linear", _SAMPLING[sampling])


def _target(call: Call) -> list[Dim]:
    return [Dim.of(call.integer(f"target_size_{name}")) for name in ("height", "width")]


def _scaled(call: Call) -> list[Dim]:
    """The sizes times factors, of which a fraction needs a known size."""
    sizes: list[Dim] = []
    for dim, name in zip(call.tensor().dims[-2:], ("height", "width"), strict=True):
        factor = cast(float, call.value(f"scale_factor_{name}"))
        if factor == int(factor):
            sizes.append(dim * int(factor))
        elif dim.is_static:
            sizes.append(Dim.of(floor(dim.value * factor)))
        else:
            raise call.unsupported(f"the open size {dim} times {factor}")
    return sizes


def _resized(call: Call, sizes: list[Dim], mode: str, coordinate: str) -> Value:
    x = call.tensor()
    shape = [*x.dims[:-2], *sizes]
    return call.at.op(graph.ResizeOp(x.ssa, shape, mode=mode, coordinate=coordinate, nearest="floor"))
