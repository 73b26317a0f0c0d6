"""Patterns of `simplify-inference` that expand normalizations of rows or groups to arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue, TypeAttribute
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.types import DimLike, dims_of, dtype_of, tensor_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore


@dataclass
class Parts:
    """A builder of graph ops at a rewriter's insertion point, for the arithmetic that replaces an op."""

    rewriter: Builder
    weights: WeightStore

    def scalar(self, number: float, like: SSAValue) -> SSAValue:
        """A scalar constant in the element type of `like`."""
        array = np.array(number).astype(dtype_of(tensor_of(like).element_type))
        return self.rewriter.insert(graph.ConstantOp.of(array, self.weights)).result

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`graph.add`."""
        return self.rewriter.insert(graph.AddOp(a, b)).result

    def subtract(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`graph.subtract`."""
        return self.rewriter.insert(graph.SubtractOp(a, b)).result

    def multiply(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`graph.multiply`."""
        return self.rewriter.insert(graph.MultiplyOp(a, b)).result

    def divide(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """`graph.divide`."""
        return self.rewriter.insert(graph.DivideOp(a, b)).result

    def negate(self, a: SSAValue) -> SSAValue:
        """`graph.neg`."""
        return self.rewriter.insert(graph.NegOp(a)).result

    def rsqrt(self, a: SSAValue) -> SSAValue:
        """`graph.rsqrt`, one over the square root."""
        return self.rewriter.insert(graph.RsqrtOp(a)).result

    def reduce(self, a: SSAValue, kind: str, axes: Sequence[int]) -> SSAValue:
        """`graph.reduce` with `keep_dims`: the reduced axes remain with size 1."""
        return self.rewriter.insert(graph.ReduceOp(a, kind, axes, keep_dims=True)).result

    def cast(self, a: SSAValue, element: Attribute) -> SSAValue:
        """`graph.cast` to an element type; the tensor itself if it has that type already."""
        if tensor_of(a).element_type == element:
            return a
        assert isinstance(element, TypeAttribute)
        return self.rewriter.insert(graph.CastOp(a, element)).result

    def widened(self, a: SSAValue) -> SSAValue:
        """A tensor of narrow floats in f32; others as they are."""
        element = tensor_of(a).element_type
        return self.cast(a, f32 if dtype_of(element).itemsize < 4 else element)

    def reshape(self, a: SSAValue, shape: Sequence[DimLike]) -> SSAValue:
        """`graph.reshape`."""
        return self.rewriter.insert(graph.ReshapeOp(a, shape)).result

    def along(self, vector: SSAValue, axis: int, rank: int) -> SSAValue:
        """A vector with 1s appended to its shape: it broadcasts along `axis` of a tensor of this rank."""
        trailing = rank - 1 - axis
        if not trailing:
            return vector
        return self.rewriter.insert(graph.ExpandDimsOp(vector, range(1, trailing + 1))).result

    def statistics(self, x: SSAValue, axes: Sequence[int], eps: float) -> tuple[SSAValue, SSAValue, SSAValue]:
        """Mean, x - mean, and 1 / sqrt(variance + eps) along axes, which remain with size 1."""
        mean = self.reduce(x, "mean", axes)
        centred = self.subtract(x, mean)
        variance = self.reduce(self.multiply(centred, centred), "mean", axes)
        return mean, centred, self.rsqrt(self.add(variance, self.scalar(eps, variance)))


@dataclass
class ExpandLayerNorm(RewritePattern):
    """
    Expand a layer norm: subtract each row's mean, and divide the row by its standard deviation.

    ```mlir
    %y = graph.layer_norm %x axis 1 eps 1.0e-5 compute_type f32 : tensor<2x4xf32> -> tensor<2x4xf32>
    // ->
    %0 = graph.reduce %x kind "mean" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
    %1 = graph.subtract %x, %0 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    %2 = graph.multiply %1, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %3 = graph.reduce %2 kind "mean" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
    %4 = graph.constant dense<1.0e-5> : tensor<f32>
    %5 = graph.add %3, %4 : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
    %6 = graph.rsqrt %5 : tensor<2x1xf32> -> tensor<2x1xf32>
    %y = graph.multiply %1, %6 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LayerNormOp, rewriter: PatternRewriter) -> None:
        parts = Parts(rewriter, self.weights)
        axes = range(op.axis.value.data, len(dims_of(op.input.type)))
        wide = parts.cast(op.input, op.compute_type)
        mean, centred, inverse = parts.statistics(wide, axes, op.eps.value.data)
        result = _scaled(parts, parts.multiply(centred, inverse), op.scale, op.bias)
        results = [parts.cast(result, tensor_of(op.result).element_type), mean, inverse]
        given = [op.result, op.mean, op.inv_std]
        kept = [new for new, old in zip(results, given, strict=True) if old is not None]
        rewriter.replace(op, [], kept)


@dataclass
class ExpandRmsNorm(RewritePattern):
    """
    Expand an RMS norm: divide each row by the root of the mean of its squares.

    ```mlir
    %y = graph.rms_norm %x axis 1 eps 1.0e-5 compute_type f32 : tensor<2x4xf32> -> tensor<2x4xf32>
    // ->
    %0 = graph.multiply %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %1 = graph.reduce %0 kind "mean" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
    %2 = graph.constant dense<1.0e-5> : tensor<f32>
    %3 = graph.add %1, %2 : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
    %4 = graph.rsqrt %3 : tensor<2x1xf32> -> tensor<2x1xf32>
    %y = graph.multiply %x, %4 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.RmsNormOp, rewriter: PatternRewriter) -> None:
        parts = Parts(rewriter, self.weights)
        axes = range(op.axis.value.data, len(dims_of(op.input.type)))
        wide = parts.cast(op.input, op.compute_type)
        square = parts.reduce(parts.multiply(wide, wide), "mean", axes)
        inverse = parts.rsqrt(parts.add(square, parts.scalar(op.eps.value.data, square)))
        result = _scaled(parts, parts.multiply(wide, inverse), op.scale, op.bias)
        rewriter.replace(op, [], [parts.cast(result, tensor_of(op.result).element_type)])


