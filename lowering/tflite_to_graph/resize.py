"""Feature maps of other sizes."""

from __future__ import annotations

from stepwell.dialects import graph
from stepwell.lowering.tflite_to_graph.support import Call, converts, on_codes
from stepwell.lowering.to_graph import Value


@converts("resize_bilinear")
def resize_bilinear(call: Call) -> Value:
    """Weighted means of the nearest four pixels."""
    return _resized(call, "linear", "floor")


@converts("resize_nearest_neighbor")
def resize_nearest(call: Call) -> Value:
    """The nearest pixel: rounded half up for aligned corners, else down."""
    return _resized(call, "nearest", "round_prefer_ceil" if call.flag("align_corners") else "floor")


def _resized(call: Call, mode: str, nearest: str) -> Value:
    x, sizes = call.tensor(), call.operand_sizes("size")
    if x.rank != 4 or len(sizes) != 2:
        raise call.unsupported(f"the input must have rank 4, found {x.rank}")
    coordinate = "asymmetric"
    if call.flag("half_pixel_centers"):
        # The centre of a pixel of the result, not moved back by half a pixel: floor of it is the nearest one.
        coordinate = "tf_half_pixel_for_nn" if mode == "nearest" else "half_pixel"
    elif call.flag("align_corners"):
        coordinate = "align_corners"
    shape = [x.dims[0], *sizes, x.dims[3]]
    return call.at.op(graph.ResizeOp(x.ssa, shape, mode=mode, coordinate=coordinate, nearest=nearest))


on_codes("resize_nearest_neighbor")
