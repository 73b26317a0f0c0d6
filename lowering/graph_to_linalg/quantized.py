"""
Quantization → elementwise `linalg.generic`; integer convolutions → the iteration spaces of all convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, f64, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.quantized import ScaledOp
from stepwell.dialects.graph.relations import element_of_value, is_float
from stepwell.dialects.linalg_builder.scalars import Scalars, exact_quotient
from stepwell.dialects.linalg_builder.small_floats import SMALL_FLOATS, SmallFloat
from stepwell.dialects.linalg_builder.sums import accumulated
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    Body,
    Read,
    constant_number,
    empty,
    generic,
    identity,
)
from stepwell.dialects.linalg_builder.views import join_dims, split_dims
from stepwell.dialects.types import dims_of, dtype_of, tensor_of, tensor_type
from stepwell.lowering.graph_to_linalg.contraction import integer_body, packed_body
from stepwell.lowering.graph_to_linalg.convolution import ConvIterationSpace, Loops, convolve, padded
from stepwell.runtime.dims import Dim

_ONE_BINADE = 1.5 * 2**23
_ONE_BINADE_BITS = 0x4B400000


def _parameter_map(op: ScaledOp, value: SSAValue, is_split: bool) -> AffineMap:
    """
    The index map of a scale or zero point: a scalar, a vector along `axis`, or one value for each block.

    With `is_split` the quantized axis is two loops, the block and the element of a block.
    """
    rank, axis, block = len(dims_of(op.input.type)) + is_split, op.axis.value.data, op.block_size
    if not dims_of(value.type):
        return AffineMap(rank, 0, ())
    loops = [AffineExpr.dimension(i) for i in range(rank)]
    if not block:
        return AffineMap(rank, 0, (loops[axis],))
    if is_split:
        del loops[axis + 1]
    else:
        loops[axis] = loops[axis] // block
    return AffineMap(rank, 0, tuple(loops))


def _block_groups(op: ScaledOp) -> list[list[Dim]]:
    """
    The loops of each dimension of the result: an axis that blocks divide is split into [blocks, elements].
    """
    dims = dims_of(op.result.type)
    groups, axis, block = [[dim] for dim in dims], op.axis.value.data, op.block_size
    if block and dims[axis].is_static and dims[axis].value % block == 0:
        groups[axis] = [Dim.of(dims[axis].value // block), Dim.of(block)]
    return groups


def _replace(op: ScaledOp, body: Body, rewriter: PatternRewriter) -> None:
    """Replace an op by a `linalg.generic` whose body takes the element, the scale and the zero point."""
    type = tensor_of(op.result)
    parameters = [value for value in (op.scale, op.zero_point) if value is not None]
    groups = _block_groups(op)
    dims = [dim for group in groups for dim in group]
    rank = len(dims)
    is_split = rank > len(groups)
    reads: list[Read] = [
        (split_dims(op.input, groups, rewriter) if is_split else op.input, identity(rank)),
        *((value, _parameter_map(op, value, is_split)) for value in parameters),
    ]
    write = (empty(tensor_type(type.element_type, dims), rewriter), identity(rank))
    result = generic(reads, write, [PARALLEL] * rank, lambda s: body(s[:-1]), rewriter)
    rewriter.replace(op, [], [join_dims(result, groups, rewriter)])


def saturated(x: SSAValue, zero_point: SSAValue | None, wide: Scalars, to: Attribute) -> SSAValue:
    """
    A float rounded half to even, plus a zero point, clamped to the range of an integer type.

    It is clamped first, to integer bounds, so that rounding gives the same result; NaN becomes the least
    number.
    """
    target, integers = Scalars(to), Scalars(i32)
    lowest, highest = integer_range(to)
    low, high = wide.constant(lowest), wide.constant(highest)
    point = None
    if zero_point is not None:
        point = target.convert(zero_point, integers)
        origin = integers.convert(point, wide)
        low, high = wide.subtract(low, origin), wide.subtract(high, origin)
    # Clamp first, to bounds less the zero point, which is added after rounding.
    bounded = arith.MinnumfOp(arith.MaxnumfOp(x, low).result, high).result
    if wide.type == f32:
        # Floats of this binade are 1 apart: the addition rounds, and the low bits are the integer.
        bits = arith.BitcastOp(wide.add(bounded, wide.constant(_ONE_BINADE)), i32).result
        number = integers.subtract(bits, integers.constant(_ONE_BINADE_BITS))
    else:
        number = arith.FPToSIOp(math.RoundEvenOp(bounded).result, i32).result
    if point is not None:
        number = integers.add(number, point)
    return integers.convert(number, target)


def integer_range(element: Attribute) -> tuple[int, int]:
    """The least and the greatest number of an integer type, including types narrower than a byte."""
    name = dtype_of(element).name
    bits = int(name.removeprefix("u").removeprefix("int"))
    return (0, (1 << bits) - 1) if name.startswith("u") else (-(1 << bits - 1), (1 << bits - 1) - 1)


class QuantizeLowering(RewritePattern):
    """`graph.quantize` → a `linalg.generic` that divides, rounds, adds the zero point and saturates."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.QuantizeOp, rewriter: PatternRewriter) -> None:
        """
        Emit x / scale in f32 or f64, rounded to `compute_type`, then a saturated integer or an 8-bit float.
        """
        source, scale = Scalars(element_of_value(op.input)), Scalars(element_of_value(op.scale))
        computed = scale.element if op.compute_type is None else op.compute_type
        wide = Scalars(f64 if f64 in (computed, scale.element) else f32)
        small = SMALL_FLOATS.get(op.to)

        def body(scalars: Sequence[SSAValue]) -> SSAValue:
            x, divisor = source.convert(scalars[0], wide), scale.convert(scalars[1], wide)
            quotient = x
            if constant_number(op.scale) != 1:
                quotient = _rounded_to(exact_quotient(x, divisor), computed, wide)
            if is_float(op.to):
                number = wide.convert(quotient, Scalars(f32))
                assert isinstance(small, SmallFloat)
                return small.encode(number, saturate=bool(op.saturate))
            return saturated(quotient, scalars[2] if op.zero_point is not None else None, wide, op.to)

        _replace(op, body, rewriter)


