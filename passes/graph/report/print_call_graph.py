"""`print-call-graph`: prints the functions that each function calls, and changes nothing."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.passes.analysis.call_graph import call_graph, recursive_functions
from stepwell.passes.base import Pass


@dataclass(frozen=True)
class PrintCallGraphPass(Pass):
    """
    Print to standard error the callees of each function: functions that it calls or uses as values.

    A function on a cycle of the call graph is marked as recursive. Changes nothing.
    """

    name = "print-call-graph"

    json: bool = False
    """Print one JSON object: name → names."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        graph = call_graph(op)
        if self.json:
            print(json.dumps(graph), file=sys.stderr)
            return
        recursive = recursive_functions(graph)
        for name, callees in graph.items():
            mark = " (recursive)" if name in recursive else ""
            calls = ", ".join(f"@{callee}" for callee in callees) or "nothing"
            print(f"@{name}{mark} calls {calls}", file=sys.stderr)
