"""`rewrite-patterns`: the rewrite rules of a pattern file, applied until nothing changes."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.passes.base import Pass, bodies_of
from stepwell.passes.context import count, remark
from stepwell.patterns.files import load_patterns, rules_of
from stepwell.patterns.rewriting import rewrite


@dataclass(frozen=True)
class RewritePatternsPass(Pass):
    """
    Apply the rewrite rules of a pattern file to each function until nothing changes.

    Needs a file of `pattern.rule`, or rules in the module itself. Its class is that of the rules.
    """

    name = "rewrite-patterns"

    file: str = ""
    """The file of the rules; if empty, the module itself."""
    table: str = ""
    """The name of a `pattern.table` of rules, with checks; if empty, all rules, in order."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        rules = rules_of(load_patterns(self.file, op, ctx, remark), self.table)
        for func in bodies_of(op):
            count("rewrites", rewrite(rules, func))
