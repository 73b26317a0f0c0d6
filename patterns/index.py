"""An index of patterns by op: computes bottom-up, for all patterns at once, which of them may match."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache

from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from stepwell.patterns.nodes import Pattern
from stepwell.patterns.terms import ANY, Bits, LocalTerm, Node, Term, Terms
from stepwell.patterns.values import attribute_of, op_name

_EVERYTHING: Bits = -1
"""The terms of a node that was not read: all bits, since nothing is known."""


@lru_cache(maxsize=64)
def _terms_of(patterns: tuple[Pattern, ...]) -> Terms:
    """The terms of patterns: a pass takes the same list to each function, and to each round of rewriting."""
    return Terms(patterns)


class PatternIndex:
    """
    The set of terms of some patterns that hold at each op, computed once for each kind of op that occurs.

    A kind is the local terms of the op and the terms that hold at its operands: so a repeated subgraph is
    looked up, and the matching time of a table hardly grows with patterns that do not match.
    Source: Hoffmann and O'Donnell 1982, "Pattern matching in trees" (the bottom-up method).
    """

    def __init__(self, patterns: Sequence[Pattern]):
        self._terms = _terms_of(tuple(patterns))
        self._held: dict[Node, Bits] = {}
        self._local: dict[str, _LocalTerms] = {}
        self._relevant: dict[Bits, list[Term]] = {}
        self._at: dict[tuple[Bits, ...], Bits] = {}
        self._candidates: dict[Bits, tuple[int, ...]] = {}

    def forget(self) -> None:
        """Forget the terms of all nodes, after the ops have changed."""
        self._held.clear()

    def read(self, op: Operation) -> bool:
        """Compute the terms that hold at an op from the operands' terms. Returns: whether they changed."""
        operands = [self._at_value(value) for value in op.operands]
        held = self._holding(self._local_terms_of(op), operands)
        if self._held.get(op) == held:
            return False
        self._held[op] = held
        return True

    def read_block(self, block: Block) -> None:
        """Compute the terms that hold at each op of a block, after those of values from enclosing blocks."""
        for op in block.ops:
            self.read(op)

    def candidates(self, op: Operation) -> tuple[int, ...]:
        """The indices of the patterns that may match at an op's results, in order."""
        held = self._held.get(op, _EVERYTHING)
        if (found := self._candidates.get(held)) is None:
            found = tuple(i for i, root in enumerate(self._terms.roots) if held & root)
            self._candidates[held] = found
        return found

    def _at_value(self, value: SSAValue) -> Bits:
        if not isinstance(value, BlockArgument):
            owner = value.owner
            return self._held.get(owner, _EVERYTHING) if isinstance(owner, Operation) else _EVERYTHING
        if (held := self._held.get(value)) is None:
            held = self._held[value] = self._holding(self._local_terms_of(value), [])
        return held

    def _local_terms_of(self, node: Node) -> Bits:
        """The local terms that hold at a node."""
        name = "" if isinstance(node, BlockArgument) else op_name(node)
        if (local := self._local.get(name)) is None:
            local = self._local[name] = _LocalTerms(self._terms, name, node)
        return local.at(node)

    def _holding(self, local: Bits, operands: Sequence[Bits]) -> Bits:
        key = (local, *operands)
        if (held := self._at.get(key)) is not None:
            return held
        if (relevant := self._relevant.get(local)) is None:
            relevant = self._relevant[local] = [term for term in self._terms.inner if term.needs & local]
        held = local
        for term in relevant:
            if term.test(held, operands):
                held |= term.bit
        self._at[key] = held
        return held


class _LocalTerms:
    """
    The local terms of ops of one name, or of block arguments; constraints are tested once for each value of
    the properties.
    """

    def __init__(self, terms: Terms, name: str, example: Node):
        self._always: Bits = ANY | terms.names.get(name, 0)
        for term in terms.classes:
            if term.test(example):
                self._always |= term.bit
        self._properties: list[LocalTerm] = [term for term in terms.properties if term.needs & self._always]
        self._attributes = sorted({name for term in self._properties for name in term.attributes})
        self._types = any(term.types for term in self._properties)
        self._known: dict[Hashable, Bits] = {}

    def at(self, node: Node) -> Bits:
        if not self._properties:
            return self._always
        key = (self._attributes_of(node), self._types_of(node))
        if (held := self._known.get(key)) is None:
            held = self._always
            for term in self._properties:
                if term.test(node):
                    held |= term.bit
            self._known[key] = held
        return held

    def _attributes_of(self, node: Node) -> tuple[Attribute | None, ...]:
        if isinstance(node, BlockArgument):
            return ()
        return tuple(attribute_of(node, name) for name in self._attributes)

    def _types_of(self, node: Node) -> tuple[Attribute, ...]:
        if not self._types:
            return ()
        return (node.type,) if isinstance(node, BlockArgument) else tuple(node.result_types)
