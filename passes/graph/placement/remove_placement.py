"""`remove-placement`: the marks of placement go, once each device has its part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.rewriter import Rewriter

from stepwell.dialects import dev
from stepwell.dialects.dev.devices import ON
from stepwell.passes.base import Pass


@dataclass(frozen=True)
class RemovePlacementPass(Pass):
    """
    Remove `dev.copy` and `dev.on`: calls of parts copy what they read and return.

    ```mlir
    %c = dev.copy %x from @host to @host : tensor<4xf32>
    %y = graph.relu %c {dev.on = @host} : tensor<4xf32> -> tensor<4xf32>
    // ->
    %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
    ```
    Class: exact. Runs after `partition-graph`.
    """

    name = "remove-placement"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for each in list(op.walk()):
            each.attributes.pop(ON, None)
            if isinstance(each, dev.CopyOp):
                Rewriter.replace_op(each, [], [each.input])
            elif isinstance(each, FuncOp):
                _clear_signature(each)


def _clear_signature(function: FuncOp) -> None:
    """Remove the devices of parameters and results."""
    for key in ("arg_attrs", "res_attrs"):
        if isinstance(given := function.properties.get(key), ArrayAttr):
            entries = cast("ArrayAttr[DictionaryAttr]", given).data
            kept = [
                DictionaryAttr({n: value for n, value in each.data.items() if n != ON}) for each in entries
            ]
            function.properties[key] = ArrayAttr(kept)
