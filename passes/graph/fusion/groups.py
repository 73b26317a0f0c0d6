"""The grouping of a block's ops into kernels, along the post-dominators of the data flow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import Block, Operation

from stepwell.dialects import graph
from stepwell.dialects.costs.layouts import LAYOUTS
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph_ir.checked_indices import checked_indices
from stepwell.dialects.types import dims_of
from stepwell.passes.graph.fusion.data_flow import DataFlow, Node, Way, edge_kind, way_to
from stepwell.passes.graph.fusion.rows import rows_of, stays_on_rows

_FOLLOWERS = (Kind.ELEMENTWISE, Kind.BROADCAST)
_REDUCTIONS = (Kind.REDUCTION, Kind.ROW)
# Limits of the search for a path that leaves and reenters a group: steps, and users that it is tried for.
_MOST_STEPS = 256
_MOST_READERS = 8


@dataclass(eq=False)
class Group:
    """The nodes of one future kernel, and its kind."""

    nodes: list[Node]
    kind: str = "single"

    @property
    def ops(self) -> list[GraphOp]:
        """The ops of the group, in program order."""
        return [node.op for node in sorted(self.nodes, key=lambda node: node.position)]


def fusion_groups(block: Block, max_ops: int) -> list[Group]:
    """
    A partition of the computing ops of a block into groups, each to be one kernel.

    An op joins its immediate post-dominator when every op on every path between allows it. One kind of
    kernel is formed after the other over the whole block, so that a contraction is fused with its followers
    before others are.
    Last, an elementwise op whose result a group reads may join that group, as a second output.
    Source: the post-dominator scheme of Relay's FuseOps, with rows.
    """
    flow = DataFlow(block)
    nodes = list(flow.nodes.values())
    for node in nodes:
        node.group = Group([node])
    for name, starts, allows in KINDS:
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
    """Whether a contraction may fuse with its followers: elementwise edges, elementwise or broadcast ops."""
    return way.edge is Kind.ELEMENTWISE and way.kind <= Kind.BROADCAST and sink.kind <= Kind.BROADCAST


def _fills_panels(node: Node, sink: Node) -> bool:
    """
    Whether a dequantize of weights may fuse with the packed product of few rows that reads them.

    The kernel dequantizes each panel and uses it for all rows while it is in the cache; the matrix of floats
    is never in memory.
    """
    product = sink.op
    if not isinstance(node.op, graph.DequantizeOp) or not isinstance(product, graph.MatmulOp):
        return False
    rows = dims_of(product.a.type)[:-1]
    few = all(dim.is_static for dim in rows) and prod(dim.value for dim in rows) <= LAYOUTS.dequantized_rows
    return bool(product.panel) and few and product.b is node.op.result


def _rows(way: Way, sink: Node) -> bool:
    """Whether reductions and row-wise ops may fuse along a path: only these and elementwise ops are on it."""
    steps = [*(node.kind for node in way.between), sink.kind]
    return all(k in _FOLLOWERS or k in _REDUCTIONS for k in steps)


def _producer(way: Way, sink: Node) -> bool:
    """Whether an elementwise op may fuse into its post-dominator: any kind but opaque and contraction."""
    return sink.kind is not Kind.OPAQUE and sink.kind is not Kind.CONTRACTION and way.kind <= Kind.ROW


def _movement(way: Way, sink: Node) -> bool:
    """Whether an injective op may fuse: all edges and ops of the path are injective or simpler."""
    return way.edge <= Kind.INJECTIVE and way.kind <= Kind.INJECTIVE and sink.kind <= Kind.INJECTIVE


KINDS: Sequence[tuple[str, Callable[[Kind], bool], Callable[[Way, Node], bool]]] = (
    ("contraction", lambda kind: kind is Kind.CONTRACTION, _epilogue),
    ("rows", lambda kind: kind in _REDUCTIONS, _rows),
    ("elementwise", lambda kind: kind in _FOLLOWERS, _producer),
    ("injective", lambda kind: kind is Kind.INJECTIVE, _movement),
)
"""Kinds of kernels: a name, a predicate of the ops to start from, one of paths to the post-dominator."""


def _merge(nodes: Iterable[Node], kind: str, max_ops: int) -> bool:
    """Merge the groups of some nodes, unless the result is too large or no kernel can compute it."""
    groups = {id(node.group): node.group for node in nodes}
    members = [member for group in groups.values() for member in group.nodes]
    if len(members) > max_ops or not is_kernel(members):
        return False
    # The anchor's kind names the group, whatever joins it later.
    names = [name for name, *_ in KINDS]
    kinds = [group.kind for group in groups.values() if group.kind in names]
    merged = Group(members, min([*kinds, kind], key=names.index))
    for member in members:
        member.group = merged
    return True


def is_kernel(nodes: Sequence[Node]) -> bool:
    """
    Whether one kernel can compute some nodes efficiently, by their kinds.

    They are one contraction with elementwise and broadcasting ops; or reductions of the same rows with such
    ops on these rows; or one other reduction after such ops; or elementwise ops and movement only.
    """
    kinds = [node.kind for node in nodes]
    if Kind.OPAQUE in kinds or computes_indices(nodes):
        return False
    anchors = [node for node in nodes if node.kind > Kind.INJECTIVE]
    if not anchors:
        return True
    if Kind.INJECTIVE in kinds:
        return False
    if Kind.CONTRACTION in kinds:
        return len(anchors) == 1
    return _walks_rows(nodes, anchors) or (len(anchors) == 1 and _ends_rows(anchors[0], nodes))


def computes_indices(nodes: Sequence[Node]) -> bool:
    """Whether some nodes read elements at indices that others of them compute, which no check would see."""
    found = [indices for node in nodes if (indices := checked_indices(node.op)) is not None]
    return bool(found) and any(indices.owner is node.op for indices in found for node in nodes)


def _walks_rows(nodes: Sequence[Node], anchors: Sequence[Node]) -> bool:
    rows = rows_of(anchors[0].op)
    inside = set[Operation](node.op for node in nodes)
    return rows is not None and all(stays_on_rows(rows, node.op, node.kind, inside) for node in nodes)


def _ends_rows(anchor: Node, nodes: Sequence[Node]) -> bool:
    """Whether a reduction is last among some nodes; a row-wise op may have elementwise users."""
    inside = set(nodes)
    following = [user for user in anchor.users if user in inside]
    if anchor.kind is Kind.REDUCTION:
        return not following
    return all(edge_kind(anchor, user) is Kind.ELEMENTWISE for user in following)


def _join_as_output(node: Node, flow: DataFlow, max_ops: int) -> None:
    """
    Merge an elementwise node's group with a user's group, with the node's result as one more output.

    The kernel writes the value when it has computed it: this saves reading it again.
    """
    if node.kind not in _FOLLOWERS:
        return
    for user in node.users[:_MOST_READERS]:
        if user.group is node.group or not _reads_elements(node.group, user.group):
            continue
        if not _has_detour(node.group, user.group, flow) and _merge([node, user], "elementwise", max_ops):
            return


def _reads_elements(producers: Group, consumers: Group) -> bool:
    """Whether all edges from one group to another are elementwise."""
    return all(
        edge_kind(node, user) is Kind.ELEMENTWISE
        for node in producers.nodes
        for user in node.users
        if user.group is consumers
    )


def _has_detour(first: Group, second: Group, flow: DataFlow) -> bool:
    """Whether a path leaves two groups and reenters them, so that one kernel would depend on itself."""
    members = {*first.nodes, *second.nodes}
    last = max(node.position for node in members)
    seen: set[Operation] = set()
    stack = [user for node in members for user in flow.users_in_block(node.op)]
    while stack:
        op = stack.pop()
        node = flow.nodes.get(op)
        if op in seen or node in members:
            continue
        # A kernel waits for all its operands: a path that enters at one op leaves at any of its outputs.
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
