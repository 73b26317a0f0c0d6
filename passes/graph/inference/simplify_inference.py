"""`simplify-inference`: normalization ops are replaced by the arithmetic that inference needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph_ir.refine import refine_types
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.graph.norm_parts import (
    ExpandChannelNorm,
    ExpandLayerNorm,
    ExpandLpNorm,
    ExpandRmsNorm,
    Parts,
)
from stepwell.passes.options import expect_rewrites
from stepwell.patterns.driver.greedy import apply_patterns
from stepwell.runtime.files.weights import WeightStore


@dataclass(frozen=True)
class SimplifyInferencePass(FunctionPass):
    """
    Replace batch norm by a multiplication and an addition per channel, other norms by their arithmetic.

    With constant statistics, `fold-constant` computes the two vectors, and `fold-scale-axis` then moves the
    multiplication into the weights of a convolution. The default pipeline replaces batch norm only: the other
    norms have kernels of their own.

    Class: rounding.
    """

    name = "simplify-inference"
    opt_level = 1
    numerics = Numerics.ROUNDING

    only: tuple[str, ...] = ()
    """Names of the operators to replace, without dialect; all that have a pattern when empty."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        known = _patterns(weights_of(ctx))
        expect_rewrites(self.name, self.only, known)
        chosen = {id(known[name]): known[name] for name in known if name in self.only or not self.only}
        if apply_patterns(func.body, list(chosen.values())):
            refine_types(func)  # a broadcast's result knows the sizes of the statistics and of the input


def _patterns(weights: WeightStore) -> Mapping[str, RewritePattern]:
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
    Replace batch norm by a factor a channel, f = scale / sqrt(variance + eps), and a shift, bias - mean * f.

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
        epsilon = parts.scalar(op.eps.value.data, op.variance)
        scale = parts.rsqrt(parts.add(op.variance, epsilon))
        if op.scale is not None:
            scale = parts.multiply(op.scale, scale)
        moved = parts.multiply(op.mean, scale)
        shift = parts.negate(moved) if op.bias is None else parts.subtract(op.bias, moved)
        element, rank = tensor_of(op.input).element_type, len(dims_of(op.input.type))
        axis = op.axis.value.data
        scaled = parts.multiply(op.input, parts.along(parts.cast(scale, element), axis, rank))
        rewriter.replace(op, graph.BiasAddOp(scaled, parts.cast(shift, element), axis))
