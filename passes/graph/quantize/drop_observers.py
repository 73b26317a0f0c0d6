"""`drop-observers`: the program without observers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.rewriter import Rewriter

from stepwell.dialects.graph.observers import observers_of
from stepwell.passes.base import FunctionPass


@dataclass(frozen=True)
class DropObserversPass(FunctionPass):
    """
    Replace observers by their operands.

    ```mlir
    %0 = graph.observe %x key "a:0" role "activation" to ui8 : tensor<8xf32> -> tensor<8xf32>
    %y = graph.relu %0 : tensor<8xf32> -> tensor<8xf32>
    // ->
    %y = graph.relu %x : tensor<8xf32> -> tensor<8xf32>
    ```
    Class: exact.
    """

    name = "drop-observers"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        for op in observers_of(func):
            Rewriter.replace_op(op, [], [op.input])
