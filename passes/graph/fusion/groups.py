"""Which ops of a block become one kernel: groups grown along the post-dominators of the data flow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Block, Operation

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.types import dims_of
from stepwell.passes.graph.fusion.data_flow import DataFlow, Node, Way, edge_kind, way_to
from stepwell.passes.graph.fusion.rows import rows_of, stays_on_rows

_FOLLOWERS = (Kind.ELEMENTWISE, Kind.BROADCAST)
_REDUCTIONS = (Kind.REDUCTION, Kind.ROW)
# How far the search for a way around a group of several outputs goes, and how many readers it is tried for.
_MOST_STEPS = 256
_MOST_READERS = 8
# Rows of one register tile: more of them would dequantize a panel again, or keep the whole matrix.
_FEW_ROWS = 8


@dataclass(eq=False)
class Group:
    """The nodes of one kernel to be, and the rule that joined the last of them."""

    nodes: list[Node]
    rule: str = "single"

    @property
    def ops(self) -> list[GraphOp]:
        """The ops, in program order."""
        return [node.op for node in sorted(self.nodes, key=lambda node: node.position)]


def fusion_groups(block: Block, max_ops: int) -> list[Group]:
    """
    The computing ops of a block in groups, each to be one kernel.

    An op joins its immediate post-dominator when every op on every path between allows it; the rules run one
    after the other over the whole block, so that a contraction takes its followers before others can. What
    is left over and writes a value that a group reads joins it last, as a second output.
    Source: the post-dominator scheme of Relay's FuseOps, with rows.
    """
    flow = DataFlow(block)
    nodes = list(flow.nodes.values())
    for node in nodes:
        node.group = Group([node])
    for name, starts, allows in _RULES:
        for node in nodes:
            if starts(node.kind) and (sink := node.sink) is not None and sink.group is not node.group:
                way = way_to(node, sink, max_ops)
                if way is not None and allows(way, sink):
                    _merge([node, *way.between, sink], name, max_ops)
    for node in nodes:
        if (sink := node.sink) is not None and _fills_panels(node, sink):
            _merge([node, sink], "contraction", max_ops)
    for node in reversed(nodes):
        _join_as_output(node, flow, max_ops)
    return list({id(node.group): node.group for node in nodes}.values())


def _epilogue(way: Way, sink: Node) -> bool:
    """A contraction with its followers: each element of the result goes into one of theirs."""
    return way.edge is Kind.ELEMENTWISE and way.kind <= Kind.BROADCAST and sink.kind <= Kind.BROADCAST


def _fills_panels(node: Node, sink: Node) -> bool:
    """
    Whether a product reads weights that blocks of scales belong to, panel by panel, each for all its rows.

    A panel that has just been dequantized is in the cache; the matrix of floats is never in memory.
    """
    product = sink.op
    if not isinstance(node.op, graph.DequantizeOp) or not isinstance(product, graph.MatmulOp):
        return False
    rows = dims_of(product.a.type)[:-1]
    few = all(dim.is_static for dim in rows) and prod(dim.value for dim in rows) <= _FEW_ROWS
    return bool(product.panel) and few and product.b is node.op.result


def _rows(way: Way, sink: Node) -> bool:
    """A reduction or row op with what runs along the same rows."""
    steps = [*(node.kind for node in way.between), sink.kind]
    return way.edge <= Kind.REDUCTION and all(k in _FOLLOWERS or k in _REDUCTIONS for k in steps)


def _producer(way: Way, sink: Node) -> bool:
    """Elementwise and broadcasting ops into movement, reductions, rows, and what follows a contraction."""
    return sink.kind is not Kind.OPAQUE and sink.kind is not Kind.CONTRACTION and way.kind <= Kind.ROW


def _movement(way: Way, sink: Node) -> bool:
    """Injective ops, when the whole path is."""
    return way.edge <= Kind.INJECTIVE and way.kind <= Kind.INJECTIVE and sink.kind <= Kind.INJECTIVE


_RULES: Sequence[tuple[str, Callable[[Kind], bool], Callable[[Way, Node], bool]]] = (
    ("contraction", lambda kind: kind is Kind.CONTRACTION, _epilogue),
    ("rows", lambda kind: kind in _REDUCTIONS, _rows),
    ("elementwise", lambda kind: kind in _FOLLOWERS, _producer),
    ("injective", lambda kind: kind is Kind.INJECTIVE, _movement),
)
"""Each rule's name, which ops it starts from, and which ways to the post-dominator it allows."""


