"""Erasure of dead ops: without effects, uses of their results, and uses of the symbols that they define."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation
from xdsl.rewriter import Rewriter
from xdsl.traits import is_side_effect_free

from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.passes.analysis.rename_symbols import symbols_named


def erase_dead_ops(block: Block, is_free: Callable[[Operation], bool] = is_side_effect_free) -> None:
    """
    Erase the dead ops of a block and of the regions inside it, from the last to the first.

    Args: `is_free` says of an op whose results are unused whether nothing else is lost with it.
    """
    _erase(block, _Mentions(), is_free)


class _Mentions:
    """The number of references to each symbol in types and properties of a function, counted at first use."""

    def __init__(self) -> None:
        self._counts: Counter[str] | None = None

    def only_in(self, op: Operation) -> bool:
        """Whether no op but `op` references the symbols defined by `op`, which may be erased then."""
        names = [name for name, _ in defined_symbols(op)]
        if not names:
            return True
        if self._counts is None:
            self._counts = Counter(name for other in _top(op).walk() for name in symbols_named(other))
        own = Counter(name for inner in op.walk() for name in symbols_named(inner))
        return all(self._counts[name] == own[name] for name in names)

    def erased(self, op: Operation) -> None:
        """Subtract the references of an op that is about to be erased."""
        if self._counts is not None:
            self._counts.subtract(name for inner in op.walk() for name in symbols_named(inner))


def _top(op: Operation) -> Operation:
    """The function that contains an op; without one, its outermost ancestor."""
    while not isinstance(op, FuncOp) and (parent := op.parent_op()) is not None:
        op = parent
    return op


def _erase(block: Block, mentions: _Mentions, is_free: Callable[[Operation], bool]) -> None:
    for op in reversed(list(block.ops)):
        if op.results and _is_unused(op) and is_free(op) and mentions.only_in(op):
            mentions.erased(op)
            Rewriter.erase_op(op)
            continue
        for region in op.regions:
            for inner in region.blocks:
                _erase(inner, mentions, is_free)


def _is_unused(op: Operation) -> bool:
    return all(result.first_use is None for result in op.results)
