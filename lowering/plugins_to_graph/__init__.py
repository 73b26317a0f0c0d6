"""`convert-plugins-to-graph`: ops of plugins to graph ops, by the lowerings that the plugins register."""

from __future__ import annotations

from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from stepwell.dialects._xdsl import DECORATED_OPS
from stepwell.lowering.plugin_lowerings import LOWERINGS, Call, Lowering
from stepwell.passes.base import Pass, agree_with_return, functions_of
from stepwell.patterns.driver.conversion import convert

__all__ = ["ConvertPluginsToGraphPass"]


class ConvertPluginsToGraphPass(Pass):
    """
    Lower ops of plugins to `graph`, by the functions and patterns registered with `@lower`.

    Ops without a lowering stay: a backend may compute them.
    """

    name = "convert-plugins-to-graph"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns = [RegisteredLowering(lowering) for _, lowering in LOWERINGS.items()]
        if not patterns:
            return
        convert(op, patterns, illegal=list(LOWERINGS), convert_new_ops=True)
        for function in functions_of(op):
            agree_with_return(function)


class RegisteredLowering(RewritePattern):
    """The lowering of an op class that a plugin has registered."""

    def __init__(self, lowering: Lowering):
        # By name: a class that was defined again, such as by a cell of a notebook, has another object.
        self.takes = (DECORATED_OPS.get(lowering.op_class.name) or lowering.op_class,)
        self.origin = lowering.defined

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Call the plugin's function and replace the op by what it returns, or apply the plugin's pattern."""
        call = Call(op, op.name, self.origin)
        with call.running(rewriter):
            rewriter.operation_replacement_handler.append(call.expect_types)
            if isinstance(self.origin, type):
                cast("RewritePattern", self.origin()).match_and_rewrite(op, rewriter)
                return
            returned = self.origin(op, rewriter)
            if returned is None and op.parent is None:
                return  # the function has replaced the op itself
            values = call.results(returned, rewriter)
            if len(values) != len(op.results):
                raise call.error(f"it has {len(op.results)} results, and the lowering returns {len(values)}")
            if None in values:
                raise call.error(f"the lowering returns no value for result {values.index(None)}")
            rewriter.replace(op, [], values)
