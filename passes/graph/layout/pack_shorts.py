"""
8-bit products as products of 16-bit pairs, for `pack-integers` on machines without exact 8-bit products.

8-bit numbers less their zero points fit 16 bits, so the sums need no correction.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i16
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of
from stepwell.passes.context import count
from stepwell.passes.graph.layout.feature_map_layouts import FeatureMaps
from stepwell.passes.graph.layout.packed_bytes import (
    column_points,
    columns_of_panel,
    packed_columns,
    packed_filters,
    packed_last_axis,
)

_PARTS = 2


def short_matmul(op: graph.MatmulIntegerOp, values: FeatureMaps, lanes: int) -> bool:
    """Pack an 8-bit product with a constant matrix in i32 elements of two 16-bit numbers; whether it did."""
    b, dims = constant_of(op.b, values.weights), dims_of(op.b.type)
    points = column_points(op.b_zero_point, values)
    if op.is_packed or b is None or len(dims) != 2 or points is None or not b.size:
        return False
    has_row_points = op.a_zero_point is not None and bool(dims_of(op.a_zero_point.type))
    if has_row_points or not dims_of(op.a.type)[-1].is_static:
        return False
    if not (width := columns_of_panel(b.shape[1], lanes)):
        return False
    a = _centred(values.plain(op.a, op), op.a_zero_point, op, values)
    weights = (b.astype(np.int32) - points).astype(np.int16)
    packed = values.constant(packed_columns(weights, width), op)
    made = graph.MatmulIntegerOp(packed_last_axis(a, op, values), packed, parts=_PARTS)
    values.define_plain(op.result, values.insert(made, op))
    count("products packed", 1)
    return True


def short_conv(op: graph.ConvIntegerOp, values: FeatureMaps, lanes: int) -> bool:
    """Pack a dense 8-bit convolution with constant filters in 16-bit pairs, channels last; whether it did."""
    w, points = constant_of(op.w, values.weights), column_points(op.w_zero_point, values)
    plain = op.out_layout is None and op.data_layout.data[:2] == "NC" and op.kernel_layout.data[:2] == "OI"
    if w is None or w.dtype == np.int32 or points is None or not plain or op.border.value.data:
        return False
    if not dims_of(op.x.type)[1].is_static:
        return False
    if not (width := columns_of_panel(w.shape[0], lanes)):
        return False
    weights = (w.astype(np.int32) - np.reshape(points, (-1, *[1] * (w.ndim - 1)))).astype(np.int16)
    spatial = op.data_layout.data[2:]
    packed, kernel_layout = packed_filters(weights, spatial, width)
    x = _centred(values.stored(op.x, op), op.x_zero_point, op, values)
    made = graph.ConvIntegerOp(
        packed_last_axis(x, op, values),
        values.constant(packed, op),
        strides=op.strides.get_values(),
        dilations=op.dilations.get_values(),
        pads=op.pads.get_values(),
        parts=_PARTS,
        data_layout=f"N{spatial}C",
        kernel_layout=kernel_layout,
    )
    values.define(op.result, values.insert(made, op))
    count("convolutions packed", 1)
    return True


def _centred(x: SSAValue, zero_point: SSAValue | None, op: GraphOp, values: FeatureMaps) -> SSAValue:
    """8-bit numbers cast to 16 bits, less their zero point."""
    wide = values.insert(graph.CastOp(x, i16), op)
    if zero_point is None:
        return wide
    origin = values.insert(graph.CastOp(values.plain(zero_point, op), i16), op)
    return values.insert(graph.SubtractOp(wide, origin), op)
