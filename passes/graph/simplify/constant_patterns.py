"""Patterns of `simplify-expr` on constant operands: constants merge, divisions become multiplications."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.graph.structure import constant_of
from stepwell.dialects.types import dims_of
from stepwell.passes.graph.constant_operands import along_axis
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array

Numbers: TypeAlias = npt.NDArray[np.number]


@dataclass
class MultiplyByReciprocal(RewritePattern):
    """
    Replace x / c by x * (1 / c) for a float c whose reciprocal is neither 0 nor infinite. Class: rounding.

    A result of one element stays a division: there is nothing to gain, and as the scale of a quantization the
    other rounding moves a zero point that is half way between two numbers.

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
        with np.errstate(all="ignore"):
            inverse = np.asarray(1 / cast(Numbers, divisor)).astype(divisor.dtype)
        if is_regular(inverse):
            factor = rewriter.insert(graph.ConstantOp.of(inverse, self.weights)).result
            rewriter.replace(op, graph.MultiplyOp(op.lhs, factor))


def is_regular(array: Array) -> bool:
    """Whether all numbers of an array are finite, and none is 0 or denormal, which has lost digits."""
    finfo: Any = ml_dtypes.finfo  # numpy's own does not know bfloat16
    wide, smallest = array.astype(np.float64), float(finfo(array.dtype).smallest_normal)
    return bool((np.isfinite(wide) & (np.abs(wide) >= smallest)).all())


@dataclass
class MergeConstants(RewritePattern):
    """
    Replace (x + c) + d by x + (c + d), and likewise products, if x + c has no other use. Class: rounding.

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
        if merged.dtype.kind not in "iub" and not is_mergeable(merged, kind is graph.AddOp):
            return
        constant = rewriter.insert(graph.ConstantOp.of(merged, self.weights)).result
        rewriter.replace(op, kind(found[0], constant))

    def _with_constant(self, op: graph.AddOp | graph.MultiplyOp) -> tuple[SSAValue, Array] | None:
        """An operand and the array of the other one, which is constant; None if neither is constant."""
        for value, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
            if (array := constant_of(other, self.weights)) is not None:
                return value, array
        return None


def is_mergeable(merged: Array, is_sum: bool) -> bool:
    """Whether a merged constant is finite, and, if it is a product, has no underflow."""
    finite = bool(np.isfinite(merged.astype(np.float64)).all())
    return finite if is_sum else finite and is_regular(merged)


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
            if is_mergeable(merged, is_sum=True):
                constant = rewriter.insert(graph.ConstantOp.of(merged, self.weights)).result
                rewriter.replace(op, graph.BiasAddOp(inner.x, constant, axis))
                return
