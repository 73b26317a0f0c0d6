"""`requantize-in-integers`: sums of bytes become bytes by an integer product and a shift, without floats."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerType, Signedness, i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.integer_sums import conv_fits_i32, matmul_fits_i32
from stepwell.dialects.graph.relations import element_of_value
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.context import count
from stepwell.patterns.driver.greedy import apply_patterns
from stepwell.runtime.files.weights import WeightStore

Array: TypeAlias = npt.NDArray[Any]

MULTIPLIER_BITS = 31
"""Multipliers have so many bits, the first one set."""
FRACTION_BITS = 12
"""Fractional bits of the operands of a sum."""
_LARGEST_RATIO = 1 << 10
_BYTE = 255
_UI8 = IntegerType(8, Signedness.UNSIGNED)


@dataclass(frozen=True)
class RequantizeInIntegersPass(FunctionPass):
    """
    Compute the bytes of quantized convolutions and of sums of bytes in integers alone.

    A scale becomes a multiplier of 31 bits and a shift: `(sum * m + 2^(s-1)) >> s`. An element differs from
    the one by floats by at most 1, where the quotient is about half way between two numbers. Accelerators
    without floats compute this, and every machine gets the same bytes.

    Class: quantized. Source: Jacob et al., "Quantization and Training of Neural Networks for Efficient
    Integer-Arithmetic-Only Inference" (2018).
    """

    name = "requantize-in-integers"
    opt_level = 1
    numerics = Numerics.QUANTIZED

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        weights = weights_of(ctx)
        apply_patterns(func.body, [RequantizeSums(weights), RequantizeAdd(weights)])


@dataclass
class RequantizeSums(RewritePattern):
    """
    Requantize the sums of a convolution, or of a matrix product, with its bias, in integers.

    Class: quantized.

    ```mlir
    %s = graph.conv_integer %x, %w … : (…) -> tensor<1x16x4x4xi32>
    %d = graph.dequantize %s, %c axis 1 to f32 : (…, tensor<16xf32>) -> tensor<1x16x4x4xf32>
    %b = graph.bias_add %d, %k axis 1 : (tensor<1x16x4x4xf32>, tensor<16xf32>) -> tensor<1x16x4x4xf32>
    %y = graph.quantize %b, %q to ui8 : (tensor<1x16x4x4xf32>, tensor<f32>) -> tensor<1x16x4x4xui8>
    // ->
    %s = graph.conv_integer %x, %w … : (…) -> tensor<1x16x4x4xi32>
    %b = graph.bias_add %s, %i axis 1 : (tensor<1x16x4x4xi32>, tensor<16xi32>) -> tensor<1x16x4x4xi32>
    %l = graph.cast %b to i64 … : tensor<1x16x4x4xi32> -> tensor<1x16x4x4xi64>
    %m = graph.multiply %l, %factors : (tensor<1x16x4x4xi64>, tensor<16x1x1xi64>) -> tensor<1x16x4x4xi64>
    %h = graph.add %m, %halves : (tensor<1x16x4x4xi64>, tensor<16x1x1xi64>) -> tensor<1x16x4x4xi64>
    %r = graph.shift_right %h, %shifts : (tensor<1x16x4x4xi64>, tensor<16x1x1xi64>) -> tensor<1x16x4x4xi64>
    %p = graph.add %r, %point : (tensor<1x16x4x4xi64>, tensor<i64>) -> tensor<1x16x4x4xi64>
    %k = graph.clip %p lo %zero : tensor<i64> hi %most : tensor<i64> : …
    %y = graph.cast %k to ui8 … : tensor<1x16x4x4xi64> -> tensor<1x16x4x4xui8>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.QuantizeOp, rewriter: PatternRewriter) -> None:
        biased = op.input.owner
        numbers = biased.x.owner if isinstance(biased, graph.BiasAddOp) else biased
        if not isinstance(numbers, graph.DequantizeOp) or numbers.zero_point is not None:
            return
        if not isinstance(sums := numbers.input.owner, graph.ConvIntegerOp | graph.MatmulIntegerOp):
            return
        rank = len(dims_of(sums.result.type))
        if isinstance(sums, graph.MatmulIntegerOp) and rank != 2:
            return
        scale, out_scale = constant_of(numbers.scale, self.weights), _scalar(op.scale, self.weights)
        point, channels = _point(op.zero_point, self.weights), dims_of(sums.result.type)[1]
        if scale is None or out_scale is None or point is None or not channels.is_static:
            return
        if element_of_value(op.result) != _UI8 or (scale.ndim and numbers.axis.value.data != 1):
            return
        each = np.broadcast_to(scale.reshape(-1), [channels.value]).astype(np.float64)
        bias = np.zeros(len(each))
        if isinstance(biased, graph.BiasAddOp):
            given = constant_of(biased.b, self.weights)
            if given is None or given.ndim != 1 or biased.axis.value.data != 1:
                return
            bias = given.astype(np.float64)
        ratios, added = each / out_scale, np.rint(bias / each)
        if not _are_usable(ratios) or not self._fits_i32(sums, added):
            return
        factors, shifts = multipliers(ratios)
        build = _Builder(rewriter, self.weights)
        biased_sums = graph.BiasAddOp(sums.result, build.constant(added.astype(np.int32)), 1)
        value = rewriter.insert(biased_sums).result
        each_channel = (-1, *[1] * (rank - 2))
        value = build.scaled(value, factors.reshape(each_channel), shifts.reshape(each_channel))
        rewriter.replace(op, build.to_bytes(value, point))
        count("requantized products")

    def _fits_i32(self, sums: graph.ConvIntegerOp | graph.MatmulIntegerOp, bias: Array) -> bool:
        """Whether no sum of products exceeds 32 bits once the bias, whole numbers, is added to it."""
        if not (np.abs(bias) < 1 << 31).all():  # NaN too
            return False
        constants, whole = partial(constant_of, weights=self.weights), bias.astype(np.int64)
        if isinstance(sums, graph.MatmulIntegerOp):
            factors = (sums.a, sums.a_zero_point), (sums.b, sums.b_zero_point)
            return matmul_fits_i32(*factors, constants, bias=whole)
        factors = (sums.x, sums.x_zero_point), (sums.w, sums.w_zero_point)
        return conv_fits_i32(*factors, sums.kernel_layout.data, constants, whole)


@dataclass
class RequantizeAdd(RewritePattern):
    """
    Add two quantized tensors in integers with 12 fractional bits. Class: quantized.

    ```mlir
    %a = graph.dequantize %x, %s zero_point %z : tensor<ui8> to f32 : …
    %b = graph.dequantize %y, %t to f32 : …
    %c = graph.add %a, %b : …
    %q = graph.quantize %c, %u to ui8 : …
    // ->
    %a = graph.add … // (x - z) times a multiplier, shifted: 12 fractional bits; and that of y
    %b = graph.shift_right … // the sum, rounded
    %q = graph.cast … to ui8 … : …
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.QuantizeOp, rewriter: PatternRewriter) -> None:
        if not isinstance(added := op.input.owner, graph.AddOp) or element_of_value(op.result) != _UI8:
            return
        out_scale, point = _scalar(op.scale, self.weights), _point(op.zero_point, self.weights)
        if out_scale is None or point is None or added.lhs.type != added.rhs.type:
            return
        parts: list[tuple[SSAValue, int, float]] = []
        for value in (added.lhs, added.rhs):
            part = value.owner
            if not isinstance(part, graph.DequantizeOp) or element_of_value(part.input) != _UI8:
                return
            scale, own = _scalar(part.scale, self.weights), _point(part.zero_point, self.weights)
            if scale is None or own is None or not _are_usable(np.array([scale / out_scale])):
                return
            parts.append((part.input, own, scale / out_scale))
        build = _Builder(rewriter, self.weights)
        terms: list[SSAValue] = []
        for value, own, ratio in parts:
            (factor,), (shift,) = multipliers(np.array([ratio * (1 << FRACTION_BITS)]))
            centred = build.binary(graph.AddOp, build.cast(value, i32), np.array(-own, np.int32))
            terms.append(build.scaled(centred, np.array(factor), np.array(shift)))
        total = rewriter.insert(graph.AddOp(terms[0], terms[1])).result
        rounded = build.rounded(total, np.array(FRACTION_BITS, np.int64))
        rewriter.replace(op, build.to_bytes(rounded, point))
        count("requantized sums")


