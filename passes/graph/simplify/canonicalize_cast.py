"""`canonicalize-cast`: a widening cast for each user, so that each can be fused with its user."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects.types import dtype_of, tensor_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.patterns.driver.greedy import apply_patterns


@dataclass(frozen=True)
class CanonicalizeCastPass(FunctionPass):
    """
    Clone widening casts for each user: kernels then read the narrow tensor, and no wide one is written.

    Class: exact. Runs after the last `eliminate-common-subexpr`, which would merge the clones, and directly
    before `fuse-ops`.
    Source: TVM's CanonicalizeCast.
    """

    name = "canonicalize-cast"
    numerics = Numerics.EXACT

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        apply_patterns(func.body, [CloneWideningCast()])


class CloneWideningCast(RewritePattern):
    """
    Clone a cast to more bits for each of its users.

    ```mlir
    %c = graph.cast %x to f32 saturate true round "nearest" : tensor<4xi8> -> tensor<4xf32>
    %y = graph.exp %c : tensor<4xf32> -> tensor<4xf32>
    %z = graph.neg %c : tensor<4xf32> -> tensor<4xf32>
    // ->
    %d = graph.cast %x to f32 saturate true round "nearest" : tensor<4xi8> -> tensor<4xf32>
    %y = graph.exp %d : tensor<4xf32> -> tensor<4xf32>
    %e = graph.cast %x to f32 saturate true round "nearest" : tensor<4xi8> -> tensor<4xf32>
    %z = graph.neg %e : tensor<4xf32> -> tensor<4xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.CastOp, rewriter: PatternRewriter) -> None:
        narrow, wide = (dtype_of(tensor_of(value).element_type) for value in (op.input, op.result))
        users = list(dict.fromkeys(use.operation for use in op.result.uses))
        if wide.itemsize <= narrow.itemsize or len(users) < 2:
            return
        for user in users:
            copy = rewriter.insert(op.clone(), InsertPoint.before(user))
            copy.result.name_hint = op.result.name_hint
            for index, operand in enumerate(user.operands):
                if operand is op.result:
                    user.operands[index] = copy.result
            rewriter.notify_op_modified(user)
        rewriter.erase(op)
