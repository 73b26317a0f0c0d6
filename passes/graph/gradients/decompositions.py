"""Ops that are differentiated as arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of
from stepwell.passes.graph.gradients.recurrent_parts import ExpandRnn
from stepwell.passes.graph.norm_parts import Parts, norm_patterns
from stepwell.runtime.dims import Dim
from stepwell.runtime.files.weights import WeightStore

DECOMPOSED = (
    *(graph.BatchNormOp, graph.LayerNormOp, graph.RmsNormOp, graph.InstanceNormOp, graph.GroupNormOp),
    *(graph.LrnOp, graph.RnnOp),
)
"""The ops that `decompositions` replace."""


def decompositions(weights: WeightStore) -> Sequence[RewritePattern]:
    """The patterns that replace ops without a rule by ops with one."""
    norms = {name: pattern for name, pattern in norm_patterns(weights).items() if name != "lp_norm"}
    return [
        *{id(pattern): pattern for pattern in norms.values()}.values(),
        ExpandLrn(weights),
        ExpandRnn(weights),
    ]


@dataclass
class ExpandLrn(RewritePattern):
    """
    Expand a local response norm: squares are averaged over windows of channels, by a pool.

    ```mlir
    %y = graph.lrn %x size 3 alpha 1.0 beta 0.75 bias 1.0 : tensor<1x5x2xf32> -> tensor<1x5x2xf32>
    // ->
    %0 = graph.multiply %x, %x : (tensor<1x5x2xf32>, tensor<1x5x2xf32>) -> tensor<1x5x2xf32>
    %1 = graph.reshape %0 shape <[1, 1, 5, 2]> : tensor<1x5x2xf32> -> tensor<1x1x5x2xf32>
    %2 = graph.pool %1 kind "avg" kernel [3, 1] strides [1, 1] dilations [1, 1] pads [1, 0, 1, 0]
      count_include_pad true : tensor<1x1x5x2xf32> -> tensor<1x1x5x2xf32>
    %3 = graph.reshape %2 shape <[1, 5, 2]> : tensor<1x1x5x2xf32> -> tensor<1x5x2xf32>
    %4 = graph.constant dense<1.0> : tensor<f32>
    %5 = graph.multiply %3, %4 : (tensor<1x5x2xf32>, tensor<f32>) -> tensor<1x5x2xf32>
    %6 = graph.constant dense<1.0> : tensor<f32>
    %7 = graph.add %5, %6 : (tensor<1x5x2xf32>, tensor<f32>) -> tensor<1x5x2xf32>
    %8 = graph.constant dense<0.75> : tensor<f32>
    %9 = graph.power %7, %8 : (tensor<1x5x2xf32>, tensor<f32>) -> tensor<1x5x2xf32>
    %y = graph.divide %x, %9 : (tensor<1x5x2xf32>, tensor<1x5x2xf32>) -> tensor<1x5x2xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.LrnOp, rewriter: PatternRewriter) -> None:
        parts, x, dims = Parts(rewriter, self.weights), op.input, dims_of(op.input.type)
        size = op.size.value.data
        before = (size - 1) // 2
        flat = parts.reshape(parts.multiply(x, x), [dims[0], 1, dims[1], prod(dims[2:], start=Dim.of(1))])
        pads = [before, 0, size - 1 - before, 0]
        pool = rewriter.insert(graph.PoolOp(flat, "avg", [size, 1], pads=pads, count_include_pad=True))
        mean = parts.reshape(pool.outputs[0], dims)
        scaled = parts.multiply(mean, parts.scalar(op.alpha.value.data, x))
        base = parts.add(scaled, parts.scalar(op.bias.value.data, x))
        power = rewriter.insert(graph.PowerOp(base, parts.scalar(op.beta.value.data, x))).result
        rewriter.replace(op, graph.DivideOp(x, power))
