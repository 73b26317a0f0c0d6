"""`simplify-inference`: operators of training and normalization as the arithmetic that inference needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue, TypeAttribute
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.types import dims_of, dtype_of, tensor_of
from stepwell.passes.base import FunctionPass
from stepwell.passes.graph.rules import apply_rules
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.weights import WeightStore


@dataclass(frozen=True)
class SimplifyInferencePass(FunctionPass):
    """
    Replace normalization with statistics that are given by a multiplication and an addition per channel.

    With constant statistics, `fold-constant` leaves one vector of each, and `fold-scale-axis` then moves the
    multiplication into the weights of a convolution.

    Class: rounding.
    """

    name = "simplify-inference"
    opt_level = 1

    only: tuple[str, ...] = ()
    """Names of the operators to replace, without dialect; all that have a rule when empty."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        rules = dict(_rules(weights_of(ctx)))
        if unknown := [name for name in self.only if name not in rules]:
            raise StepwellError(
                "bad-option",
                None,
                f"simplify-inference has no rule for {', '.join(unknown)}",
                help=f"it has rules for {', '.join(rules)}",
            )
        apply_rules(func.body, [rule for name, rule in rules.items() if name in self.only or not self.only])


def _rules(weights: WeightStore) -> Mapping[str, RewritePattern]:
    return {"batch_norm": ExpandBatchNorm(weights)}


@dataclass
class ExpandBatchNorm(RewritePattern):
    """
    Scale and shift per channel: `scale / sqrt(variance + eps)` and `bias - mean * that`.

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
        element = tensor_of(op.variance).element_type
        eps = np.array(op.eps.value.data).astype(dtype_of(element))
        epsilon = rewriter.insert(graph.ConstantOp.of(eps, self.weights)).result
        scale = rewriter.insert(graph.RsqrtOp(self._add(op.variance, epsilon, rewriter))).result
        if op.scale is not None:
            scale = self._multiply(op.scale, scale, rewriter)
        moved = self._multiply(op.mean, scale, rewriter)
        if op.bias is None:
            shift = rewriter.insert(graph.NegOp(moved)).result
        else:
            shift = rewriter.insert(graph.SubtractOp(op.bias, moved)).result
        scale, shift = (self._as_input(op, value, rewriter) for value in (scale, shift))
        axis, rank = op.axis.value.data, len(dims_of(op.input.type))
        if axis < rank - 1:
            scale = rewriter.insert(graph.ExpandDimsOp(scale, range(1, rank - axis))).result
        scaled = self._multiply(op.input, scale, rewriter)
        rewriter.replace(op, graph.BiasAddOp(scaled, shift, axis))

    def _add(self, a: SSAValue, b: SSAValue, rewriter: PatternRewriter) -> SSAValue:
        return rewriter.insert(graph.AddOp(a, b)).result

    def _multiply(self, a: SSAValue, b: SSAValue, rewriter: PatternRewriter) -> SSAValue:
        return rewriter.insert(graph.MultiplyOp(a, b)).result

    def _as_input(self, op: graph.BatchNormOp, value: SSAValue, rewriter: PatternRewriter) -> SSAValue:
        """Statistics may be of a wider type than the input."""
        element = tensor_of(op.input).element_type
        if tensor_of(value).element_type == element:
            return value
        assert isinstance(element, TypeAttribute)
        return rewriter.insert(graph.CastOp(value, element)).result