def _merge(nodes: Iterable[Node], rule: str, max_ops: int) -> bool:
    """Make one group of those of some nodes, unless it is too large, or no kernel computes all of it."""
    groups = {id(node.group): node.group for node in nodes}
    members = [member for group in groups.values() for member in group.nodes]
    if len(members) > max_ops or not _is_kernel(members):
        return False
    # The anchor's rule names the group, whatever joins it later.
    names = [name for name, *_ in _RULES]
    rules = [group.rule for group in groups.values() if group.rule in names]
    merged = Group(members, min([*rules, rule], key=names.index))
    for member in members:
        member.group = merged
    return True


def _is_kernel(nodes: Sequence[Node]) -> bool:
    """
    Whether one kernel computes some nodes well.

    It has one contraction at most, with elementwise and broadcasting ops; or reductions of the same rows with
    such ops on these rows; or one other reduction behind such ops; or none of them, and movement too.
    """
    kinds = [node.kind for node in nodes]
    if Kind.OPAQUE in kinds:
        return False
    anchors = [node for node in nodes if node.kind > Kind.INJECTIVE]
    if not anchors:
        return True
    if Kind.INJECTIVE in kinds:
        return False
    if Kind.CONTRACTION in kinds:
        return len(anchors) == 1
    return _walks_rows(nodes, anchors) or (len(anchors) == 1 and _ends_rows(anchors[0], nodes))


def _walks_rows(nodes: Sequence[Node], anchors: Sequence[Node]) -> bool:
    rows = rows_of(anchors[0].op)
    inside = set[Operation](node.op for node in nodes)
    return rows is not None and all(stays_on_rows(rows, node.op, node.kind, inside) for node in nodes)


def _ends_rows(anchor: Node, nodes: Sequence[Node]) -> bool:
    """Whether nothing follows a reduction, or only what takes the elements of a row op one by one."""
    inside = set(nodes)
    following = [user for user in anchor.users if user in inside]
    if anchor.kind is Kind.REDUCTION:
        return not following
    return all(edge_kind(anchor, user) is Kind.ELEMENTWISE for user in following)


def _join_as_output(node: Node, flow: DataFlow, max_ops: int) -> None:
    """
    Join the group of a reader that walks a node's elements one by one, as one more output of its kernel.

    The group writes the value on the way: it saves reading it again.
    """
    if node.kind not in _FOLLOWERS:
        return
    for user in node.users[:_MOST_READERS]:
        if user.group is node.group or not _reads_elements(node.group, user.group):
            continue
        if not _has_detour(node.group, user.group, flow) and _merge([node, user], "elementwise", max_ops):
            return


def _reads_elements(producers: Group, consumers: Group) -> bool:
    """Whether one group reads all that it takes from another element by element."""
    return all(
        edge_kind(node, user) is Kind.ELEMENTWISE
        for node in producers.nodes
        for user in node.users
        if user.group is consumers
    )


def _has_detour(first: Group, second: Group, flow: DataFlow) -> bool:
    """Whether a way leads out of two groups and back in, so that they cannot be one."""
    members = {*first.nodes, *second.nodes}
    last = max(node.position for node in members)
    seen: set[Operation] = set()
    stack = [user for node in members for user in flow.users_in_block(node.op)]
    while stack:
        op = stack.pop()
        node = flow.nodes.get(op)
        if op in seen or node in members:
            continue
        # A kernel waits for all that it reads: whoever enters it comes out anywhere.
        through = [op] if node is None else node.group.ops
        seen.update(through)
        if flow.position[through[0]] > last:
            continue
        if len(seen) > _MOST_STEPS:
            return True
        following = [user for inner in through for user in flow.users_in_block(inner)]
        if any(flow.nodes.get(user) in members for user in following):
            return True
        stack += following
    return False
