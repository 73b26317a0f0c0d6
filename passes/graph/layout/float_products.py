"""8-bit products of two activations for `pack-integers`, computed in f32 with exact sums."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.costs.layouts import LAYOUTS
from stepwell.dialects.graph.integer_sums import EXACT_TERMS
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of
from stepwell.passes.context import count, remark
from stepwell.passes.graph.layout.feature_map_layouts import FeatureMaps
from stepwell.runtime.dims import Dim


def float_matmul(op: graph.MatmulIntegerOp, values: FeatureMaps) -> bool:
    """
    Replace an 8-bit product of activations, as in attention, by f32 products: nothing has to be packed.

    Long sums are cut in parts that are exact in f32, and added as i32.
    Returns: whether the op was replaced.
    """
    dims = dims_of(op.a.type)
    points = (op.a_zero_point, op.b_zero_point)
    if constant_of(op.b, values.weights) is not None or any(
        p is not None and dims_of(p.type) for p in points
    ):
        return False
    if not dims[-1].is_static or not 0 < dims[-1].value <= EXACT_TERMS * LAYOUTS.float_parts:
        remark(op, "not computed in floats: the length of its sums is not known, or too long")
        return False
    depth = dims[-1].value
    parts = -(-depth // EXACT_TERMS)
    bounds = [depth * i // parts for i in range(parts + 1)]
    a, b = (
        _floats(values.plain(x, op), point, op, values) for x, point in zip((op.a, op.b), points, strict=True)
    )
    sums: SSAValue | None = None
    for low, high in zip(bounds, bounds[1:], strict=False):
        left, right = (_part(x, axis, low, high, op, values) for x, axis in ((a, -1), (b, -2)))
        product = values.insert(graph.MatmulOp(left, right), op)
        part = values.insert(graph.CastOp(product, i32), op)
        sums = part if sums is None else values.insert(graph.AddOp(sums, part), op)
    assert sums is not None
    values.define_plain(op.result, sums)
    count("products in floats", 1)
    return True


def _floats(
    x: SSAValue, zero_point: SSAValue | None, op: graph.MatmulIntegerOp, values: FeatureMaps
) -> SSAValue:
    """An 8-bit tensor cast to f32, less its zero point."""
    wide = values.insert(graph.CastOp(x, f32), op)
    if zero_point is None:
        return wide
    number = constant_of(zero_point, values.weights)
    if number is not None:
        origin = values.constant(number.astype(np.float32), op)
    else:
        origin = values.insert(graph.CastOp(zero_point, f32), op)
    return values.insert(graph.SubtractOp(wide, origin), op)


def _part(
    x: SSAValue, axis: int, low: int, high: int, op: graph.MatmulIntegerOp, values: FeatureMaps
) -> SSAValue:
    """The slice of a tensor from `low` to `high` along one axis."""
    dims = list(dims_of(x.type))
    if dims[axis] == high - low:
        return x
    starts, ends = [0] * len(dims), list(dims)
    starts[axis], ends[axis] = low, Dim.of(high)
    return values.insert(graph.SliceOp(x, starts, ends, [1] * len(dims)), op)
