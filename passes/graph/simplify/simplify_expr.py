"""`simplify-expr`: algebraic simplification of the graph until no pattern matches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.structure import constant_of
from stepwell.passes.analysis.dead_ops import erase_dead_ops
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.graph.simplify.algebra_patterns import algebra_patterns
from stepwell.passes.graph.simplify.constant_patterns import (
    MergeConstants,
    MergeIntoBias,
    MultiplyByReciprocal,
    SimplifyConstantMask,
)
from stepwell.passes.graph.simplify.movement_patterns import MOVEMENT_PATTERNS
from stepwell.passes.graph.simplify.slice_patterns import slice_patterns
from stepwell.passes.graph.simplify.view_patterns import ElementwiseBeforeView
from stepwell.passes.graph.simplify.window_patterns import DropPointsOnPads, HalveByMeans
from stepwell.patterns.driver.greedy import GreedyPatterns
from stepwell.runtime.files.weights import WeightStore


@dataclass(frozen=True)
class SimplifyExprPass(FunctionPass):
    """
    Apply algebraic patterns until none matches.

    They are the patterns of this file, `movement_patterns`, `slice_patterns`, `view_patterns`,
    `window_patterns`, `constant_patterns` and `algebra_patterns`. Each leaves fewer or cheaper ops, or the
    same number in an order in which more of them merge. Dead ops are erased.

    Class: exact, and rounding where a pattern of `constant_patterns` or `algebra_patterns` says so.
    """

    name = "simplify-expr"
    opt_level = 1
    numerics = Numerics.ROUNDING

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        weights = weights_of(ctx)
        arithmetic = [
            DropNeutralOperand(weights),
            UseConstantCondition(weights),
            MultiplyByReciprocal(weights),
            MergeConstants(weights),
            MergeIntoBias(weights),
            SimplifyConstantMask(weights),
            ElementwiseBeforeView(),
            ProjectTuple(),
            DropPointsOnPads(),
            HalveByMeans(),
            *algebra_patterns(weights),
        ]
        # Again after dead ops are erased: some patterns depend on the uses of a value.
        patterns = GreedyPatterns(func.body, [*MOVEMENT_PATTERNS, *slice_patterns(weights), *arithmetic])
        while patterns.apply():
            erase_dead_ops(func.body.block)


class ProjectTuple(RewritePattern):
    """
    Replace `graph.get` of a `graph.tuple` by the tuple's operand.

    ```mlir
    %t = graph.tuple %a, %b : tensor<2xf32>, tensor<3xf32>
    %c = graph.get %t[1] : tuple<tensor<2xf32>, tensor<3xf32>> -> tensor<3xf32>
    %y = graph.neg %c : tensor<3xf32> -> tensor<3xf32>
    // ->
    %y = graph.neg %b : tensor<3xf32> -> tensor<3xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.GetOp, rewriter: PatternRewriter) -> None:
        if isinstance(inner := op.input.owner, graph.TupleOp):
            rewriter.replace(op, [], [inner.fields[op.index.value.data]])


@dataclass
class DropNeutralOperand(RewritePattern):
    """
    Replace x + 0, x - 0, x * 1, x / 1 by x, unless the op broadcasts x; the sign of -0 + 0 may change. Class:
    exact.

    ```mlir
    %c = graph.constant dense<0.0> : tensor<f32>
    %t = graph.add %x, %c : (tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
    %y = graph.neg %t : tensor<2xf32> -> tensor<2xf32>
    // ->
    %c = graph.constant dense<0.0> : tensor<f32>
    %y = graph.neg %x : tensor<2xf32> -> tensor<2xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self,
        op: graph.AddOp | graph.SubtractOp | graph.MultiplyOp | graph.DivideOp,
        rewriter: PatternRewriter,
    ) -> None:
        neutral = 0 if isinstance(op, graph.AddOp | graph.SubtractOp) else 1
        commutes = isinstance(op, graph.AddOp | graph.MultiplyOp)
        sides = [(op.lhs, op.rhs), (op.rhs, op.lhs)] if commutes else [(op.lhs, op.rhs)]
        for kept, other in sides:
            if kept.type == op.result.type and self._is(other, neutral):
                rewriter.replace(op, [], [kept])
                return

    def _is(self, value: SSAValue, number: int) -> bool:
        array = constant_of(value, self.weights)
        return array is not None and array.size > 0 and bool(np.all(array == np.array(number, array.dtype)))


@dataclass
class UseConstantCondition(RewritePattern):
    """
    Replace `where` under a condition that is the same constant everywhere by an operand of the result's type.

    ```mlir
    %c = graph.constant dense<true> : tensor<i1>
    %t = graph.where %c, %a, %b : (tensor<i1>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %y = graph.neg %t : tensor<2xf32> -> tensor<2xf32>
    // ->
    %c = graph.constant dense<true> : tensor<i1>
    %y = graph.neg %a : tensor<2xf32> -> tensor<2xf32>
    ```
    """

    weights: WeightStore

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.WhereOp, rewriter: PatternRewriter) -> None:
        condition = constant_of(op.condition, self.weights)
        if condition is None or not condition.size or (condition != condition.flat[0]).any():
            return
        chosen = op.on_true if condition.flat[0] else op.on_false
        if chosen.type == op.result.type:
            rewriter.replace(op, [], [chosen])
