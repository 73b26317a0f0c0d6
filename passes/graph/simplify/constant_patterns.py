"""Patterns of `simplify-expr` on constant operands: constants merge, divisions become multiplications."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_float
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of
from stepwell.passes.graph.constant_operands import along_axis
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import float_info
from stepwell.runtime.meaning import Array

Numbers: TypeAlias = npt.NDArray[np.number]


@dataclass
class MultiplyByReciprocal(RewritePattern):
    """
    Replace x / c by x * (1 / c) for a float c whose reciprocal is neither 0 nor infinite. Class: rounding.

    A result of one element stays a division: there is nothing to gain, and as the scale of a quantization the
    other rounding moves a zero point that is half way between two numbers. So does a quotient of which the
    next op makes a whole number: 41 * (1 / 41) is less than 1.

    ```mlir
    %c = graph.constant dense<8.0> : tensor<f32>
    %y = graph.divide %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    // ->
    %d = graph.constant dense<0.125> : tensor<f32>
    %y = graph.multiply %x, %d : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.DivideOp, rewriter: PatternRewriter) -> None:
        divisor = constant_of(op.rhs, self.weights)
        is_single = all(dim == 1 for dim in dims_of(op.result.type))
        if divisor is None or divisor.dtype.kind in "iub" or is_single:
            return
        if any(_makes_whole(use.operation) for use in op.result.uses):
            return
        with np.errstate(all="ignore"):
            inverse = np.asarray(1 / cast(Numbers, divisor)).astype(divisor.dtype)
        if is_regular(inverse):
            factor = rewriter.insert(graph.ConstantOp.of(inverse, self.weights)).result
            rewriter.replace(op, graph.MultiplyOp(op.lhs, factor))


def _makes_whole(op: Operation) -> bool:
    """Whether an op rounds numbers to whole ones."""
    if isinstance(op, graph.CastOp):
        return not is_float(op.to)
    return isinstance(op, graph.FloorOp | graph.CeilOp | graph.TruncOp | graph.RoundOp)


def is_regular(array: Array) -> bool:
    """Whether all numbers of an array are finite, and none is 0 or denormal, which has lost digits."""
    wide, smallest = array.astype(np.float64), float(float_info(array.dtype).smallest_normal)
    return bool((np.isfinite(wide) & (np.abs(wide) >= smallest)).all())


@dataclass
class MergeConstants(RewritePattern):
    """
    Replace (x + c) + d by x + (c + d), and likewise products, if x + c has no other use. Class: rounding.

    Not if c + d is 0: with a large c the two additions round x, which is their purpose.

    ```mlir
    %c = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %d = graph.constant dense<3.0> : tensor<f32>
    %t = graph.add %x, %c : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    %y = graph.add %d, %t : (tensor<f32>, tensor<4x2xf32>) -> tensor<4x2xf32>
    // ->
    %e = graph.constant dense<[4.0, 5.0]> : tensor<2xf32>
    %y = graph.add %x, %e : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x2xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AddOp | graph.MultiplyOp, rewriter: PatternRewriter) -> None:
        kind = type(op)
        outer = self._with_constant(op)
        if outer is None or not isinstance(inner := outer[0].owner, kind) or not outer[0].has_one_use():
            return
        found = self._with_constant(inner)
        if found is None or not found[0].type == outer[0].type == op.result.type:
            return
        a, b = cast(Numbers, found[1]), cast(Numbers, outer[1])
        with np.errstate(all="ignore"):
            merged = np.asarray(a + b if kind is graph.AddOp else a * b).astype(found[1].dtype)
        if merged.dtype.kind not in "iub" and not is_mergeable(a, merged, kind is graph.AddOp):
            return
        constant = rewriter.insert(graph.ConstantOp.of(merged, self.weights)).result
        rewriter.replace(op, kind(found[0], constant))

    def _with_constant(self, op: graph.AddOp | graph.MultiplyOp) -> tuple[SSAValue, Array] | None:
        """An operand and the array of the other one, which is constant; None if neither is constant."""
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if (array := constant_of(other, self.weights)) is not None:
                return value, array
        return None


def is_mergeable(part: Array, merged: Array, is_sum: bool) -> bool:
    """Whether a merged constant is finite, and has no underflow as a product, no cancellation as a sum."""
    if not is_sum:
        return is_regular(merged)
    cancels = (part != 0) & (merged == 0)
    return bool(np.isfinite(merged.astype(np.float64)).all() and not cancels.any())


@dataclass
class MergeIntoBias(RewritePattern):
    """
    Add a constant per channel to the constant bias of a `bias_add` with no other use. Class: rounding.

    ```mlir
    %b = graph.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %c = graph.constant dense<[[3.0], [4.0]]> : tensor<2x1xf32>
    %t = graph.bias_add %x, %b axis 1 : (tensor<1x2x3xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
    %y = graph.add %t, %c : (tensor<1x2x3xf32>, tensor<2x1xf32>) -> tensor<1x2x3xf32>
    // ->
    %d = graph.constant dense<[4.0, 6.0]> : tensor<2xf32>
    %y = graph.bias_add %x, %d axis 1 : (tensor<1x2x3xf32>, tensor<2xf32>) -> tensor<1x2x3xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AddOp, rewriter: PatternRewriter) -> None:
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            inner, added = value.owner, constant_of(other, self.weights)
            if not isinstance(inner, graph.BiasAddOp) or added is None or not value.has_one_use():
                continue
            bias = constant_of(inner.b, self.weights)
            axis = inner.axis.value.data
            vector = along_axis(added, axis, len(dims_of(value.type)))
            if bias is None or bias.ndim != 1 or vector is None or value.type != op.result.type:
                continue
            merged = np.asarray(cast(Numbers, bias) + cast(Numbers, vector)).astype(bias.dtype)
            if is_mergeable(bias, merged, is_sum=True):
                constant = rewriter.insert(graph.ConstantOp.of(merged, self.weights)).result
                rewriter.replace(op, graph.BiasAddOp(inner.x, constant, axis))
                return


@dataclass
class SimplifyConstantMask(RewritePattern):
    """
    Drop a mask of zeros, and the guard of blanked queries where a mask blanks none. Class: rounding.

    Queries whose scores overflow to -inf by themselves are as those of an attention without a mask.

    ```mlir
    %m = graph.constant dense<0.0> : tensor<3xf32>
    %n = graph.constant dense<[0.0, 0xFF800000, 1.0]> : tensor<3xf32>
    %a = graph.attention %q, %k, %k mask %m : tensor<3xf32> scale 0.5 zero_masked true
      : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %y = graph.attention %a, %k, %k mask %n : tensor<3xf32> scale 0.5 zero_masked true
      : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    // ->
    %n = graph.constant dense<[0.0, 0xFF800000, 1.0]> : tensor<3xf32>
    %a = graph.attention %q, %k, %k scale 0.5
      : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    %y = graph.attention %a, %k, %k mask %n : tensor<3xf32> scale 0.5
      : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AttentionOp, rewriter: PatternRewriter) -> None:
        if op.mask is None or (mask := constant_of(op.mask, self.weights)) is None or mask.size == 0:
            return
        numbers = mask.astype(np.float64)
        is_neutral, blanks = not numbers.any(), bool((numbers == -np.inf).all(-1).any())
        is_guarded = bool(op.zero_masked.value.data)
        if is_neutral or (is_guarded and not blanks):
            kept = None if is_neutral else op.mask
            scale = op.scale.value.data
            rewriter.replace(op, graph.AttentionOp(op.q, op.k, op.v, kept, scale=scale))
