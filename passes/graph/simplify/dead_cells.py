"""Cells without readers, and reads of known values, within one function."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import adt, graph, ref
from stepwell.passes.analysis.effects import WRITE
from stepwell.passes.context import count


def uses_cells(function: FuncOp) -> bool:
    """Whether a function makes, reads or writes cells itself."""
    return any(isinstance(op, ref.NewOp | ref.ReadOp | ref.WriteOp) for op in function.walk())


def erase_written_cells(function: FuncOp) -> bool:
    """Erase write-only cells with their writes; returns whether any was erased."""
    found = False
    for op in [op for op in function.walk() if isinstance(op, ref.NewOp)]:
        writes = {use.operation for use in op.result.uses if isinstance(use.operation, ref.WriteOp)}
        is_target = all(use.index == 0 and use.operation in writes for use in op.result.uses)
        if not is_target:
            continue
        for write in writes:
            Rewriter.erase_op(write)
        Rewriter.erase_op(op)
        count("cells erased")
        found = True
    return found


def forward_reads(function: FuncOp, effects_of: Callable[[Operation], frozenset[str]]) -> bool:
    """
    Replace reads of cells whose content is a known value by it; returns whether there were any.

    A cell's content is known after it was made, written or read, until another cell that may be the same is
    written, or an op with the effect of a write runs. Branches go on from what is known before them.

    Args: `effects_of` gives the effects of an op.
    """
    found = False
    waiting: list[tuple[Block, dict[SSAValue, SSAValue]]] = [(block, {}) for block in function.body.blocks]
    while waiting:
        block, known = waiting.pop()
        for op in list(block.ops):
            if isinstance(op, ref.ReadOp):
                found |= _read(op, known)
            elif isinstance(op, ref.NewOp):
                known[op.result] = op.value
            elif isinstance(op, ref.WriteOp):
                _write(op, known)
            else:
                branches = isinstance(op, graph.IfOp | adt.MatchOp)
                inside = [inner for region in op.regions for inner in region.blocks]
                waiting += [(inner, dict(known) if branches else {}) for inner in inside]
                if known and WRITE in effects_of(op):
                    known.clear()
    return found


def _read(op: ref.ReadOp, known: dict[SSAValue, SSAValue]) -> bool:
    """Replace a read whose value is known; else its value is known from now on."""
    value = known.setdefault(op.cell, op.result)
    if value is op.result:
        return False
    Rewriter.replace_op(op, [], [value])
    count("reads forwarded")
    return True


def _write(op: ref.WriteOp, known: dict[SSAValue, SSAValue]) -> None:
    """Forget the contents of all cells that may alias the written one."""
    is_new = isinstance(op.cell.owner, ref.NewOp)
    for cell in list(known):
        if cell.type == op.cell.type and not (is_new and isinstance(cell.owner, ref.NewOp)):
            del known[cell]
    known[op.cell] = op.value
