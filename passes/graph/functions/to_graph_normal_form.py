"""`to-graph-normal-form`: the ops of each block in an order that depends on the data flow alone."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.traits import IsTerminator

from stepwell.passes.analysis.scopes import blocks_inside, dependences, post_order, reorder
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import count


@dataclass(frozen=True)
class ToGraphNormalFormPass(FunctionPass):
    """
    Put the ops of each block in a topological order given by the data flow alone: by depth, then post order.

    The depth of an op is the length of the longest path to it from the block's arguments and outer values.

    Class: exact.
    """

    name = "to-graph-normal-form"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        for block in blocks_inside(func):
            before = dependences(block)
            order = post_order(block, before)
            depth: dict[Operation, int] = {}
            for op in order:
                depth[op] = 1 + max((depth[other] for other in before[op]), default=-1)
            last = [op for op in order if op.has_trait(IsTerminator)]
            rest = [op for op in order if not op.has_trait(IsTerminator)]
            if reorder(block, [*sorted(rest, key=depth.__getitem__), *last]):
                count("blocks reordered")
