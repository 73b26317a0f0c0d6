"""`remove-unused-functions`: functions that are not reachable from an entry function are erased."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.passes.analysis.call_graph import CallGraph, functions_by_name, reached_from
from stepwell.passes.analysis.manager import analysis
from stepwell.passes.base import Pass
from stepwell.passes.context import count
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class RemoveUnusedFunctionsPass(Pass):
    """
    Erase functions not reachable from the entries: by calls, through closures, as values or arguments.

    Class: exact. Fails for an entry that the module does not have.
    """

    name = "remove-unused-functions"

    entry: tuple[str, ...] = ("main",)
    """The functions to start from."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = functions_by_name(op)
        for name in self.entry:
            if name not in functions:
                known = ", ".join(f"@{other}" for other in functions)
                raise StepwellError(
                    "unknown-function",
                    op,
                    f"no function is named @{name}",
                    help=f"there are: {known or 'none'}",
                )
        reached = reached_from(self.entry, analysis(op, CallGraph).callees)
        for name, function in functions.items():
            if name not in reached:
                count("functions removed")
                function.detach()
                function.erase(safe_erase=False)
