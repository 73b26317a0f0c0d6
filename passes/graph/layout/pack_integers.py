"""`pack-integers`: operands of 8-bit products are packed four to an i32, for dot-product instructions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, Signedness, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.context import count, remark
from stepwell.passes.graph.layout.convert_layout import convert_function
from stepwell.passes.graph.layout.feature_map_layouts import FeatureMapLayout, FeatureMaps
from stepwell.passes.graph.layout.float_products import float_matmul
from stepwell.passes.graph.layout.layout_rewrites import Rewrites
from stepwell.passes.graph.layout.pack_shorts import short_conv, short_matmul
from stepwell.passes.graph.layout.packed_bytes import (
    PARTS_OF_I32,
    column_points,
    columns_of_panel,
    packed_columns,
    packed_filters,
    packed_last_axis,
    packed_planes,
)
from stepwell.runtime.layout import parse_layout, to_layout

_U8 = IntegerType(8, Signedness.UNSIGNED)


@dataclass(frozen=True)
class PackIntegersPass(FunctionPass):
    """
    Pack 8-bit operands of products with constant weights in i32 elements, four neighbours along the sum each.

    Dot-product instructions multiply unsigned by signed bytes without zero points. So signed activations are
    flipped into unsigned ones, unsigned weights into signed ones; the effect of the activations' zero point
    is a constant for each column (times the zero point, if that is known at run time only), which is
    subtracted from the sums: exact. Zero points of weights are subtracted from the weights if the differences
    fit signed bytes, else their effect is subtracted by the sums of the rows. With `shorts`, elements contain
    two 16-bit numbers less their zero points. Weights become panels of columns. Convolutions read and write
    channels last, and the ops between them preserve that order, as in `convert-layout`. Products of
    activations are computed in f32, in parts that are exact.

    ```mlir
    %y = graph.matmul_integer %a, %b : (tensor<8x64xui8>, tensor<64x32xi8>) -> tensor<8x32xi32>
    // ->
    %0 = graph.words %a : tensor<8x64xui8> -> tensor<8x16xi32>
    %y = graph.matmul_integer %0, %p : (tensor<8x16xi32>, tensor<1x16x32xi32>) -> tensor<8x32xi32>
    ```
    Class: exact. Runs before `fuse-ops`.
    Source: Jacob et al. 2018, "Quantization and Training of Neural Networks for Efficient
    Integer-Arithmetic-Only Inference", section 2.3.
    """

    name = "pack-integers"
    opt_level = 2
    numerics = Numerics.EXACT

    lanes: int = 16
    """The i32 sums in a vector register."""
    shorts: bool = False
    """Whether to multiply 16-bit pairs, on machines whose 8-bit products are not exact."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if self.lanes == 1:  # a target without vectors
            return
        rewrites: Rewrites = {graph.MatmulIntegerOp: self._matmul, graph.ConvIntegerOp: self._conv}
        convert_function(func, FeatureMapLayout(), weights_of(ctx), rewrites)

    def _matmul(self, op: graph.MatmulIntegerOp, values: FeatureMaps) -> bool:
        pack = short_matmul if self.shorts else pack_matmul
        return pack(op, values, self.lanes) or float_matmul(op, values)

    def _conv(self, op: graph.ConvIntegerOp, values: FeatureMaps) -> bool:
        is_dense = op.groups.value.data == 1
        return (short_conv if self.shorts and is_dense else pack_conv)(op, values, self.lanes)


def pack_matmul(op: graph.MatmulIntegerOp, values: FeatureMaps, lanes: int) -> bool:
    """
    Pack an 8-bit product with a constant matrix, by corrections of the sums for zero points.

    Returns: whether the op was replaced; a remark says why not.
    """
    b, dims = constant_of(op.b, values.weights), dims_of(op.b.type)
    if op.is_packed or b is None or len(dims) != 2:
        return False
    point = op.a_zero_point
    if not dims_of(op.a.type)[-1].is_static or (point is not None and dims_of(point.type)):
        return False  # a sum of unknown length, or a zero point for each row
    b_points = column_points(op.b_zero_point, values)
    depth, columns = b.shape
    if b_points is None or not (width := columns_of_panel(columns, lanes)) or depth == 0:
        remark(op, "not packed: its columns fill no panel, or their zero points are not known")
        return False
    weights, rest = _signed(b, b_points), None
    if weights is None:
        weights, rest = _shifted(b, b_points)
    a, point = _unsigned(values.plain(op.a, op), point, op, values)
    packed = values.constant(packed_columns(weights, width), op)
    sums = values.insert(graph.MatmulIntegerOp(packed_last_axis(a, op, values), packed), op)
    sums = _less_zero_point(sums, point, weights.sum(0, dtype=np.int32), op, values)
    if rest is not None:
        sums = _less_row_sums(sums, a, point, depth, rest, op, values)
    values.define_plain(op.result, sums)
    count("products packed", 1)
    return True


