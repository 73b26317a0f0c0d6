"""`link-prelude`: the data types and functions of the prelude that a module names are copied into it."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from stepwell.dialects.adt.definitions import definitions_of
from stepwell.dialects.adt.prelude import prelude, prelude_functions
from stepwell.passes.analysis.call_graph import functions_by_name
from stepwell.passes.base import Pass
from stepwell.passes.context import count
from stepwell.passes.graph.data.names import data_named_by, symbols_named_by


@dataclass(frozen=True)
class LinkPreludePass(Pass):
    """
    Copy the data types and functions of the prelude that the module names and does not define.

    What these name is copied too, and nothing else; a definition of the module's own wins. Class: exact.
    """

    name = "link-prelude"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not (named := _names(list(op.walk()))):
            return
        known = {**definitions_of(op), **functions_by_name(op)}
        offered = {**definitions_of(prelude()), **prelude_functions()}
        waiting = sorted(named)
        copied: dict[str, Operation] = {}
        while waiting:
            name = waiting.pop()
            if name in known or name in copied or name not in offered:
                continue
            count("definitions copied")
            copied[name] = offered[name].clone()
            waiting += sorted(_names(list(copied[name].walk())))
        definitions = [copied[name] for name in offered if name in copied]
        if definitions and (first := op.body.block.first_op) is not None:
            op.body.block.insert_ops_before(definitions, first)


def _names(ops: list[Operation]) -> set[str]:
    return data_named_by(ops) | symbols_named_by(ops)
