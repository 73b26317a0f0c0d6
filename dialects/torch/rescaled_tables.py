"""Embedding tables with a largest norm, whose rows are scaled down in the table before they are read."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation, SSAValue

from stepwell.dialects.foreign import ForeignOp

_RESCALING, _LOOKUP = "aten.embedding_renorm.default", "aten.embedding.default"
_SAME = ("aten.detach.default", "aten.detach_.default", "aten.alias.default")
"""Operators whose result is their operand."""


def is_rescaled(table: SSAValue) -> bool:
    """
    Whether the new value of a table has some rows scaled to a norm, and is read at these rows alone.

    Then no result depends on the write: a later call scales the rows that it reads once more.
    """
    while (name := _called(op := table.owner)) and isinstance(op, Operation):
        if name == _RESCALING:
            if not all(_reads_same(op, reader) for reader in _readers(table)):
                return False
        elif name not in _SAME:
            return False
        table = op.operands[0]
    return all(_called(reader) == _RESCALING for reader in _readers(table))


def _called(op: object) -> str:
    """The operator that an op calls; empty for any other op, and for a block."""
    return op.SIGNATURE.name if isinstance(op, ForeignOp) else ""


def _readers(value: SSAValue) -> Iterator[Operation]:
    """The ops that use a value, itself or detached."""
    waiting = [value]
    while waiting:
        for use in waiting.pop().uses:
            if _called(use.operation) in _SAME:
                waiting += use.operation.results
            else:
                yield use.operation


def _reads_same(scaled: Operation, reader: Operation) -> bool:
    """Whether a call scales more rows of a table, or reads those that were scaled."""
    if _called(reader) == _RESCALING:
        return True
    return _called(reader) == _LOOKUP and reader.operands[1] is scaled.operands[1]
