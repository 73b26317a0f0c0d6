"""Quantization of ONNX → `graph.quantize`, `graph.dequantize`, and requantized integer products."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from xdsl.dialects.builtin import IntegerType, Signedness, f32, f64, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.integer_sums import conv_fits_i32, matmul_fits_i32
from stepwell.dialects.graph.relations import is_float
from stepwell.dialects.types import dims_of
from stepwell.lowering.onnx_to_graph.broadcasting import agreeing_batches, fitted
from stepwell.lowering.onnx_to_graph.nn.convolution import known_filters, padded_input
from stepwell.lowering.onnx_to_graph.shape_values import renamed
from stepwell.lowering.onnx_to_graph.support import (
    OnnxLowering,
    as_f32,
    element_of,
    element_type,
    emit,
    normalized_axis,
    rank_of,
    shape_of,
)
from stepwell.lowering.onnx_to_graph.window_attributes import windows_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.layout import plain_layout

_U8 = IntegerType(8, Signedness.UNSIGNED)
_ONE = Dim.of(1)
_PER_TENSOR = ((), (_ONE,))


class QuantizedLowering(OnnxLowering):
    """The base class of patterns with scales and zero points."""

    def parameter(
        self, value: SSAValue | None, op: onnx.OnnxOp, rewriter: PatternRewriter, size: Dim = _ONE
    ) -> SSAValue | None:
        """
        A scale or zero point; rank 0 for a single element.

        A vector of an open size has `size` elements, or one, which is repeated; a run-time check requires
        that.
        """
        if value is not None and len(dims := shape_of(value, op)) == 1 and not dims[0].is_static:
            if size == _ONE:
                value = renamed(op, value, [size], "a scale or zero point is one number", rewriter)
            else:
                value = fitted(op, value, [size], self, rewriter)
        if value is not None and shape_of(value, op) in _PER_TENSOR:
            return self.as_scalar(value, op, rewriter)
        return value

    def scale_and_zero_point(
        self, op: onnx.OnnxOp, x: SSAValue, scale: SSAValue, point: SSAValue | None, rewriter: PatternRewriter
    ) -> tuple[SSAValue, SSAValue | None]:
        """
        Scale and zero point of one shape: open sizes come from each other, and a vector's from the axis of
        `x`.
        """
        if point is not None and (rank := rank_of(scale, op)) > 1 and rank_of(point, op) == rank:
            what = "sizes of scale and zero point"
            scale = renamed(op, scale, dims_of(point.type), what, rewriter)
            point = renamed(op, point, dims_of(scale.type), what, rewriter)
        found = self.parameter(scale, op, rewriter, self.size_along(op, x))
        assert found is not None
        dims = dims_of(found.type)
        return found, self.zero_point(point, op, rewriter, dims[0] if len(dims) == 1 else _ONE)

    def zero_point(
        self, value: SSAValue | None, op: onnx.OnnxOp, rewriter: PatternRewriter, size: Dim = _ONE
    ) -> SSAValue | None:
        """A zero point; None if it is absent or 0 everywhere; `size` as for `parameter`."""
        if value is None:
            return None
        array = self.array(value)
        # Narrow floats have no offset: their zero point can only be 0.
        if is_float(element_of(value)) or (array is not None and not np.any(array.astype(np.float32))):
            return None
        return self.parameter(value, op, rewriter, size)

    def size_along(self, op: onnx.OnnxOp, x: SSAValue) -> Dim:
        """The size of the axis of the scales; 1 for an input without that axis."""
        dims, axis = shape_of(x, op), op.integer("axis") if op.has("axis") else 1
        return dims[axis] if -len(dims) <= axis < len(dims) else _ONE

    def requantized(
        self,
        sums: SSAValue,
        scale: SSAValue,
        point: SSAValue | None,
        to: Attribute,
        rewriter: PatternRewriter,
    ) -> graph.QuantizeOp:
        """Sums of any type times scales that broadcast, quantized: what `graph.requantize` is for i32."""
        numbers = emit(graph.MultiplyOp(as_f32(sums, rewriter), scale), rewriter)
        return graph.QuantizeOp(numbers, self.scalar(1, f32, rewriter), point, to=to)

    def axis_and_block(self, op: onnx.OnnxOp, x: SSAValue, scale: SSAValue) -> tuple[int, int]:
        """The axis of the scales, and the number of elements per scale along it; 0, 0 for a single scale."""
        if not dims_of(scale.type):
            return 0, 0
        axis = op.integer("axis") if op.has("axis") else 1
        block = op.integer("block_size") if op.has("block_size") else 0
        return normalized_axis(axis, rank_of(x, op), op), block


class QuantizeLinearLowering(QuantizedLowering):
    """
    `QuantizeLinear` → `graph.quantize`.

    ```mlir
    %y = "onnx.QuantizeLinear"(%x, %s, %z) : (tensor<2x8xf32>, tensor<f32>, tensor<ui8>) -> tensor<2x8xui8>
    // ->
    %y = graph.quantize %x, %s zero_point %z : tensor<ui8> to ui8 saturate true
      : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xui8>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.QuantizeLinearOp, rewriter: PatternRewriter) -> None:
        """Normalize scale, zero point and axis, and choose the result's type and the computing type."""
        scale, point = self.scale_and_zero_point(op, op.x, op.y_scale, op.y_zero_point, rewriter)
        axis, block = self.axis_and_block(op, op.x, scale)
        precision = op.integer("precision") if op.has("precision") else 0
        made = graph.QuantizeOp(
            op.x,
            scale,
            point,
            to=_target(op),
            axis=axis,
            block=block,
            compute_type=element_type(precision, op) if precision else None,
            saturate=not op.has("saturate") or bool(op.integer("saturate")),
        )
        rewriter.replace(op, made)


def _target(op: onnx.QuantizeLinearOp) -> Attribute:
    """The type of the zero point, else `output_dtype`, else u8."""
    if op.y_zero_point is not None:
        return element_of(op.y_zero_point)
    code = op.integer("output_dtype") if op.has("output_dtype") else 0
    return element_type(code, op) if code else _U8


class DequantizeLinearLowering(QuantizedLowering):
    """`DequantizeLinear` → `graph.dequantize`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.DequantizeLinearOp, rewriter: PatternRewriter) -> None:
        """Normalize scale, zero point and axis, and choose the result's type."""
        scale, point = self.scale_and_zero_point(op, op.x, op.x_scale, op.x_zero_point, rewriter)
        axis, block = self.axis_and_block(op, op.x, scale)
        code = op.integer("output_dtype") if op.has("output_dtype") else 0
        made = graph.DequantizeOp(
            op.x, scale, point, to=element_type(code, op) if code else None, axis=axis, block=block
        )
        rewriter.replace(op, made)


class DynamicQuantizeLinearLowering(QuantizedLowering):
    """
    `DynamicQuantizeLinear` → the range of the input, from which scale and zero point follow, and a
    `graph.quantize`. The range contains 0; the scale of an input of zeros is 1.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.DynamicQuantizeLinearOp, rewriter: PatternRewriter) -> None:
        """Compute scale and zero point from the range, then quantize; all three are results."""
        rank_of(op.x, op)  # raises if it is unknown
        scale, point = dynamic_scale(op.x, lambda n: self.scalar(n, f32, rewriter), rewriter)
        y = emit(graph.QuantizeOp(op.x, scale, point, to=_U8), rewriter)
        rewriter.replace(op, [], [y, scale, point])


def dynamic_scale(
    x: SSAValue, constant: Callable[[float], SSAValue], rewriter: PatternRewriter
) -> tuple[SSAValue, SSAValue]:
    """The scale and zero point of the range of a tensor, in u8; `constant` makes numbers."""
    axes, zero = range(len(dims_of(x.type))), constant(0)
    highest = emit(graph.ReduceOp(x, "max", axes, keep_dims=False), rewriter)
    lowest = emit(graph.ReduceOp(x, "min", axes, keep_dims=False), rewriter)
    highest = emit(graph.MaximumOp(highest, zero), rewriter)
    lowest = emit(graph.MinimumOp(lowest, zero), rewriter)
    step = emit(graph.DivideOp(emit(graph.SubtractOp(highest, lowest), rewriter), constant(255)), rewriter)
    is_flat = emit(graph.EqualOp(step, zero), rewriter)
    scale = emit(graph.WhereOp(is_flat, constant(1), step), rewriter)
    origin = emit(graph.DivideOp(emit(graph.SubtractOp(zero, lowest), rewriter), scale), rewriter)
    return scale, emit(graph.QuantizeOp(origin, constant(1), to=_U8), rewriter)


class MatMulIntegerLowering(QuantizedLowering):
    """`MatMulInteger` → `graph.matmul_integer`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MatMulIntegerOp, rewriter: PatternRewriter) -> None:
        """Normalize the zero points per row and per column, and build the integer product."""
        points = [
            self.zero_point(op.a_zero_point, op, rewriter, _rows(op.A)),
            self.zero_point(op.b_zero_point, op, rewriter, dims_of(op.B.type)[-1]),
        ]
        a, b = agreeing_batches(op, [op.A, op.B], self, rewriter)
        rewriter.replace(op, integer_product(a, b, points, rewriter))


def _rows(a: SSAValue) -> Dim:
    """The number of rows of a product's left operand."""
    return dims_of(a.type)[-2] if len(dims_of(a.type)) > 1 else _ONE


def exact_product(
    a: SSAValue,
    b: SSAValue,
    points: Sequence[SSAValue | None],
    lowering: OnnxLowering,
    rewriter: PatternRewriter,
) -> SSAValue:
    """A product of integers that does not wrap: in i32, or in f64 where its sums can exceed 32 bits."""
    if matmul_fits_i32((a, points[0]), (b, points[1]), lowering.array):
        return emit(integer_product(a, b, points, rewriter), rewriter)
    factors = ((a, points[0], 1), (b, points[1], 0))
    return emit(graph.MatmulOp(*(_centred(*factor, rewriter) for factor in factors)), rewriter)


def _centred(x: SSAValue, point: SSAValue | None, ones: int, rewriter: PatternRewriter) -> SSAValue:
    """Integers less their zero point in f64, which adds 2^37 of their products without rounding."""
    numbers = emit(graph.CastOp(x, f64), rewriter)
    if point is None:
        return numbers
    origin = emit(graph.CastOp(_before_ones(point, ones, rewriter), f64), rewriter)
    return emit(graph.SubtractOp(numbers, origin), rewriter)


def _before_ones(value: SSAValue, ones: int, rewriter: PatternRewriter) -> SSAValue:
    """A vector with more dimensions, of size 1, after its own; a tensor of another rank as it is."""
    if len(dims_of(value.type)) != 1 or not ones:
        return value
    return emit(graph.ExpandDimsOp(value, range(1, ones + 1)), rewriter)


def integer_product(
    a: SSAValue, b: SSAValue, points: Sequence[SSAValue | None], rewriter: PatternRewriter
) -> graph.MatmulIntegerOp | graph.SqueezeOp:
    """A product of integers as in numpy: operands of rank 1 are rows or columns, dropped from the result."""
    vanishing: list[int] = []
    if len(dims_of(b.type)) == 1:
        b = emit(graph.ExpandDimsOp(b, [1]), rewriter)
        vanishing.append(-1)
    if len(dims_of(a.type)) == 1:
        a = emit(graph.ExpandDimsOp(a, [0]), rewriter)
        vanishing.append(-2)
    product = graph.MatmulIntegerOp(a, b, *points)
    if not vanishing:
        return product
    rank = len(dims_of(product.result.type))
    return graph.SqueezeOp(emit(product, rewriter), sorted(rank + axis for axis in vanishing))


class ConvIntegerLowering(QuantizedLowering):
    """`ConvInteger` → `graph.conv_integer`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ConvIntegerOp, rewriter: PatternRewriter) -> None:
        """Normalize the zero points, that of the filters per filter, and build the convolution."""
        points = [
            self.zero_point(op.x_zero_point, op, rewriter),
            self.zero_point(op.w_zero_point, op, rewriter, shape_of(op.w, op)[0]),
        ]
        rewriter.replace(op, integer_conv(op, known_filters(op, op.x, op.w, rewriter), points, rewriter))


def integer_conv(
    op: onnx.ConvIntegerOp | onnx.QLinearConvOp,
    w: SSAValue,
    points: Sequence[SSAValue | None],
    rewriter: PatternRewriter,
    *,
    wide: bool = False,
) -> graph.ConvIntegerOp | graph.ConvOp:
    """The sums of a convolution of integers, with the windows of an operator's attributes; `wide`: in f64."""
    windows = windows_of(op, op.x, dims_of(w.type)[2:])
    x, pads = padded_input(op.x, windows, rewriter, points[0])
    if wide:
        rank = len(dims_of(w.type))
        x, w = (_centred(x, points[0], 0, rewriter), _centred(w, points[1], rank - 1, rewriter))
    make = (
        graph.ConvOp if wide else partial(graph.ConvIntegerOp, x_zero_point=points[0], w_zero_point=points[1])
    )
    return make(
        x, w, strides=windows.strides, dilations=windows.dilations, pads=pads, groups=op.integer("group")
    )


class QLinearConvLowering(QuantizedLowering):
    """
    `QLinearConv` → `graph.conv_integer`, its bias in i32, and `graph.requantize`.

    The scale is x_scale · w_scale / y_scale, computed once in f32. Sums that can exceed 32 bits
    are kept in f64.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.QLinearConvOp, rewriter: PatternRewriter) -> None:
        """Emit integer sums, the bias, and a requantization by the combined scale."""
        filters = shape_of(op.w, op)[0]
        points = [
            self.zero_point(op.x_zero_point, op, rewriter),
            self.zero_point(op.w_zero_point, op, rewriter, filters),
        ]
        w = known_filters(op, op.x, op.w, rewriter)
        layout = plain_layout("OI", len(dims_of(w.type)) - 2)
        wide = not conv_fits_i32((op.x, points[0]), (w, points[1]), layout, self.array, op.B)
        sums = emit(integer_conv(op, w, points, rewriter, wide=wide), rewriter)
        if op.B is not None:
            bias = emit(graph.CastOp(op.B, f64), rewriter) if wide else op.B
            sums = emit(graph.BiasAddOp(sums, bias, 1), rewriter)
        sizes = (_ONE, filters, _ONE)
        scales = [
            self.parameter(scale, op, rewriter, size)
            for scale, size in zip((op.x_scale, op.w_scale, op.y_scale), sizes, strict=True)
        ]
        scale = _combined(scales, rewriter)
        point = self.zero_point(op.y_zero_point, op, rewriter)
        to = element_of(op.y_zero_point)
        if wide:
            scale = _before_ones(scale, len(dims_of(w.type)) - 2, rewriter)
            rewriter.replace(op, self.requantized(sums, scale, point, to, rewriter))
            return
        axis = 1 if dims_of(scale.type) else 0
        rewriter.replace(op, graph.RequantizeOp(sums, scale, point, to=to, axis=axis))


def _combined(scales: Sequence[SSAValue | None], rewriter: PatternRewriter) -> SSAValue:
    """first · second / result, in f32."""
    first, second, result = (as_f32(s, rewriter) for s in scales if s is not None)
    return emit(graph.DivideOp(emit(graph.MultiplyOp(first, second), rewriter), result), rewriter)


class QLinearMatMulLowering(QuantizedLowering):
    """
    `QLinearMatMul` → `graph.matmul_integer` and `graph.requantize`; of narrow floats, a product of floats.

    With a scale for each row the sums are multiplied as floats and quantized. Sums that can exceed 32 bits
    are kept in f64.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.QLinearMatMulOp, rewriter: PatternRewriter) -> None:
        """Emit integer sums and a requantization; scales per row, or floats, are multiplied as floats."""
        # Scales and operands
        to = element_of(op.y_zero_point)
        sizes = (_rows(op.a), dims_of(op.b.type)[-1], _ONE)
        scales = [
            self.parameter(scale, op, rewriter, size)
            for scale, size in zip((op.a_scale, op.b_scale, op.y_scale), sizes, strict=True)
        ]
        a_scale, b_scale, y_scale = (as_f32(s, rewriter) for s in scales if s is not None)
        y_point = self.zero_point(op.y_zero_point, op, rewriter)
        a, b = agreeing_batches(op, [op.a, op.b], self, rewriter)
        if is_float(element_of(op.a)):
            factors = (a, a_scale), (b, b_scale)
            left, right = (emit(graph.MultiplyOp(as_f32(x, rewriter), s), rewriter) for x, s in factors)
            product = emit(graph.MatmulOp(left, right), rewriter)
            rewriter.replace(op, graph.QuantizeOp(product, y_scale, to=to))
            return
        # Integer sums, requantized per tensor or column
        points = [
            self.zero_point(point, op, rewriter, size)
            for point, size in zip((op.a_zero_point, op.b_zero_point), sizes, strict=False)
        ]
        sums = exact_product(a, b, points, self, rewriter)
        rank = len(dims_of(sums.type))
        by_column = len(dims_of(b_scale.type)) <= 1 and element_of(sums) == i32
        if not dims_of(a_scale.type) and by_column and not dims_of(y_scale.type):
            scale = _combined([a_scale, b_scale, y_scale], rewriter)
            axis = rank - 1 if dims_of(scale.type) else 0
            rewriter.replace(op, graph.RequantizeOp(sums, scale, y_point, to=to, axis=axis))
            return
        # Scales per row: multiplied as floats
        scale = _combined([_before_ones(a_scale, 1, rewriter), b_scale, y_scale], rewriter)
        rewriter.replace(op, self.requantized(sums, scale, y_point, to, rewriter))
