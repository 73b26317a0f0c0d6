"""Pattern files: `.mlir` text with patterns, rules and tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module
from stepwell.patterns.read_text import PatternFile, TableEntry, from_text
from stepwell.patterns.registry import unknown_name
from stepwell.patterns.rewriting import Rule
from stepwell.runtime.errors import StepwellError, describe_location
from stepwell.runtime.files.unreadable import read_text
from stepwell.runtime.warned import warn

Remark = Callable[[object, str], None]


class PatternWarning(UserWarning):
    """Warns of a pattern that can never match, such as an op name that no dialect has."""


def load_patterns(file: str, module: ModuleOp, ctx: Context, remark: Remark) -> PatternFile:
    """
    The patterns, rules and tables of a pattern file; without a file name, of the module itself.

    Args: `remark` is called with probable mistakes, such as an op name that no dialect has.
    Raises: StepwellError `no-file`, `syntax`, `bad-pattern`.
    """
    if file:
        module = parse_module(ctx, read_text(Path(file), "patterns"), file)
        verify_module(module)
    found = from_text(module, ctx)
    for where, warning in found.warnings:
        remark(where, warning)
        warn(f"{describe_location(where)}: {warning}", PatternWarning)
    return found


def entries_of(file: PatternFile, table: str) -> list[TableEntry]:
    """
    The entries of a table; without a name, of all tables; in a file without tables, all patterns and rules.

    Raises: StepwellError `bad-pattern` when the file has no entries.
    """
    if table:
        if table not in file.tables:
            raise unknown_name("table", table, file.tables, None)
        return file.tables[table]
    if file.tables:
        return [entry for entries in file.tables.values() for entry in entries]
    rules = [TableEntry(name, rule.pattern, None, rule) for name, rule in file.rules.items()]
    found = [TableEntry(name, pattern, None) for name, pattern in file.patterns.items()] + rules
    if not found and not file.graphs:
        raise _nothing("pattern.def")
    return found


def rules_of(file: PatternFile, table: str) -> list[Rule]:
    """
    The rules of a table, with the table's checks; without a name, all rules of the file, in order.

    Raises: StepwellError `bad-pattern` when there is none.
    """
    if not table:
        found = list(file.rules.values())
    else:
        found = [entry.as_rule() for entry in entries_of(file, table) if entry.rule is not None]
    if not found:
        raise _nothing("pattern.rule")
    return found


def _nothing(what: str) -> StepwellError:
    return StepwellError(
        "bad-pattern",
        None,
        f"there is no {what}",
        help="name a file that has some as the pass's option, or put them into the module itself",
    )
