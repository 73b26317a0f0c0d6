"""`merge-composite`: each match of a table's patterns becomes a `graph.composite`."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count, remark
from stepwell.patterns.backend_tables import entries_of_backend, names_backend
from stepwell.patterns.files import entries_of, load_patterns
from stepwell.patterns.groups import Duplicate
from stepwell.patterns.partitioning import TableRow, partition_table


@dataclass(frozen=True)
class MergeCompositePass(Pass):
    """
    Wrap each match of a table's patterns in a `graph.composite`, pattern by pattern in the table's order.

    An op is in one composite at most. Nothing is computed twice: a match with an inner value that is used
    outside is left alone, and a remark says so. Class: exact. Needs a file of patterns, or patterns in the
    module itself.
    Source: Relay's MergeComposite.
    """

    name = "merge-composite"

    table: str = ""
    """The file of the table, or the name of a backend; if empty, the module itself."""
    only: str = ""
    """The name of a table of the file; if empty, all tables, or all patterns of a file without tables."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if names_backend(self.table):
            entries = entries_of_backend(self.table)
        else:
            entries = entries_of(load_patterns(self.table, op, ctx, remark), self.only)
        rows = [TableRow(entry.name, entry.pattern, entry.check) for entry in entries]
        for func in functions_of(op):
            made = partition_table(rows, func, None, Duplicate.NEVER, remark=remark)
            count("composites", len(made))