def _scaled(parts: Parts, x: SSAValue, scale: SSAValue | None, bias: SSAValue | None) -> SSAValue:
    """x · scale + bias; a scale or bias of None is left out."""
    element = tensor_of(x).element_type
    if scale is not None:
        x = parts.multiply(x, parts.cast(scale, element))
    return x if bias is None else parts.add(x, parts.cast(bias, element))


@dataclass
class ExpandChannelNorm(RewritePattern):
    """
    Expand an instance or group norm: normalize each channel or group of channels, at least in f32.

    ```mlir
    %y = graph.instance_norm %x eps 1.0e-5 : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    // ->
    %0 = graph.reshape %x shape <[2, 3, 4]> : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    %1 = graph.reduce %0 kind "mean" axes [2] keep_dims true : tensor<2x3x4xf32> -> tensor<2x3x1xf32>
    %2 = graph.subtract %0, %1 : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
    %3 = graph.multiply %2, %2 : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    %4 = graph.reduce %3 kind "mean" axes [2] keep_dims true : tensor<2x3x4xf32> -> tensor<2x3x1xf32>
    %5 = graph.constant dense<1.0e-5> : tensor<f32>
    %6 = graph.add %4, %5 : (tensor<2x3x1xf32>, tensor<f32>) -> tensor<2x3x1xf32>
    %7 = graph.rsqrt %6 : tensor<2x3x1xf32> -> tensor<2x3x1xf32>
    %8 = graph.multiply %2, %7 : (tensor<2x3x4xf32>, tensor<2x3x1xf32>) -> tensor<2x3x4xf32>
    %y = graph.reshape %8 shape <[2, 3, 4]> : tensor<2x3x4xf32> -> tensor<2x3x4xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.InstanceNormOp | graph.GroupNormOp, rewriter: PatternRewriter
    ) -> None:
        parts = Parts(rewriter, self.weights)
        dims = dims_of(op.input.type)
        groups = dims[1] if isinstance(op, graph.InstanceNormOp) else Dim.of(op.groups.value.data)
        element = tensor_of(op.input).element_type
        inside = prod(dims[2:], start=dims[1] // groups)
        grouped = parts.reshape(parts.widened(op.input), [dims[0], groups, inside])
        _, centred, inverse = parts.statistics(grouped, [2], op.eps.value.data)
        normal = parts.reshape(parts.multiply(centred, inverse), dims)
        vectors = [
            None if vector is None else parts.along(vector, 1, len(dims)) for vector in (op.scale, op.bias)
        ]
        rewriter.replace(op, [], [parts.cast(_scaled(parts, normal, *vectors), element)])


@dataclass
class ExpandLpNorm(RewritePattern):
    """
    Expand an Lp norm: divide each row by its L1 or L2 norm; a row of zeros stays zeros.

    ```mlir
    %y = graph.lp_norm %x axis 1 p 2 : tensor<2x3xf32> -> tensor<2x3xf32>
    // ->
    %0 = graph.reduce %x kind "l2" axes [1] keep_dims true : tensor<2x3xf32> -> tensor<2x1xf32>
    %1 = graph.constant dense<0.0> : tensor<f32>
    %2 = graph.equal %0, %1 : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xi1>
    %3 = graph.divide %x, %0 : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
    %y = graph.where %2, %1, %3 : (tensor<2x1xi1>, tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LpNormOp, rewriter: PatternRewriter) -> None:
        parts = Parts(rewriter, self.weights)
        norm = parts.reduce(op.input, f"l{op.p.value.data}", [op.axis.value.data])
        zero = parts.scalar(0, norm)
        is_zero = rewriter.insert(graph.EqualOp(norm, zero)).result
        rewriter.replace(op, graph.WhereOp(is_zero, zero, parts.divide(op.input, norm)))


def norm_patterns(weights: WeightStore) -> Mapping[str, RewritePattern]:
    """The patterns by the name of the op that each replaces."""
    channel_norm = ExpandChannelNorm(weights)
    return {
        "batch_norm": ExpandBatchNorm(weights),
        "layer_norm": ExpandLayerNorm(weights),
        "rms_norm": ExpandRmsNorm(weights),
        "instance_norm": channel_norm,
        "group_norm": channel_norm,
        "lp_norm": ExpandLpNorm(weights),
    }


@dataclass
class ExpandBatchNorm(RewritePattern):
    """
    Replace batch norm by two numbers for each channel: a factor f = scale / sqrt(variance + eps), and a
    shift, bias - mean * f.

    Narrow floats are computed in f32 and rounded once, except after a contraction: there its narrow weights
    are multiplied by the factor.

    ```mlir
    %y = graph.batch_norm %x mean %m variance %v eps 1.0e-5 axis 1
      : (tensor<1x3x4xf32>, tensor<3xf32>) -> tensor<1x3x4xf32>
    // ->
    %0 = graph.constant dense<1.0e-5> : tensor<f32>
    %1 = graph.add %v, %0 : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
    %2 = graph.rsqrt %1 : tensor<3xf32> -> tensor<3xf32>
    %3 = graph.multiply %m, %2 : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %4 = graph.neg %3 : tensor<3xf32> -> tensor<3xf32>
    %5 = graph.expand_dims %2 axes [1] : tensor<3xf32> -> tensor<3x1xf32>
    %6 = graph.multiply %x, %5 : (tensor<1x3x4xf32>, tensor<3x1xf32>) -> tensor<1x3x4xf32>
    %y = graph.bias_add %6, %4 axis 1 : (tensor<1x3x4xf32>, tensor<3xf32>) -> tensor<1x3x4xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BatchNormOp, rewriter: PatternRewriter) -> None:
        parts = Parts(rewriter, self.weights)
        mean, variance = parts.widened(op.mean), parts.widened(op.variance)
        scale = parts.rsqrt(parts.add(variance, parts.scalar(op.eps.value.data, variance)))
        if op.scale is not None:
            scale = parts.multiply(parts.widened(op.scale), scale)
        moved = parts.multiply(mean, scale)
        shift = parts.negate(moved) if op.bias is None else parts.subtract(parts.widened(op.bias), moved)
        x = op.input if _is_contraction(op.input) else parts.widened(op.input)
        element, rank, axis = tensor_of(x).element_type, len(dims_of(x.type)), op.axis.value.data
        scaled = parts.multiply(x, parts.along(parts.cast(scale, element), axis, rank))
        result = rewriter.insert(graph.BiasAddOp(scaled, parts.cast(shift, element), axis)).result
        rewriter.replace(op, [], [parts.cast(result, tensor_of(op.input).element_type)])


def _is_contraction(value: SSAValue) -> bool:
    """Whether a value is the result of a contraction, with a bias or without."""
    owner = value.owner
    if isinstance(owner, graph.BiasAddOp):
        owner = owner.x.owner
    return isinstance(owner, graph.ConvOp | graph.ConvTransposeOp | graph.MatmulOp)
