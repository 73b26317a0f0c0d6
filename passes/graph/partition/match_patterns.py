"""`match-patterns`: prints the matches of a table's patterns, and changes nothing."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.passes.base import Pass, bodies_of
from stepwell.passes.context import count, remark
from stepwell.patterns.explanation import located_name
from stepwell.patterns.files import entries_of, load_patterns
from stepwell.patterns.graph_mode import match_graph
from stepwell.patterns.table_matches import matches_in, ops_of
from stepwell.patterns.values import op_name


@dataclass(frozen=True)
class MatchPatternsPass(Pass):
    """
    Print every match of every pattern to standard error: the pattern, the root's location, all its ops.

    Overlapping matches are printed too; for a graph of patterns, the nodes of its first binding. Changes
    nothing.
    """

    name = "match-patterns"

    file: str = ""
    """The file of the patterns; if empty, the module itself."""
    table: str = ""
    """The name of a table of the file; if empty, all tables, or all patterns of a file without tables."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        patterns = load_patterns(self.file, op, ctx, remark)
        entries = entries_of(patterns, self.table)
        for func in bodies_of(op):
            for name, pattern in patterns.graphs.items() if not self.table else ():
                if (bound := match_graph(pattern, func)) is not None:
                    count("matches")
                    locations = ", ".join(located_name(bound[node]) for node in pattern.nodes)
                    print(f"match of {name}: {locations}", file=sys.stderr)
            for entry, found in matches_in(func, entries):
                count("matches")
                names = [op_name(inner) for inner in ops_of(found)]
                location = located_name(found.value)
                print(f"match of {entry.name} at {location}: {', '.join(names)}", file=sys.stderr)