def _shifted(
    weights: npt.NDArray[np.generic], points: npt.NDArray[np.int32] | np.int32
) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.int32]]:
    """Weights as signed bytes and their zero points, both 128 less than given if the weights are unsigned."""
    shift = 128 if weights.dtype == np.uint8 else 0
    return (weights.astype(np.int32) - shift).astype(np.int8), np.asarray(points - shift, np.int32)


def _less_row_sums(
    sums: SSAValue,
    a: SSAValue,
    zero_point: SSAValue | None,
    depth: int,
    b_points: npt.NDArray[np.int32],
    op: GraphOp,
    values: FeatureMaps,
) -> SSAValue:
    """The sums less each column's zero point times the sum of a row of `a` without `a`'s zero point."""
    last = len(dims_of(a.type)) - 1
    wide = values.insert(graph.CastOp(a, i32), op)
    rows = values.insert(graph.ReduceOp(wide, "sum", [last], keep_dims=True), op)
    if zero_point is not None:
        origin = values.insert(graph.CastOp(zero_point, i32), op)
        origin = values.insert(graph.MultiplyOp(origin, values.constant(np.array(depth, np.int32), op)), op)
        rows = values.insert(graph.SubtractOp(rows, origin), op)
    points = values.constant(b_points if b_points.size > 1 else b_points.reshape(()), op)
    return values.insert(graph.SubtractOp(sums, values.insert(graph.MultiplyOp(rows, points), op)), op)


