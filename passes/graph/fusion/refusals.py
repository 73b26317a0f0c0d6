"""The reasons why a value goes from one kernel to another, for `fuse-ops{explain}`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph_ir.annotations import STOP_FUSION
from stepwell.passes.graph.fusion.data_flow import Node, edge_kind, way_to
from stepwell.passes.graph.fusion.groups import KINDS, Group, computes_indices, is_kernel
from stepwell.runtime.errors import describe_location

_ALLOWED = {
    "contraction": "a contraction is joined only by elementwise and broadcast ops on its whole result",
    "rows": "a reduction is joined only by elementwise and broadcast ops, and by reductions",
    "elementwise": "an elementwise op joins no contraction that reads it",
    "injective": "a movement is joined only by movements and elementwise ops",
}
"""What each kind of kernel allows."""


class Refusal(NamedTuple):
    """A value between two kernels: written by the first, read by the second."""

    producer: GraphOp
    reader: GraphOp
    reason: str


def refusals(groups: Iterable[Group], max_ops: int) -> Iterator[Refusal]:
    """For each op, its first reader in each other group, and why the two are in different kernels."""
    for group in groups:
        for node in group.nodes:
            readers = {id(user.group): user for user in reversed(node.users) if user.group is not group}
            for reader in sorted(readers.values(), key=lambda user: user.position):
                yield Refusal(node.op, reader.op, _reason(node, reader, max_ops))


def _reason(node: Node, reader: Node, max_ops: int) -> str:
    if STOP_FUSION in node.op.attributes:
        return f"{node.op.name} has the attribute {STOP_FUSION}"
    if opaque := next((each for each in (node, reader) if each.kind is Kind.OPAQUE), None):
        return f"{opaque.op.name} is a kernel by itself"
    members = [*node.group.nodes, *reader.group.nodes]
    if len(members) > max_ops:
        return f"the kernel would have {len(members)} ops, more than max-ops={max_ops}"
    if (sink := node.sink) is None:
        return "no op of this block uses all that is computed from it"
    if (why := _refused_way(node, sink, max_ops)) is not None:
        return why
    if not is_kernel(members):
        return _mixture(members)
    return f"all that is computed from it meets at {described_op(sink.op)}, in another kernel"


def _refused_way(node: Node, sink: Node, max_ops: int) -> str | None:
    """The rule that an op on the way to the post-dominator breaks, by fusion kind; None where none is."""
    name, allows = next((name, allows) for name, starts, allows in KINDS if starts(node.kind))
    way = way_to(node, sink, max_ops)
    if way is not None and allows(way, sink):
        return None
    culprit = max([*_between(node, sink, max_ops), sink], key=lambda each: each.kind)
    found = f"{described_op(culprit.op)} has the fusion kind {culprit.kind.name.lower()}"
    if culprit in node.users and culprit.kind is Kind.BROADCAST:
        found += f", and reads it as {edge_kind(node, culprit).name.lower()}"
    return f"{_ALLOWED[name]}; {found}"


def _between(node: Node, sink: Node, limit: int) -> list[Node]:
    """The nodes on the ways to a post-dominator, the first `limit` of them."""
    found: dict[int, Node] = {}
    stack = [node]
    while stack and len(found) < limit:
        for user in stack.pop().users:
            if user is not sink and id(user) not in found:
                found[id(user)] = user
                stack.append(user)
    return list(found.values())


def _mixture(members: Sequence[Node]) -> str:
    """Why no one kernel computes some ops."""
    if computes_indices(members):
        return "indices that must be checked are computed before the kernel that reads at them"
    kinds = [node.kind for node in members]
    if kinds.count(Kind.CONTRACTION) > 1:
        return "a kernel has one contraction"
    if Kind.INJECTIVE in kinds:
        return "a kernel with movements has no contraction and no reduction"
    if Kind.CONTRACTION in kinds:
        return "a kernel with a contraction has no reduction"
    return "reductions of one kernel are over the same rows, and one over others comes last"


def described_op(op: GraphOp) -> str:
    """The name of an op, and of its formula, with its location where that is known."""
    place = describe_location(op)
    name = f"{op.name} {op.formula}" if isinstance(op, graph.ExpressionOp) else op.name
    return f"{name} ({place})" if place else name