def multipliers(ratios: Array) -> tuple[Array, Array]:
    """Factors of 31 bits and shifts, as i64: `factor / 2^shift` is the nearest to each ratio."""
    fractions, exponents = np.frexp(ratios.astype(np.float64))
    factors = np.rint(fractions * (1 << MULTIPLIER_BITS)).astype(np.int64)
    shifts = MULTIPLIER_BITS - exponents.astype(np.int64)
    too_large = factors == 1 << MULTIPLIER_BITS
    return np.where(too_large, factors // 2, factors), np.where(too_large, shifts - 1, shifts)


class _Builder:
    """Ops of integers, inserted before the op that is rewritten."""

    def __init__(self, rewriter: PatternRewriter, weights: WeightStore):
        self._rewriter, self._weights = rewriter, weights

    def constant(self, array: Array) -> SSAValue:
        """A constant."""
        return self._rewriter.insert(graph.ConstantOp.of(array, self._weights)).result

    def cast(self, value: SSAValue, to: object) -> SSAValue:
        """A value in another type."""
        return self._rewriter.insert(graph.CastOp(value, to)).result  # pyright: ignore[reportArgumentType]

    def binary(self, kind: type[graph.AddOp], value: SSAValue, array: Array) -> SSAValue:
        """An op of a value and a constant."""
        return self._rewriter.insert(kind(value, self.constant(array))).result

    def rounded(self, value: SSAValue, shifts: Array) -> SSAValue:
        """A value divided by a power of two, rounded half up."""
        value = self.binary(graph.AddOp, value, np.left_shift(np.int64(1), shifts - 1))
        return self.binary(graph.ShiftRightOp, value, shifts)  # pyright: ignore[reportArgumentType]

    def scaled(self, value: SSAValue, factors: Array, shifts: Array) -> SSAValue:
        """A value times factors, divided by powers of two."""
        wide = self.cast(value, i64)
        return self.rounded(self.binary(graph.MultiplyOp, wide, factors), shifts)  # pyright: ignore[reportArgumentType]

    def to_bytes(self, value: SSAValue, point: int) -> graph.CastOp:
        """The op of unsigned bytes, with a zero point added."""
        moved = self.binary(graph.AddOp, value, np.array(point, np.int64))
        low, high = (self.constant(np.array(bound, np.int64)) for bound in (0, _BYTE))
        return graph.CastOp(self._rewriter.insert(graph.ClipOp(moved, low, high)).result, _UI8)


def _scalar(value: SSAValue, weights: WeightStore) -> float | None:
    """A constant of one element."""
    array = constant_of(value, weights)
    return None if array is None or array.size != 1 else float(array.reshape(-1)[0])


def _point(value: SSAValue | None, weights: WeightStore) -> int | None:
    """The number of a constant zero point; 0 without a zero point, None if it has no single known number."""
    if value is None:
        return 0
    found = _scalar(value, weights)
    return None if found is None else int(found)


def _are_usable(ratios: Array) -> bool:
    """Whether ratios are positive, and the shifts of their multipliers are those of 64 bits."""
    smallest = 2.0**-MULTIPLIER_BITS
    return bool((np.isfinite(ratios) & (ratios > smallest) & (ratios < _LARGEST_RATIO)).all())
