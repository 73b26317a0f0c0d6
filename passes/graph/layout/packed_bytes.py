"""Packing for `pack-integers`: neighbours along a sum in one i32 element, weights in panels of columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.costs.schedules import TILES
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of, dtype_of, tensor_of
from stepwell.passes.graph.layout.feature_map_layouts import FeatureMaps
from stepwell.passes.graph.layout.pack_weights import panel_width
from stepwell.runtime.layout import parse_layout, to_layout

PARTS_OF_I32 = 4


def columns_of_panel(columns: int, lanes: int) -> int:
    """
    The columns of a panel: 1 to 3 vectors if they divide `columns`, else the divisor with fewest idle lanes.

    58 columns are a panel of 4 vectors of 16, the last one with 10 lanes. 0 if only 1 divides them.
    """
    if width := panel_width(columns, lanes):
        return width
    widths = [n for n in range(2, TILES.max_vectors * lanes + 1) if columns and columns % n == 0]
    return max(widths, key=lambda n: (n / (-(-n // lanes) * lanes), n), default=0)


def packed_last_axis(x: SSAValue, op: GraphOp, values: FeatureMaps) -> SSAValue:
    """A tensor with its last dimension packed into i32 elements, padded with zeros: `graph.words`."""
    parts = 4 // dtype_of(tensor_of(x).element_type).itemsize
    dims = dims_of(x.type)
    if (depth := dims[-1].value) % parts:
        x = values.insert(graph.PadOp(x, [0] * (2 * len(dims) - 1) + [-depth % parts]), op)
    return values.insert(graph.WordsOp(x), op)


def packed_planes(x: SSAValue, op: GraphOp, values: FeatureMaps) -> SSAValue:
    """
    The 1 to 4 channels of an unsigned 8-bit input [N, C, spatial…] packed in i32 elements [N, spatial…, 1].

    Whole planes are shifted and added; a transpose would move the channels byte by byte.
    """
    dims = dims_of(x.type)
    ones = [1] * len(dims)
    packed: SSAValue | None = None
    for channel in range(dims[1].value):
        starts = [0, channel, *[0] * (len(dims) - 2)]
        limits = [dims[0], channel + 1, *dims[2:]]
        plane = x if dims[1] == 1 else values.insert(graph.SliceOp(x, starts, limits, ones), op)
        part = values.insert(graph.CastOp(plane, i32), op)
        if packed is None:
            packed = part
            continue
        shift = values.constant(np.array(1 << 8 * channel, np.int32), op)
        packed = values.insert(graph.AddOp(packed, values.insert(graph.MultiplyOp(part, shift), op)), op)
    assert packed is not None
    return values.insert(graph.ReshapeOp(packed, [dims[0], *dims[2:], 1]), op)


def packed_columns(b: npt.NDArray[np.generic], width: int) -> npt.NDArray[np.generic]:
    """A matrix [K, N] packed into i32 elements along K, in panels of columns: [N/width, K/parts, width]."""
    parts = 4 // b.dtype.itemsize
    depth, columns = b.shape
    padded = np.pad(b, [(0, -depth % parts), (0, 0)])
    panels = padded.reshape(-1, parts, columns // width, width).transpose(2, 0, 3, 1)
    return np.ascontiguousarray(panels).view("<i4")[..., 0]


def packed_filters(
    w: npt.NDArray[np.generic], spatial: str, width: int
) -> tuple[npt.NDArray[np.generic], str]:
    """Filters [O, I, spatial…] as i32 elements along I, in panels of output channels, and their layout."""
    parts = 4 // w.dtype.itemsize
    padded = np.pad(w, [(0, 0), (0, -w.shape[1] % parts), *[(0, 0)] * (w.ndim - 2)])
    plain = f"O{spatial}I"
    rows = np.ascontiguousarray(to_layout(padded, parse_layout(f"OI{spatial}"), parse_layout(plain)))
    target = f"{plain}{width}o"
    packed = to_layout(rows.view("<i4"), parse_layout(plain), parse_layout(target))
    return np.ascontiguousarray(packed), target


def column_points(
    zero_point: SSAValue | None, values: FeatureMaps
) -> npt.NDArray[np.int32] | np.int32 | None:
    """The zero points of weights, one or one a column or filter, 0 by default; None when not constant."""
    if zero_point is None:
        return np.int32(0)
    array = constant_of(zero_point, values.weights)
    return None if array is None else array.astype(np.int32).reshape(-1)
