"""`canonicalize-ops`: redundant ops in terms of others, for tools that support few kinds of op."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.patterns.driver.greedy import apply_patterns


@dataclass(frozen=True)
class CanonicalizeOpsPass(FunctionPass):
    """
    Replace redundant ops by general ones: `bias_add` by an addition that broadcasts.

    Class: exact. In no default pipeline, since patterns, backends and fusion look for `bias_add`.
    Source: TVM's CanonicalizeOps.
    """

    name = "canonicalize-ops"
    numerics = Numerics.EXACT

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        apply_patterns(func.body, [BiasAddAsAdd()])


class BiasAddAsAdd(RewritePattern):
    """
    Replace `bias_add` by an addition of the bias, with 1s appended to its shape for the dimensions after it.

    ```mlir
    %y = graph.bias_add %x, %b axis 1 : (tensor<1x3x4x5xf32>, tensor<3xf32>) -> tensor<1x3x4x5xf32>
    // ->
    %c = graph.expand_dims %b axes [1, 2] : tensor<3xf32> -> tensor<3x1x1xf32>
    %y = graph.add %x, %c : (tensor<1x3x4x5xf32>, tensor<3x1x1xf32>) -> tensor<1x3x4x5xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BiasAddOp, rewriter: PatternRewriter) -> None:
        bias = op.b
        trailing = len(dims_of(op.x.type)) - op.axis.value.data - len(dims_of(bias.type))
        if trailing:
            # In a blocked bias [C/16, 16] the block stays last: the 1s are inserted before it.
            bias = rewriter.insert(graph.ExpandDimsOp(bias, range(1, trailing + 1))).result
        rewriter.replace(op, graph.AddOp(op.x, bias))
