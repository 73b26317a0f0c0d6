"""
Groups of ops for composites: the ops of a match, their operands from outside, and reasons for a rejection.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import IsolatedFromAbove, Pure

from stepwell.dialects.graph.base import Kind
from stepwell.dialects.graph.functions import LambdaOp
from stepwell.patterns.dominators import PostDominators, is_node
from stepwell.patterns.machine import Blocks
from stepwell.patterns.matching import Match, block_of, match
from stepwell.patterns.nodes import Pattern
from stepwell.patterns.values import kind_of, op_name, owner_of

Check = Callable[[SSAValue], bool]
Remark = Callable[[object, str], None]


class Duplicate(Enum):
    """
    A limit on duplication: ops with uses outside of a match are computed twice when the match includes them.
    """

    NEVER = 0
    CHEAP = 1
    """Pure ops that are neither contractions, reductions, row-wise nor opaque."""
    PURE = 2


COSTLY = frozenset({Kind.CONTRACTION, Kind.REDUCTION, Kind.ROW, Kind.OPAQUE})


@dataclass
class Group:
    """The ops of a match, which become one composite or kernel."""

    found: Match
    tree: PostDominators

    @property
    def root(self) -> Operation:
        """The matched root, the op whose results are the group's results."""
        return self.found.value.owner  # pyright: ignore[reportReturnType]  # a group's root is no argument

    @cached_property
    def in_pattern_order(self) -> list[Operation]:
        """The ops of the group in the pattern's post order."""
        block = self.root.parent
        assert block is not None
        owners = (owner_of(value) for value in self.found.interior())
        above = (block.find_ancestor_op_in_block(op) for op in owners if op is not None)
        return list(dict.fromkeys(op for op in above if op is not None))

    @cached_property
    def ops(self) -> list[Operation]:
        """The ops of the group in program order, after the constants that the pattern embeds."""
        embedded = dict.fromkeys(
            op for value in self.found.embedded() if (op := owner_of(value)) not in self.in_pattern_order
        )
        constants = [op for op in embedded if op is not None]
        return constants + sorted(self.in_pattern_order, key=self.tree.position.__getitem__)

    @cached_property
    def name(self) -> str:
        """The name of the composite: the names of the ops, without dialects, each followed by `_`."""
        return "".join(f"{op_name(op).partition('.')[2]}_" for op in self.in_pattern_order)

    @cached_property
    def params(self) -> list[SSAValue]:
        """
        The operands from outside of the group: first values bound by the pattern in its order, then the rest
        in program order.
        """
        inside = set(self.ops)
        used = dict.fromkeys(
            value
            for op in self.ops
            for inner in op.walk()
            for value in inner.operands
            if self._comes_from_outside(value, inside)
        )
        bound = (value for _, nodes in self.found.in_order() for value in nodes)
        ordered = dict.fromkeys(value for value in bound if value in used)
        return [*ordered, *sorted((v for v in used if v not in ordered), key=self._definition)]

    def _comes_from_outside(self, value: SSAValue, inside: set[Operation]) -> bool:
        owner = value.owner
        op = owner.parent_op() if isinstance(owner, Block) else owner
        while op is not None and op not in inside:
            op = op.parent_op()
        return op is None

    def _definition(self, value: SSAValue) -> int:
        op = owner_of(value)
        return -1 if op is None else self.tree.position.get(op, -1)

    def escaping(self) -> dict[Operation, Operation | None]:
        """
        Maps each op with uses outside of the group to an outside user that the root does not post-dominate,
        or None.
        """
        inside = set(self.ops)
        block = self.root.parent
        assert block is not None
        found: dict[Operation, Operation | None] = {}
        for op in self.in_pattern_order:
            for user in (use.operation for result in op.results for use in result.uses):
                if op is self.root or block.find_ancestor_op_in_block(user) in inside:
                    continue
                stays = is_node(user, block) and self.tree.post_dominates(self.root, user)
                found[op] = found.get(op) or (None if stays else user)
        return found

    def duplicated(self, wanted: Iterator[Operation]) -> list[Operation]:
        """The ops of the group that are computed a second time outside, for the results of `wanted`."""
        inside = set(self.in_pattern_order)
        found: dict[Operation, None] = {}
        stack = list(wanted)
        while stack:
            if (op := stack.pop()) not in found:
                found[op] = None
                stack += [
                    above for v in op.operands if (above := owner_of(v)) in inside and above is not None
                ]
        return list(found)


def rejection(group: Group, taken: set[Operation], duplicate: Duplicate) -> str | None:
    """
    The reason why a match cannot become a group; None when it can. Args: `taken` are the ops of other groups.
    """
    for op in group.in_pattern_order:
        if op in taken:
            return f"{op_name(op)} is in another match already"
    escaping = group.escaping()
    for op, user in escaping.items():
        if user is not None:
            return f"{op_name(op)} is used by {op_name(user)} as well"
    for op in group.duplicated(iter(escaping)):
        if duplicate is Duplicate.NEVER or not op.has_trait(Pure):
            return f"{op_name(op)} is used outside of the match as well"
        if duplicate is Duplicate.CHEAP and ((kind := kind_of(op)) is None or kind in COSTLY):
            return f"{op_name(op)} is used outside of the match as well, and costs too much to compute twice"
    return None


def blocks_of(func: Operation) -> Iterator[Block]:
    """The blocks of a function, except those of closed regions (kernels, composites) and of lambdas."""
    stack = [block for region in func.regions for block in region.blocks]
    while stack:
        yield (block := stack.pop())
        for op in block.ops:
            if not op.has_trait(IsolatedFromAbove) and not isinstance(op, LambdaOp):
                stack += [inner for region in op.regions for inner in region.blocks]


def groups_of(
    pattern: Pattern,
    roots: Sequence[Operation],
    blocks: Blocks,
    *,
    check: Check | None,
    duplicate: Duplicate,
    remark: Remark,
) -> list[Group]:
    """
    The groups of a pattern, listed in program order.

    Args: `roots` are candidate ops of one block, in the order of trial: from the last one.
    """
    taken: set[Operation] = set()
    refused: set[Operation] = set()
    found: list[Group] = []
    for op in roots:
        if op in taken or op in refused:
            continue
        if (group := _group_at(pattern, op, blocks)) is None:
            continue
        if check is not None and not check(group.found.value):
            remark(op, f"the check refuses the match at {op_name(op)}")
            refused.update(group.in_pattern_order)
        elif (why := rejection(group, taken, duplicate)) is not None:
            remark(op, f"not grouped at {op_name(op)}: {why}")
        else:
            taken.update(group.in_pattern_order)
            found.append(group)
    return found[::-1]


def _group_at(pattern: Pattern, op: Operation, blocks: Blocks) -> Group | None:
    for value in op.results:
        if (found := match(pattern, value, blocks)) is not None and value in found.interior():
            block = block_of(value)
            assert block is not None
            return Group(found, blocks.tree(block))
    return None
