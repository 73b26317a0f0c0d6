"""Matching of a pattern at one value, and the result of a match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import Block, SSAValue

from stepwell.patterns.compile import program_of
from stepwell.patterns.machine import Blocks, Machine
from stepwell.patterns.nodes import (
    LEAVES,
    And,
    Call,
    Constant,
    Constraint,
    Dominates,
    Expr,
    HasAttr,
    Let,
    Not,
    Or,
    Pattern,
    Wildcard,
)
from stepwell.patterns.values import is_constant_op, owner_of


class Match(dict[Pattern, list[SSAValue]]):
    """Maps each pattern object to its matched nodes: several for objects on a path or in a recursion."""

    def __init__(self, pattern: Pattern, value: SSAValue, machine: Machine):
        super().__init__()
        self.pattern = pattern
        self.value = value
        for key, node in machine.trail:
            if node is not None and not isinstance(key, str):
                self.setdefault(key, []).append(node)

    def in_order(self) -> Iterator[tuple[Pattern, list[SSAValue]]]:
        """Pattern objects with their nodes in post order; of alternatives, the arm that matched."""
        done: set[Pattern] = set()
        stack = [(self.pattern, False)]
        while stack:
            pattern, expanded = stack.pop()
            if expanded:
                if pattern in self:
                    yield pattern, self[pattern]
            elif pattern not in done:
                done.add(pattern)
                stack.append((pattern, True))
                stack += [(part, False) for part in reversed(self._matched_parts(pattern))]

    def _matched_parts(self, pattern: Pattern) -> Sequence[Pattern]:
        match pattern:
            case Or():
                node = self.get(pattern)
                return [arm for arm in pattern.parts() if self.get(arm) == node][:1] or [pattern.right]
            case Call():
                others = [other for other in pattern.other_associations or () if other in self]
                node = self.get(pattern)
                return [other for other in others if self[other] == node][:1] or pattern.parts()
            case Let():
                return (pattern.value, pattern.body)
            case Not():
                return ()
            case Wildcard():
                return () if pattern.target is None else (pattern.target,)
            case _:
                return pattern.parts()

    def interior(self) -> dict[SSAValue, None]:
        """
        The nodes that were matched by patterns other than leaves, with the root, in the pattern's post order.
        """
        found: dict[SSAValue, None] = {}
        for pattern, nodes in self.in_order():
            if is_core(pattern):
                found |= dict.fromkeys(nodes)
            if isinstance(
                pattern, Dominates
            ):  # parent and path may be leaves, but their nodes are inside anyway
                found |= dict.fromkeys((*self.get(pattern.parent, ()), *self.get(pattern.path, ())))
        return found

    def embedded(self) -> dict[SSAValue, None]:
        """The constants that a constant or expression pattern bound, in the pattern's post order."""
        from_constants = (
            node
            for pattern, nodes in self.in_order()
            if isinstance(pattern, Constant | Expr)
            for node in nodes
        )
        return dict.fromkeys(
            node for node in from_constants if (op := owner_of(node)) is not None and is_constant_op(op)
        )


def is_core(pattern: Pattern) -> bool:
    """Whether a pattern's node is interior to the match: neither a leaf's nor that of a constrained leaf."""
    if isinstance(pattern, (*LEAVES, Or, And, Not)):
        return False  # their arms decide
    return not isinstance(pattern, Constraint) or isinstance(pattern, HasAttr)


def match(pattern: Pattern, value: SSAValue, blocks: Blocks | None = None) -> Match | None:
    """
    Match a pattern at a value.

    Args: `blocks` caches post-dominator trees across several matches on IR that does not change.
    Returns: the nodes of each pattern object; None when it does not match.
    """
    machine = Machine(Blocks() if blocks is None else blocks)
    if not machine.run((program_of(pattern).step, value, ())):
        return None
    found = Match(pattern, value, machine)
    return found if is_in_one_block(found) else None


def is_in_one_block(found: Match) -> bool:
    """Whether all interior nodes of a match are in the root's block, or inside of ops in it."""
    block = block_of(found.value)
    return block is not None and all(
        (op := owner_of(node)) is None or block.find_ancestor_op_in_block(op) is not None
        for node in found.interior()
        if block_of(node) is not block
    )


def block_of(value: SSAValue) -> Block | None:
    """The block in which a value is defined."""
    owner = value.owner
    return owner if isinstance(owner, Block) else owner.parent