def _rounded_to(x: SSAValue, element: Attribute, wide: Scalars) -> SSAValue:
    """A number rounded to a narrower float type, and converted back."""
    narrow = Scalars(element)
    if not narrow.narrow_float:
        return Scalars(wide.element).convert(Scalars(wide.element).convert(x, narrow), wide)
    return wide.convert(narrow.widen(narrow.narrow(wide.convert(x, Scalars(f32)))), wide)


class DequantizeLowering(RewritePattern):
    """
    `graph.dequantize` → a `linalg.generic` that subtracts the zero point in i32 and multiplies by the scale.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.DequantizeOp, rewriter: PatternRewriter) -> None:
        """Emit (x - zero point) * scale, computed in f32, or in f64 if the scale or result is f64."""
        source, scale = Scalars(element_of_value(op.input)), Scalars(element_of_value(op.scale))
        target, integers = Scalars(op.to), Scalars(i32)
        wide = Scalars(f64 if f64 in (op.to, scale.element) else f32)

        def body(scalars: Sequence[SSAValue]) -> SSAValue:
            x, factor, *points = scalars
            differences = source if source.is_float else integers
            number = source.convert(x, differences)
            if points:
                number = differences.subtract(number, source.convert(points[0], differences))
            product = wide.multiply(differences.convert(number, wide), scale.convert(factor, wide))
            return wide.convert(product, target)

        _replace(op, body, rewriter)


class RequantizeLowering(RewritePattern):
    """`graph.requantize` → a `linalg.generic` that multiplies, rounds, adds the zero point and saturates."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.RequantizeOp, rewriter: PatternRewriter) -> None:
        """Emit i32 sums times the scale in f32, then a saturated integer."""
        sums, scale, wide = Scalars(i32), Scalars(element_of_value(op.scale)), Scalars(f32)

        def body(scalars: Sequence[SSAValue]) -> SSAValue:
            x, factor, *points = scalars
            product = wide.multiply(sums.convert(x, wide), scale.convert(factor, wide))
            return saturated(product, points[0] if points else None, wide, op.to)

        _replace(op, body, rewriter)


class ObserveLowering(RewritePattern):
    """`graph.observe` → its operand."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ObserveOp, rewriter: PatternRewriter) -> None:
        """Replace the observer by its operand."""
        rewriter.replace(op, [], [op.input])


class ConvIntegerLowering(RewritePattern):
    """
    `graph.conv_integer` → a `linalg.generic` that widens, subtracts zero points, multiplies and adds.

    Padding is filled with the zero point. A zero point that is not constant is subtracted before the input is
    padded with zeros.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConvIntegerOp, rewriter: PatternRewriter) -> None:
        """Choose the padding value and the body, for bytes or packed 32-bit elements, and emit i32 sums."""
        x, x_point, fill = op.x, op.x_zero_point, float(op.border.value.data)
        space = ConvIterationSpace.of(op)
        if x_point is not None and any(op.pads.get_values()):
            constant = constant_number(x_point)
            if constant is None:
                x, x_point = _centred(x, x_point, rewriter), None
            else:
                fill = constant
        points = [value for value in (x_point, op.w_zero_point) if value is not None]
        elements = [
            None if value is None else element_of_value(value) for value in (x_point, op.w_zero_point)
        ]
        is_packed = element_of_value(op.w) == i32
        packed, bytes_ = packed_body(op.parts.value.data), (element_of_value(x), element_of_value(op.w))
        body = packed if is_packed else integer_body(*bytes_, *elements)
        if is_packed:
            fill *= 0x01010101  # in each byte of a packed element

        def emit(reads: tuple[Read, Read], loops: Loops, dims: Sequence[Dim]) -> SSAValue:
            zero_points: list[Read] = [
                (value, loops.map([space.filter_index(op, loops)] if dims_of(value.type) else []))
                for value in points
            ]
            sums = len(loops.names) - len(dims)
            return accumulated([*reads, *zero_points], i32, dims, sums, body, rewriter)

        x = padded(op, space.data, fill, x, rewriter)
        rewriter.replace(op, [], [convolve(op, space, x, emit, rewriter)])


def _centred(x: SSAValue, zero_point: SSAValue, rewriter: PatternRewriter) -> SSAValue:
    """A tensor in i32 with its scalar zero point subtracted."""
    dims = dims_of(x.type)
    source, sums = Scalars(element_of_value(x)), Scalars(i32)
    reads: list[Read] = [(x, identity(len(dims))), (zero_point, AffineMap(len(dims), 0, ()))]
    write = (empty(tensor_type(i32, dims), rewriter), identity(len(dims)))

    def body(scalars: Sequence[SSAValue]) -> SSAValue:
        return sums.subtract(source.convert(scalars[0], sums), source.convert(scalars[1], sums))

    return generic(reads, write, [PARALLEL] * len(dims), body, rewriter)
