"""Words for `pack-integers`: neighbours along a sum in one i32, weights in panels of columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of, dtype_of, tensor_of
from stepwell.passes.graph.layout.feature_map_layouts import ImageForms
from stepwell.passes.graph.layout.pack_weights import panel_width
from stepwell.runtime.layout import parse_layout, to_layout

PARTS_OF_WORD = 4
# Registers along the columns of one panel.
_MAX_REGISTERS = 6


def columns_of_panel(columns: int, lanes: int) -> int:
    """
    Columns of a panel: some vectors where they divide the columns, else what fills its last vector best.

    58 columns are a panel of 4 vectors of 16, the last one with 10 lanes. 0: only 1 divides them.
    """
    if width := panel_width(columns, lanes):
        return width
    widths = [n for n in range(2, _MAX_REGISTERS * lanes + 1) if columns and columns % n == 0]
    return max(widths, key=lambda n: (n / (-(-n // lanes) * lanes), n), default=0)


def words_of(x: SSAValue, op: GraphOp, values: ImageForms) -> SSAValue:
    """A tensor as words along its last dimension, which zeros fill up."""
    parts = 4 // dtype_of(tensor_of(x).element_type).itemsize
    dims = dims_of(x.type)
    if (depth := dims[-1].value) % parts:
        x = values.insert(graph.PadOp(x, [0] * (2 * len(dims) - 1) + [-depth % parts]), op)
    return values.insert(graph.WordsOp(x), op)


def words_of_planes(x: SSAValue, op: GraphOp, values: ImageForms) -> SSAValue:
    """
    The channels of an image [N, C, spatial…] of unsigned bytes, 4 or fewer, as words [N, spatial…, 1].

    Whole rows of pixels are shifted and added, where channels would be moved byte by byte.
    """
    dims = dims_of(x.type)
    ones = [1] * len(dims)
    words: SSAValue | None = None
    for channel in range(dims[1].value):
        starts = [0, channel, *[0] * (len(dims) - 2)]
        limits = [dims[0], channel + 1, *dims[2:]]
        plane = x if dims[1] == 1 else values.insert(graph.SliceOp(x, starts, limits, ones), op)
        part = values.insert(graph.CastOp(plane, i32), op)
        if words is None:
            words = part
            continue
        place = values.constant(np.array(1 << 8 * channel, np.int32), op)
        words = values.insert(graph.AddOp(words, values.insert(graph.MultiplyOp(part, place), op)), op)
    assert words is not None
    return values.insert(graph.ReshapeOp(words, [dims[0], *dims[2:], 1]), op)


def packed_columns(b: npt.NDArray[np.generic], width: int) -> npt.NDArray[np.generic]:
    """A matrix [K, N] as words along K, in panels of columns: [N/width, K/parts, width]."""
    parts = 4 // b.dtype.itemsize
    depth, columns = b.shape
    padded = np.pad(b, [(0, -depth % parts), (0, 0)])
    panels = padded.reshape(-1, parts, columns // width, width).transpose(2, 0, 3, 1)
    return np.ascontiguousarray(panels).view("<i4")[..., 0]


def packed_filters(
    w: npt.NDArray[np.generic], spatial: str, width: int
) -> tuple[npt.NDArray[np.generic], str]:
    """Filters [O, I, spatial…] as words of input channels, in panels of output channels; their layout."""
    parts = 4 // w.dtype.itemsize
    padded = np.pad(w, [(0, 0), (0, -w.shape[1] % parts), *[(0, 0)] * (w.ndim - 2)])
    plain = f"O{spatial}I"
    rows = np.ascontiguousarray(to_layout(padded, parse_layout(f"OI{spatial}"), parse_layout(plain)))
    target = f"{plain}{width}o"
    words = to_layout(rows.view("<i4"), parse_layout(plain), parse_layout(target))
    return np.ascontiguousarray(words), target


def column_points(zero_point: SSAValue | None, values: ImageForms) -> npt.NDArray[np.int32] | np.int32 | None:
    """The zero points of columns or filters; None when they are not known."""
    if zero_point is None:
        return np.int32(0)
    array = constant_of(zero_point, values.weights)
    return None if array is None else array.astype(np.int32).reshape(-1)
