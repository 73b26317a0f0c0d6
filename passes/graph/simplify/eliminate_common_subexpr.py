"""`eliminate-common-subexpr`: ops that compute the same from the same values merge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Set
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import Commutative, IsolatedFromAbove, is_side_effect_free

from stepwell.dialects import graph
from stepwell.dialects.types import WeightAttr, dims_of
from stepwell.passes.base import FunctionPass
from stepwell.passes.options import named_ops


@dataclass(frozen=True)
class EliminateCommonSubexprPass(FunctionPass):
    """
    Replace each op without effects by an earlier one of the same kind, attributes, types and operands.

    ```mlir
    %a = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    %b = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    %y = graph.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // ->
    %a = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    %y = graph.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ```
    Operands of commutative ops are compared in any order, constants bit by bit. Ops with regions stay.

    Class: exact.
    """

    name = "eliminate-common-subexpr"

    skip: tuple[str, ...] = ()
    """Names of ops that are not merged, such as `constant` or `graph.constant`."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        skipped = named_ops(self.skip, ctx)
        for block in func.body.blocks:
            _merge(block, {}, skipped)


def _merge(block: Block, outer: dict[Hashable, Operation], skipped: Set[str]) -> None:
    """Merge equal ops of a block, and of the blocks inside it, with each other and with those in `outer`."""
    seen = dict(outer)
    for op in list(block.ops):
        for region in op.regions:
            for inner in region.blocks:
                _merge(inner, {} if op.has_trait(IsolatedFromAbove) else seen, skipped)
        if op.name in skipped or op.regions or not op.results or not is_side_effect_free(op):
            continue
        first = seen.setdefault(_key(op), op)
        if first is not op:
            Rewriter.replace_op(op, [], list(first.results))


def _key(op: Operation) -> Hashable:
    """The hash key of an op for CSE: class, operands (a multiset if it commutes), types, attributes."""
    operands = tuple(map(_operand_key, op.operands))
    return (
        type(op),
        frozenset(Counter(operands).items()) if op.has_trait(Commutative) else operands,
        tuple(op.result_types),
        frozenset(op.properties.items()),
        frozenset(op.attributes.items()),
    )


def _operand_key(value: SSAValue) -> Hashable:
    """The hash key of an operand: a scalar constant's number, since skipped constants stay separate ops."""
    op = value.owner
    if isinstance(op, graph.ConstantOp) and not isinstance(op.value, WeightAttr) and _is_scalar(value):
        return op.value
    return value


def _is_scalar(value: SSAValue) -> bool:
    return all(dim == 1 for dim in dims_of(value.type))
