"""Feature maps at another size."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.dialects import graph
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.support import Call, converts


def _resized(call: Call, mode: str, coordinate: str, rounding: str = "floor") -> Value:
    """A feature map sampled at the size that the program records, by given scales where there are some."""
    x = call.tensor("input" if call.has("input") else "self")
    rank = x.rank - 2
    scales = _scales(call, rank)
    if scales is None or (mode != "nearest" and call.flag("align_corners")):
        given = None
    else:
        given = [1.0, 1.0, *scales]
    op = graph.ResizeOp(x.ssa, call.dims, given, mode=mode, coordinate=coordinate, nearest=rounding)
    return call.at.op(op)


def _scales(call: Call, rank: int) -> Sequence[float] | None:
    """The scales of a call, one a spatial axis; None without any."""
    if call.has("scale_factors"):
        value = call.value("scale_factors")
        return (
            None
            if value is None
            else [float(str(each)) for each in value]
            if isinstance(value, Sequence)
            else None
        )
    names = ("scales",) if call.has("scales") else ("scales_d", "scales_h", "scales_w")[3 - rank :]
    found = [call.value(name) for name in names if call.has(name)]
    return (
        None if any(each is None for each in found) or len(found) != rank else [float(str(f)) for f in found]
    )


@converts("upsample_nearest1d.default", "upsample_nearest2d.default", "upsample_nearest3d.default")
@converts("upsample_nearest1d.vec", "upsample_nearest2d.vec", "upsample_nearest3d.vec")
def nearest(call: Call) -> Value:
    """The element at the rounded down coordinate."""
    return _resized(call, "nearest", "asymmetric")


@converts("_upsample_nearest_exact1d.default", "_upsample_nearest_exact2d.default")
@converts("_upsample_nearest_exact3d.default", "_upsample_nearest_exact1d.vec")
@converts("_upsample_nearest_exact2d.vec", "_upsample_nearest_exact3d.vec")
def nearest_exact(call: Call) -> Value:
    """The element nearest to the centre of each cell."""
    return _resized(call, "nearest", "half_pixel", "round_prefer_ceil")


@converts("upsample_linear1d.default", "upsample_bilinear2d.default", "upsample_trilinear3d.default")
@converts("upsample_linear1d.vec", "upsample_bilinear2d.vec", "upsample_trilinear3d.vec")
def linear(call: Call) -> Value:
    """Linear interpolation."""
    return _resized(call, "linear", "align_corners" if call.flag("align_corners") else "half_pixel")


@converts("upsample_bicubic2d.default", "upsample_bicubic2d.vec")
def cubic(call: Call) -> Value:
    """Cubic interpolation."""
    return _resized(call, "cubic", "align_corners" if call.flag("align_corners") else "half_pixel")