def pack_conv(op: graph.ConvIntegerOp, values: FeatureMaps, lanes: int) -> bool:
    """
    Pack an 8-bit convolution with constant filters, dense or depthwise, to channels-last operands.

    The input is padded by a separate op if the zero point to pad with is known at run time only. Depthwise
    operands are not packed: each lane multiplies bytes of its own.
    Returns: whether the op was replaced.
    """
    w = constant_of(op.w, values.weights)
    plain = op.out_layout is None and op.data_layout.data[:2] == "NC" and op.kernel_layout.data[:2] == "OI"
    if w is None or w.dtype == np.int32 or not plain or not dims_of(op.x.type)[1].is_static:
        return False
    depthwise = op.groups.value.data == w.shape[0] and w.shape[1] == 1
    if op.groups.value.data != 1 and not depthwise:
        return False
    w_points = column_points(op.w_zero_point, values)
    width = 1 if depthwise else columns_of_panel(w.shape[0], lanes)
    if w_points is None or not width:
        remark(op, "not packed: its filters fill no panel, or their zero points are not known")
        return False
    by_planes = not depthwise and w.shape[1] <= PARTS_OF_I32 and not values.is_computed(op.x)
    x = values.plain(op.x, op) if by_planes else values.stored(op.x, op)
    x, x_point = _unsigned(x, op.x_zero_point, op, values)
    number = None if x_point is None else constant_of(x_point, values.weights)
    pads = op.pads.get_values()
    if x_point is not None and number is None and any(pads):
        sides = [(0, *side) for side in (pads[: len(pads) // 2], pads[len(pads) // 2 :])]
        padding = [n for side in sides for n in ((0, *side) if by_planes else (*side, 0))]
        x = values.insert(graph.PadOp(x, padding, value=x_point), op)
        pads = (0,) * len(pads)
    if not depthwise:
        x = (packed_planes if by_planes else packed_last_axis)(x, op, values)
    centred = w.astype(np.int32) - np.reshape(w_points, (-1, *[1] * (w.ndim - 1)))
    sums: SSAValue | None = None
    for part in _signed_parts(centred):
        made = _last_conv(op, x, part, width, pads, 0 if number is None else int(number), values)
        sums = made if sums is None else values.insert(graph.AddOp(sums, made), op)
    assert sums is not None
    weight_sums = centred.reshape(w.shape[0], -1).sum(1, dtype=np.int32)
    values.define(op.result, _less_zero_point(sums, x_point, weight_sums, op, values))
    count("convolutions packed", 1)
    return True


def _signed_parts(weights: npt.NDArray[np.int32]) -> list[npt.NDArray[np.int8]]:
    """Arrays of signed bytes whose sum is the centred weights: one, or more if those exceed 8 bits."""
    parts: list[npt.NDArray[np.int8]] = []
    while not parts or np.any(weights):
        part = np.clip(weights, -128, 127).astype(np.int8)
        parts.append(part)
        weights = weights - part
    return parts


def _last_conv(
    op: graph.ConvIntegerOp,
    x: SSAValue,
    filters: npt.NDArray[np.int8],
    width: int,
    pads: Sequence[int],
    pad_value: int,
    values: FeatureMaps,
) -> SSAValue:
    """Insert a channels-last integer convolution; filters in panels of `width`, 1 for depthwise ones."""
    spatial = op.data_layout.data[2:]
    if width == 1:
        kernel_layout = f"I{spatial}O"
        packed = to_layout(filters, parse_layout(f"OI{spatial}"), parse_layout(kernel_layout))
    else:
        packed, kernel_layout = packed_filters(filters, spatial, width)
    made = graph.ConvIntegerOp(
        x,
        values.constant(packed, op),
        strides=op.strides.get_values(),
        dilations=op.dilations.get_values(),
        pads=pads,
        border=pad_value,
        groups=op.groups.value.data,
        data_layout=f"N{spatial}C",
        kernel_layout=kernel_layout,
    )
    return values.insert(made, op)


def _signed(
    weights: npt.NDArray[np.generic], points: npt.NDArray[np.int32] | np.int32
) -> npt.NDArray[np.int8] | None:
    """Weights [K, N] less their zero points as signed bytes; None if a difference exceeds 8 bits."""
    centred = weights.astype(np.int32) - points
    fits = centred.size == 0 or (centred.min() >= -128 and centred.max() <= 127)
    return centred.astype(np.int8) if fits else None


def _unsigned(
    x: SSAValue, zero_point: SSAValue | None, op: GraphOp, values: FeatureMaps
) -> tuple[SSAValue, SSAValue | None]:
    """8-bit activations and their zero point as unsigned: both 128 greater if they are signed."""
    if element_of_value(x) == _U8:
        return x, zero_point
    sign = values.constant(np.array(-128, np.int8), op)
    point = sign if zero_point is None else zero_point

    def flipped(value: SSAValue) -> SSAValue:
        return values.insert(graph.BitcastOp(values.insert(graph.XorOp(value, sign), op), _U8), op)

    if (number := constant_of(point, values.weights)) is None:
        return flipped(x), flipped(point)
    shifted = 0 if zero_point is None else int(number)
    return flipped(x), values.constant(np.array(shifted + 128, np.uint8), op)


def _less_zero_point(
    sums: SSAValue,
    zero_point: SSAValue | None,
    weight_sums: npt.NDArray[np.int32],
    op: GraphOp,
    values: FeatureMaps,
) -> SSAValue:
    """The sums less the activations' zero point times the sum of each column of weights."""
    number = None if zero_point is None else constant_of(zero_point, values.weights)
    axis = len(dims_of(sums.type)) - 1
    if zero_point is None or (number is not None and not np.any(number)):
        return sums
    if number is not None:
        correction = (-number.astype(np.int64) * weight_sums).astype(np.int32)
        return values.insert(graph.BiasAddOp(sums, values.constant(correction, op), axis), op)
    wide = values.insert(graph.CastOp(zero_point, i32), op)
    correction = values.insert(graph.MultiplyOp(wide, values.constant(-weight_sums, op)), op)
    return values.insert(graph.BiasAddOp(sums, correction, axis), op)
