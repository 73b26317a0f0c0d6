"""Which ops of a block become one kernel: post-dominators of the data flow, and groups grown along them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.ir import Block, Operation

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.types import dims_of
from stepwell.runtime.dims import Dim

STOP_FUSION = "graph.stop_fusion"
"""An attribute on an op: no kernel holds it and one of its consumers."""

_VIEWS = (graph.ReshapeOp, graph.ExpandDimsOp, graph.SqueezeOp)
_ANCHORS = (Kind.CONTRACTION, Kind.ROW)
_FOLLOWERS = (Kind.ELEMENTWISE, Kind.BROADCAST)
# Movement that reads one element for each that it writes, so that a consumer may read through it.
_READ_THROUGH = (graph.SliceOp, graph.TransposeOp)


def computes(op: Operation) -> bool:
    """Whether an op belongs in a kernel: not structure, nor a view of the same elements."""
    return isinstance(op, GraphOp) and op.KIND is not Kind.STRUCTURE and not isinstance(op, _VIEWS)


@dataclass(eq=False)
class Node:
    """A computing op in the data flow of its block."""

    op: GraphOp
    position: int
    users: list[Node] = field(default_factory=lambda: list[Node]())
    escapes: bool = False
    """Whether something outside the kernels of this block reads a result."""
    post_dominator: Node | None = None
    """The nearest node that every use of the results leads to; None when there is none."""
    depth: int = 0
    """How many post-dominators follow."""
    group: Group = field(init=False)

    def __post_init__(self) -> None:
        self.group = Group([self])

    @property
    def moves(self) -> bool:
        """Whether it is movement that a consumer may read through."""
        return isinstance(self.op, _READ_THROUGH)


@dataclass(eq=False)
class Group:
    """The nodes of one kernel to be."""

    nodes: list[Node]

    @property
    def has_anchor(self) -> bool:
        """Whether an op decides the loops of the kernel, so that no second one fits in, nor movement."""
        return not all(node.op.KIND in _FOLLOWERS or node.moves for node in self.nodes)

    @property
    def moves(self) -> bool:
        """Whether some op moves elements."""
        return any(node.moves for node in self.nodes)


def fusion_groups(block: Block, max_ops: int) -> list[list[GraphOp]]:
    """
    The computing ops of a block in groups, each to be one kernel, whose last op alone is read from outside.

    An op joins its immediate post-dominator when all ops between are elementwise and keep its shape: first
    contractions and rows with what follows them, then the rest. Slices and transposes join what reads them,
    another one or elementwise ops. A group has at most one contraction or row, and none beside movement, and
    at most `max_ops` ops.
    Source: the post-dominator scheme of Relay's FuseOps, elementwise edges only.
    """
    nodes = _data_flow(block)
    _find_post_dominators(nodes)
    anchors = [node for node in nodes if node.op.KIND in _ANCHORS]
    for node in (*anchors, *(node for node in nodes if node.op.KIND in _FOLLOWERS or node.moves)):
        _join_post_dominator(node, max_ops)
    groups = {id(node.group): node.group for node in nodes}
    return [
        [node.op for node in sorted(group.nodes, key=lambda node: node.position)] for group in groups.values()
    ]


def _data_flow(block: Block) -> list[Node]:
    nodes: dict[Operation, Node] = {}
    for position, op in enumerate(block.ops):
        if computes(op):
            nodes[op] = Node(cast(GraphOp, op), position)
    for node in nodes.values():
        users = dict.fromkeys(use.operation for result in node.op.results for use in result.uses)
        node.users = [nodes[user] for user in users if user in nodes]
        node.escapes = len(node.users) < len(users)
    return list(nodes.values())


def _find_post_dominators(nodes: Sequence[Node]) -> None:
    for node in reversed(nodes):
        if node.escapes or not node.users:
            continue
        common: Node | None = node.users[0]
        for user in node.users[1:]:
            common = _common_post_dominator(common, user)
        node.post_dominator = common
        node.depth = 0 if common is None else common.depth + 1


def _common_post_dominator(a: Node | None, b: Node | None) -> Node | None:
    while a is not b and a is not None and b is not None:
        if a.depth >= b.depth:
            a = a.post_dominator
        else:
            b = b.post_dominator
    return a if a is b else None


def _join_post_dominator(node: Node, max_ops: int) -> None:
    sink = node.post_dominator
    if sink is None or sink.group is node.group:
        return
    between = _nodes_between(node, sink, max_ops)
    if between is None:
        return
    groups = {id(member.group): member.group for member in (node, *between, sink)}
    members = [member for group in groups.values() for member in group.nodes]
    anchors = sum(group.has_anchor for group in groups.values())
    moves = any(group.moves for group in groups.values())
    if anchors > (0 if moves else 1) or len(members) > max_ops:
        return
    merged = Group(members)
    for member in members:
        member.group = merged


def _nodes_between(node: Node, sink: Node, max_ops: int) -> list[Node] | None:
    """The nodes on all paths from a node to its post-dominator; None when fusion along one is not allowed."""
    found: dict[int, Node] = {}
    stack = [node]
    while stack:
        current = stack.pop()
        for user in current.users:
            if not _carries(current, user):
                return None
            if user is not sink and id(user) not in found:
                if user.op.KIND not in _FOLLOWERS:
                    return None
                found[id(user)] = user
                stack.append(user)
        if len(found) > max_ops:
            return None
    return list(found.values())


def _carries(producer: Node, consumer: Node) -> bool:
    """Whether a consumer can run in the loops of a producer: element by element, or row by row."""
    if STOP_FUSION in producer.op.attributes:
        return False
    kind = consumer.op.KIND
    if producer.moves and consumer.moves:
        return True
    if kind is not Kind.ROW and kind not in _FOLLOWERS:
        return False
    if kind is Kind.ROW and consumer.op.operands[0].owner is not producer.op:
        return False
    shape = dims_of(consumer.op.results[0].type)
    values = [value for value in consumer.op.operands if value.owner is producer.op]
    return all(_same(dims_of(value.type), shape) for value in values)


def _same(a: Sequence[Dim], b: Sequence[Dim]) -> bool:
    return len(a) == len(b) and all(x.proves_equal(y) for x, y in zip(a, b, strict=True))
