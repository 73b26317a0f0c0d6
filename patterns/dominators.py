"""The post-dominator tree of a block: the op through which all uses of a value pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

Node = Operation | BlockArgument


class PostDominators:
    """
    The ops and arguments of one block, with the parent of each: the lowest common ancestor of its users.

    An op that is used by a terminator, by an op without results or in another block is external: a root of
    the tree; `counts` may say so of other users too. Ancestors are found by jump pointers in logarithmic time
    (Myers 1983, "An applicative random-access stack"), so that long chains and wide fan-outs take no longer
    than other graphs.
    """

    def __init__(self, block: Block, counts: Callable[[Operation, Block], bool] | None = None):
        self._counts = counts or is_node
        self.position: dict[Operation, int] = {op: i for i, op in enumerate(block.ops)}
        self._block = block
        # Nodes by number, in the order of the visit; 0 is the parent of all external nodes.
        self._number: dict[Node, int] = {}
        self._nodes: list[Node | None] = [None]
        self._parent = [0]
        self._depth = [0]
        self._jump = [0]
        for node in (*reversed(self.position), *block.args):
            self._add(node, self._meeting_point(node))

    def _add(self, node: Node, parent: int) -> None:
        depth, jump = self._depth, self._jump
        over = jump[parent]
        even = depth[parent] - depth[over] == depth[over] - depth[jump[over]]
        self._number[node] = len(depth)
        self._nodes.append(node)
        self._parent.append(parent)
        depth.append(depth[parent] + 1)
        jump.append(jump[over] if even else parent)

    def _meeting_point(self, node: Node) -> int:
        meeting: int | None = None
        for user in dict.fromkeys(users_of(node)):
            if not self._counts(user, self._block):
                return 0
            number = self._number[user]
            meeting = number if meeting is None else self._common_ancestor(meeting, number)
        return meeting or 0

    def _common_ancestor(self, a: int, b: int) -> int:
        depth, parent, jump = self._depth, self._parent, self._jump
        if depth[a] < depth[b]:
            a, b = b, a
        a = self._ancestor(a, depth[b])
        while a != b:
            a, b = (jump[a], jump[b]) if jump[a] != jump[b] else (parent[a], parent[b])
        return a

    def _ancestor(self, number: int, wanted_depth: int) -> int:
        """The ancestor of a node at a depth of the tree, which is at most the node's own."""
        depth, parent, jump = self._depth, self._parent, self._jump
        while depth[number] > wanted_depth:
            number = jump[number] if depth[jump[number]] >= wanted_depth else parent[number]
        return number

    def immediate(self, node: Node) -> Node | None:
        """
        The immediate post-dominator: the nearest op on all paths from `node` to the results; None for
        external nodes.
        """
        return self._nodes[self._parent[self._number[node]]]

    def post_dominates(self, above: Operation, below: Node) -> bool:
        """Whether all paths from `below` to the results pass through `above`, another node."""
        a, b = self._number.get(above), self._number.get(below)
        if a is None or b is None or self._depth[b] <= self._depth[a]:
            return False
        return self._ancestor(b, self._depth[a]) == a


def is_node(op: Operation, block: Block) -> bool:
    """Whether a user counts as a node of a block: one of its ops, with results, and no terminator."""
    return op.parent is block and bool(op.results) and not op.has_trait(IsTerminator)


def users_of(node: Node) -> Iterator[Operation]:
    """The ops that use a node, an op once for each use."""
    values: tuple[SSAValue, ...] = (node,) if isinstance(node, BlockArgument) else tuple(node.results)
    for value in values:
        for use in value.uses:
            yield use.operation
