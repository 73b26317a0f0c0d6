"""`print-call-graph`: prints the functions that each function calls, and changes nothing."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.passes.analysis.call_graph import CallGraph
from stepwell.passes.analysis.manager import analysis
from stepwell.passes.base import ALL_ANALYSES, Pass


@dataclass(frozen=True)
class PrintCallGraphPass(Pass):
    """
    Print to standard error the callees of each function: functions that it calls or uses as values.

    A function on a cycle of the call graph is marked as recursive. Changes nothing.
    """

    name = "print-call-graph"
    preserves = ALL_ANALYSES

    json: bool = False
    """Print one JSON object: name → names."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        graph = analysis(op, CallGraph)
        sys.stderr.write(f"{json.dumps(graph.callees)}\n" if self.json else str(graph))
