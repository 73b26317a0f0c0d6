"""`dead-code-elimination`: what nothing uses is erased, calls and cells too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free

from stepwell.passes.analysis.dead_ops import erase_dead_ops
from stepwell.passes.analysis.effects import KEPT, Effects
from stepwell.passes.base import Pass, agree_with_return, functions_of
from stepwell.passes.graph.inlining import inline_module
from stepwell.passes.graph.simplify.dead_cells import erase_written_cells, forward_reads, uses_cells


@dataclass(frozen=True)
class DeadCodeEliminationPass(Pass):
    """
    Erase every op whose results have no uses, unless it may write a cell, check, or call the host.

    ```mlir
    %r = ref.new %x : tensor<4xf32> -> !ref.cell<tensor<4xf32>>
    %a = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    ref.write %r, %a : !ref.cell<tensor<4xf32>>, tensor<4xf32>
    %b = ref.read %r : !ref.cell<tensor<4xf32>> -> tensor<4xf32>
    // ->
    %a = graph.exp %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Users go before the ops that they used. A call goes by the effects of its callees, also when it may not
    end: errors of dead code may vanish. A read of a cell whose content is a known value is that value; a cell
    that is only written goes with its writes. Class: exact.
    """

    name = "dead-code-elimination"

    inline_once: bool = False
    """Whether functions and lambdas whose one use is a call are inlined before."""
    ignore_effects: bool = False
    """Whether an op goes whose results are unused, whatever else it does."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if self.inline_once:
            inline_module(op, once=True)
        effects = cache(lambda: Effects.of(op))  # of programs without calls and cells, nothing asks

        def effects_of(op: Operation) -> frozenset[str]:
            return frozenset() if is_side_effect_free(op) else effects().of_op(op)

        def is_free(op: Operation) -> bool:
            return self.ignore_effects or is_side_effect_free(op) or not effects_of(op) & KEPT

        for function in functions_of(op):
            _erase(function, is_free)
            while uses_cells(function) and (
                forward_reads(function, effects_of) | erase_written_cells(function)
            ):
                _erase(function, is_free)
            agree_with_return(function)


def _erase(function: FuncOp, is_free: Callable[[Operation], bool]) -> None:
    for block in function.body.blocks:
        erase_dead_ops(block, is_free)
