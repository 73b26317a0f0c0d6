"""The data flow of a block for fusion: computing ops, the kinds of edges between them, post-dominators."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, TypeGuard, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.graph.expression_reads import reads_rows
from stepwell.dialects.graph.symbols import symbol_sources
from stepwell.dialects.graph_ir.annotations import STOP_FUSION
from stepwell.dialects.graph_ir.in_place import is_written_in_place
from stepwell.dialects.plugins.ops import Op
from stepwell.dialects.types import Tensor, dims_of
from stepwell.passes.analysis.scopes import ops_in_effect_order
from stepwell.patterns.dominators import PostDominators
from stepwell.runtime.dims import same_dims

if TYPE_CHECKING:
    from stepwell.passes.graph.fusion.groups import Group


_VIEWS = (graph.ReshapeOp, graph.ExpandDimsOp, graph.SqueezeOp, graph.WordsOp)


def computes(op: Operation) -> TypeGuard[GraphOp]:
    """
    Whether an op belongs in a kernel: a graph op, but no structure, no view, no plugin's, and no update of a
    carried tensor in place.
    """
    if not isinstance(op, GraphOp) or op.KIND is Kind.STRUCTURE or isinstance(op, (*_VIEWS, Op)):
        return False
    return not (is_written_in_place(op) and fusion_kind(op) is not Kind.OPAQUE)


def fusion_kind(op: GraphOp) -> Kind:
    """The fusion kind of an op; opaque if the shape of a result depends on data."""
    types = [cast(Tensor, type) for type in op.result_types if isinstance(type, TensorType)]
    known = all(not dim.is_unknown for type in types for dim in dims_of(type))
    return op.fusion_kind if known else Kind.OPAQUE


@dataclass(eq=False)
class Node:
    """A computing op in the data flow of its block: users, immediate post-dominator, and its fusion group."""

    op: GraphOp
    position: int
    kind: Kind
    users: list[Node] = field(default_factory=lambda: list[Node]())
    sink: Node | None = None
    """The immediate post-dominator: the nearest op on all paths through uses; None when there is none."""
    group: Group = field(init=False)


class DataFlow:
    """The computing ops of a block in order, with their users and post-dominators."""

    def __init__(self, block: Block):
        tree = PostDominators(block, lambda op, block: op.parent is block and computes(op))
        self._block = block
        self._symbol_users: dict[Operation, list[Operation]] = {}
        for user, definers in symbol_sources(block).items():
            for definer in definers:
                self._symbol_users.setdefault(definer, []).append(user)
        self._next_effect = dict(pairwise(ops_in_effect_order(block)))
        self.position = tree.position
        self.nodes: dict[Operation, Node] = {
            op: Node(op, position, fusion_kind(op)) for op, position in tree.position.items() if computes(op)
        }
        for op, node in self.nodes.items():
            node.users = [self.nodes[user] for user in self.users_in_block(op) if user in self.nodes]
            sink = tree.immediate(op)
            node.sink = self.nodes.get(sink) if isinstance(sink, Operation) else None

    def users_in_block(self, op: Operation) -> list[Operation]:
        """The ops of the block that must come after an op: for a result, a symbol or the order of effects."""
        users = (use.operation for result in op.results for use in result.uses)
        above = (self._block.find_ancestor_op_in_block(user) for user in users)
        users_here = dict.fromkeys(user for user in above if user is not None)
        users_here |= dict.fromkeys(self._symbol_users.get(op, ()))
        if (following := self._next_effect.get(op)) is not None:
            users_here[following] = None
        return list(users_here)


def edge_kind(producer: Node, consumer: Node) -> Kind:
    """The access of a consumer to a producer: elementwise, broadcast, injective, reduction or opaque."""
    if STOP_FUSION in producer.op.attributes:
        return Kind.OPAQUE
    match consumer.kind:
        case Kind.ELEMENTWISE | Kind.BROADCAST:
            shape = dims_of(consumer.op.results[0].type)
            values = [value for value in consumer.op.operands if value.owner is producer.op]
            same = all(same_dims(dims_of(value.type), shape) for value in values)
            return Kind.ELEMENTWISE if same else Kind.BROADCAST
        case Kind.INJECTIVE:
            return Kind.INJECTIVE
        case Kind.REDUCTION if isinstance(consumer.op, graph.ExpressionOp):
            reads = [value for value in consumer.op.inputs if value.owner is producer.op]
            on_rows = all(reads_rows(consumer.op, value, len(consumer.op.axes)) for value in reads)
            return Kind.REDUCTION if on_rows else Kind.OPAQUE
        case Kind.REDUCTION | Kind.ROW:
            reads = [i for i, value in enumerate(consumer.op.operands) if value.owner is producer.op]
            return Kind.REDUCTION if reads == [0] else Kind.OPAQUE
        case _:
            return Kind.OPAQUE


@dataclass(frozen=True)
class Way:
    """All paths from a node to its post-dominator."""

    between: list[Node]
    edge: Kind
    """The greatest kind of an edge."""

    @property
    def kind(self) -> Kind:
        """The greatest kind of a node between."""
        return max((node.kind for node in self.between), default=Kind.ELEMENTWISE)


def way_to(node: Node, sink: Node, limit: int) -> Way | None:
    """The paths from a node to its post-dominator; None for an opaque edge or more than `limit` nodes."""
    between: dict[int, Node] = {}
    edge = Kind.ELEMENTWISE
    stack = [node]
    while stack:
        current = stack.pop()
        for user in current.users:
            edge = max(edge, edge_kind(current, user))
            if user is not sink and id(user) not in between:
                between[id(user)] = user
                stack.append(user)
        if len(between) > limit or edge is Kind.OPAQUE:
            return None
    return Way(list(between.values()), edge)
