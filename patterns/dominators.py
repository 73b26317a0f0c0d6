"""The post-dominator tree of a block: through which op all uses of a value meet again."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

Node = Operation | BlockArgument


class PostDominators:
    """
    The ops and arguments of one block, with the parent of each: the lowest common ancestor of its users.

    An op that a terminator, an op without results, or another block uses is external, and has no parent.
    """

    def __init__(self, block: Block):
        self.position: dict[Operation, int] = {op: i for i, op in enumerate(block.ops)}
        self._block = block
        self._parent: dict[Node, Node | None] = {}
        self._depth: dict[Node, int] = {}
        for node in (*reversed(self.position), *block.args):
            parent = self._meeting_point(node)
            self._parent[node] = parent
            self._depth[node] = 1 if parent is None else self._depth[parent] + 1

    def _meeting_point(self, node: Node) -> Node | None:
        meeting: Node | None = None
        for user in users_of(node):
            if not is_node(user, self._block):
                return None
            meeting = user if meeting is None else self._common_ancestor(meeting, user)
            if meeting is None:
                return None
        return meeting

    def _common_ancestor(self, a: Node, b: Node) -> Node | None:
        while a is not b:
            higher = self._parent[a if self._depth[a] >= self._depth[b] else b]
            if higher is None:
                return None
            a, b = (higher, b) if self._depth[a] >= self._depth[b] else (a, higher)
        return a

    def post_dominates(self, above: Operation, below: Node) -> bool:
        """Whether each way from `below` to the results leads through `above`, another node."""
        wanted = self._depth.get(above)
        depth = self._depth.get(below)
        if wanted is None or depth is None or depth <= wanted:
            return False
        node: Node | None = below
        while node is not None and self._depth[node] > wanted:
            node = self._parent[node]
        return node is above


def is_node(op: Operation, block: Block) -> bool:
    """Whether a user counts as a node of a block: one of its ops, with results, and no terminator."""
    return op.parent is block and bool(op.results) and not op.has_trait(IsTerminator)


def users_of(node: Node) -> Iterator[Operation]:
    """The ops that use a node, as often as they do."""
    values: tuple[SSAValue, ...] = (node,) if isinstance(node, BlockArgument) else tuple(node.results)
    for value in values:
        for use in value.uses:
            yield use.operation
