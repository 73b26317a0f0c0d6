"""`eliminate-common-subexpr`: what is computed twice from the same values is computed once."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter
from xdsl.traits import Commutative, IsolatedFromAbove, is_side_effect_free

from stepwell.passes.base import FunctionPass


@dataclass(frozen=True)
class EliminateCommonSubexprPass(FunctionPass):
    """
    Of two ops without effects that are equal in kind, attributes, types and operands, keep the first.

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
    """Names of ops that are left alone, such as `graph.constant`."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        for block in func.body.blocks:
            self._merge(block, {})

    def _merge(self, block: Block, outer: dict[Hashable, Operation]) -> None:
        """Merge the ops of a block with each other and with those of the blocks around it."""
        seen = dict(outer)
        for op in list(block.ops):
            for region in op.regions:
                for inner in region.blocks:
                    self._merge(inner, {} if op.has_trait(IsolatedFromAbove) else seen)
            if op.name in self.skip or op.regions or not op.results or not is_side_effect_free(op):
                continue
            first = seen.setdefault(_key(op), op)
            if first is not op:
                Rewriter.replace_op(op, [], list(first.results))


def _key(op: Operation) -> Hashable:
    operands: tuple[SSAValue, ...] = tuple(op.operands)
    if op.has_trait(Commutative):
        operands = tuple(sorted(operands, key=id))
    return (
        type(op),
        operands,
        tuple(op.result_types),
        frozenset(op.properties.items()),
        frozenset(op.attributes.items()),
    )
