"""
A fault planted into simplify-expr, as a plugin for `--load`: a rewrite subtracts where a model adds.

`tests/support/faults.py` writes more of them, for every level.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.passes.graph.simplify.simplify_expr import SimplifyExprPass
from stepwell.patterns import register_predicate
from stepwell.patterns.driver.greedy import apply_patterns_once

_plain = SimplifyExprPass.apply


@register_predicate("fault_simplify.any")
def _any(value: SSAValue) -> bool:  # pyright: ignore[reportUnusedFunction]  # a plugin registers something
    return True


class SubtractInstead(RewritePattern):
    """A subtraction in the place of an addition."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.AddOp, rewriter: PatternRewriter) -> None:
        """Replace an addition."""
        rewriter.replace(op, graph.SubtractOp(op.operands[0], op.operands[1]))


def _apply(self: SimplifyExprPass, ctx: Context, op: ModuleOp) -> None:
    _plain(self, ctx, op)
    apply_patterns_once(op.walk(), [SubtractInstead()])


SimplifyExprPass.apply = _apply
