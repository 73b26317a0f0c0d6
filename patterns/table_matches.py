"""The matches of a table's patterns in a function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Operation

from stepwell.patterns.groups import blocks_of
from stepwell.patterns.index import PatternIndex
from stepwell.patterns.machine import Blocks
from stepwell.patterns.matching import Match, match
from stepwell.patterns.read_text import TableEntry
from stepwell.patterns.values import owner_of


def matches_in(func: Operation, entries: Sequence[TableEntry]) -> Iterator[tuple[TableEntry, Match]]:
    """All matches of a table's patterns in a function that pass the check, by root, then by table order."""
    index = PatternIndex([entry.pattern for entry in entries])
    blocks = Blocks()
    for block in blocks_of(func):
        index.read_block(block)
        for op in block.ops:
            for entry in [entries[i] for i in index.candidates(op)]:
                for value in op.results:
                    found = match(entry.pattern, value, blocks)
                    if found is not None and (entry.check is None or entry.check(value)):
                        yield entry, found


def ops_of(found: Match) -> list[Operation]:
    """The ops of a match, each once."""
    owners = (owner_of(value) for value in found.interior())
    return list(dict.fromkeys(op for op in owners if op is not None))
