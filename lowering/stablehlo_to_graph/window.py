"""Reductions of windows: pools, and running sums."""

from __future__ import annotations

from math import prod

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_float
from stepwell.lowering.stablehlo_to_graph.support import Call, converts, product
from stepwell.lowering.to_graph import Value

_SCANS = {"add": "sum", "mul": "prod", "max": "max", "min": "min"}
_MAX_SPATIAL = 3


@converts("reduce_window")
def reduce_window(call: Call) -> Value:
    """The elements of windows combined; the start must be what changes nothing."""
    x, kind = call.tensor(), str(call.value("kind"))
    window, rank = call.integers("window_dimensions"), call.tensor().rank
    strides, pads = call.given("window_strides", rank, 1), call.pairs("padding", rank)
    if any(each != 1 for each in call.integers("base_dilations")):
        raise call.unsupported("windows of spread elements")
    dilations = call.given("window_dilations", rank, 1)
    moved = [i for i in range(rank) if window[i] != 1 or strides[i] != 1 or pads[i] != (0, 0)]
    if len(moved) == 1 and (found := _scan(call, x, moved[0])) is not None:
        return found
    if not 1 <= len(moved) <= _MAX_SPATIAL or not is_float(x.element) or kind not in ("max", "min", "add"):
        raise call.unsupported(f"windows {list(window)} of {x.element} by {kind}")
    others = [i for i in range(rank) if i not in moved]
    outer = [x.dims[i] for i in others]
    maps = x.transpose([*others, *moved]).reshape([product(outer), 1, *(x.dims[i] for i in moved)])
    op = graph.PoolOp(
        (-maps if kind == "min" else maps).ssa,
        "avg" if kind == "add" else "max",
        [window[i] for i in moved],
        strides=[strides[i] for i in moved],
        dilations=[dilations[i] for i in moved],
        pads=[*(pads[i][0] for i in moved), *(pads[i][1] for i in moved)],
        count_include_pad=True,
    )
    pooled = call.at.op(op)
    pooled = -pooled if kind == "min" else pooled * float(prod(window)) if kind == "add" else pooled
    order = [*others, *moved]
    shaped = pooled.reshape([*outer, *pooled.dims[2:]])
    return shaped.transpose([order.index(i) for i in range(rank)])


def _scan(call: Call, x: Value, axis: int) -> Value | None:
    """A running sum: windows as long as the axis, of which all but one element are padding."""
    size, kind = x.dims[axis], str(call.value("kind"))
    window, pads = call.integers("window_dimensions")[axis], call.pairs("padding", x.rank)[axis]
    if size != window or kind not in _SCANS or pads not in ((window - 1, 0), (0, window - 1)):
        return None
    is_back = pads[0] == 0 and window > 1
    return call.at.op(graph.ScanOp(x.ssa, _SCANS[kind], axis, reverse=is_back))
