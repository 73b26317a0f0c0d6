"""`fuse-ops`: decides the kernels; every computing op ends up in exactly one `graph.fused`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.locations import fused_location
from stepwell.dialects.types import WeightAttr, tensor_of
from stepwell.passes.base import FunctionPass
from stepwell.passes.graph.fusion_groups import fusion_groups


@dataclass(frozen=True)
class FuseOpsPass(FunctionPass):
    """
    Put computing ops into kernels (PASSES: fusion by op kinds and post-dominators).

    A contraction or a row takes the elementwise ops that follow it, up to where all its uses meet again;
    elementwise chains and diamonds become one kernel; every other op is a kernel by itself. Constants of one
    element go inside, all else that a kernel reads becomes its operand. Constants, views, tuples and calls
    stay outside.

    Class: exact. Needs nothing; leaves no computing op outside a `graph.fused`.
    Source: Relay's FuseOps.
    """

    name = "fuse-ops"

    max_ops: int = 64
    """The most ops that a kernel holds."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        for block in [block for block in _blocks(func) if not isinstance(block.parent_op(), graph.FusedOp)]:
            for ops in fusion_groups(block, self.max_ops):
                fuse(ops)


def _blocks(func: FuncOp) -> list[Block]:
    return [block for op in func.walk() for region in op.regions for block in region.blocks]


def fuse(ops: Sequence[GraphOp]) -> graph.FusedOp:
    """
    Move ops of one block, in order, into a kernel in place of the last one, whose results it returns.

    Only results of the last op may be used outside.
    """
    root = ops[-1]
    inside = set[Operation](ops)
    outer = dict.fromkeys(value for op in ops for value in op.operands if value.owner not in inside)
    embedded = [value.owner for value in outer if _is_scalar_constant(value)]
    operands = [value for value in outer if not _is_scalar_constant(value)]
    results = [result for result in root.results if result.first_use is not None] or list(root.results)

    block = Block(arg_types=[value.type for value in operands])
    replacements: dict[SSAValue, SSAValue] = dict(zip(operands, block.args, strict=True))
    for value, arg in replacements.items():
        arg.name_hint = value.name_hint
    for constant in cast("list[graph.ConstantOp]", embedded):
        block.add_op(copy := constant.clone())
        replacements[constant.result] = copy.result
    fused = graph.FusedOp(operands, [result.type for result in results], Region(block))
    fused.location = fused_location(ops)  # pyright: ignore[reportAttributeAccessIssue]
    Rewriter.insert_op(fused, InsertPoint.before(root))
    for result, fused_result in zip(results, fused.results, strict=True):
        fused_result.name_hint = result.name_hint
        result.replace_all_uses_with(fused_result)
    for op in ops:
        op.detach()
        block.add_op(op)
        for i, value in enumerate(op.operands):
            if value in replacements:
                op.operands[i] = replacements[value]
    block.add_op(graph.YieldOp(results))
    return fused


def _is_scalar_constant(value: SSAValue) -> bool:
    if not isinstance(value.owner, graph.ConstantOp):
        return False
    constant = value.owner.value
    return not isinstance(constant, WeightAttr) and prod(tensor_of(value).get_shape()) == 1
