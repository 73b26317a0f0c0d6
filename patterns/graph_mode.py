"""Graph mode: several patterns with edges between them, bound one to one, and rewritten together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.traits import Pure

from stepwell.dialects.types import dims_of
from stepwell.patterns.compile import program_of
from stepwell.patterns.driver.carry_out import carry_out
from stepwell.patterns.driver.lineage import MAX_DEPTH, Lineage
from stepwell.patterns.edges import Edge, GraphPattern
from stepwell.patterns.groups import Remark, blocks_of
from stepwell.patterns.machine import Binding, Blocks, Machine
from stepwell.patterns.matching import block_of, is_core
from stepwell.patterns.nodes import Pattern
from stepwell.patterns.partitioning import ignore
from stepwell.patterns.rewriting import erase_unused, expect_type, expect_value
from stepwell.patterns.values import owner_of

Bound = dict[Pattern, SSAValue]
GraphCallback = Callable[[Bound, PatternRewriter], Mapping[SSAValue, SSAValue]]


def match_graph(graph: GraphPattern, func: Operation) -> Bound | None:
    """The first binding of a graph's patterns, and of what they contain; None when there is none."""
    return next((found for block in blocks_of(func) for found in _bindings(graph, block)), None)


def rewrite_graph(
    graph: GraphPattern, callback: GraphCallback, func: Operation, *, remark: Remark = ignore
) -> int:
    """
    Rewrite the bindings of a graph pattern, in order, except those that share an interior node with an
    earlier binding.

    Args: `callback(bound, rewriter)` gets the node of each pattern object, and returns new values for some of
    these nodes. New ops are inserted after the definitions of all operands; pure ops that define operands are
    moved up when needed, else the binding is skipped, with a `remark`.
    Returns: the number of bindings rewritten.
    Raises: StepwellError `endless-rules`, `bad-rule`.
    """
    done = 0
    lineage = Lineage(func, MAX_DEPTH, "let the pattern not match what the callback makes")
    for block in list(blocks_of(func)):
        used: set[SSAValue] = set()
        while (found := _next(graph, block, used, remark)) is not None:
            bound, place = found
            interior = _interior(bound)
            used |= set(interior)
            ops = [op for value in interior if (op := owner_of(value)) is not None]
            replacement = _Replacement(callback, bound, ops)
            rewriter = PatternRewriter(place)
            done += carry_out([replacement], place, rewriter, lineage, matched=ops) is not None
    return done


def _next(
    graph: GraphPattern, block: Block, used: set[SSAValue], remark: Remark
) -> tuple[Bound, Operation] | None:
    """
    The next binding without interior nodes of earlier bindings, and the op before which new ops are inserted.
    """
    for bound in _bindings(graph, block):
        interior = _interior(bound)
        if not interior or not used.isdisjoint(interior):
            continue
        if (place := _make_room(bound, interior, block)) is not None:
            return bound, place
        remark(owner_of(interior[0]), "not rewritten: an operand comes after a user of what it would replace")
        used |= set(interior)
    return None


@dataclass(frozen=True)
class _Replacement:
    """The rewrite of a binding by a callback."""

    origin: GraphCallback
    bound: Bound
    interior: Sequence[Operation]

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Replace interior values by those that the callback returns, inserted before `op`."""
        for old, given in self.origin(self.bound, rewriter).items():
            new = expect_value("the callback", old, given)
            expect_type("the callback", old, new)
            new.name_hint = new.name_hint or old.name_hint
            old.replace_all_uses_with(new)
        rewriter.has_done_action = True  # a binding is rewritten once, whatever the callback returns
        order = {op: i for i, op in enumerate(op.parent.ops)} if op.parent is not None else {}
        erase_unused([op for op in sorted(self.interior, key=order.__getitem__) if op.has_trait(Pure)])


def _interior(bound: Bound) -> list[SSAValue]:
    return list(dict.fromkeys(value for pattern, value in bound.items() if is_core(pattern)))


class _Search:
    """A backtracking search that binds the patterns of a graph one after the other."""

    def __init__(self, graph: GraphPattern, block: Block):
        self.graph = graph
        self.block = block
        self.machine = Machine(Blocks())
        self.steps = {pattern: program_of(pattern).step for pattern in graph.nodes}
        self.order = _connected_order(graph)
        self.edges = {
            pattern: [edge for edge in graph.edges if pattern in (edge.source, edge.user)]
            for pattern in self.order
        }
        results = (result for op in block.ops for result in op.results)
        self.values: list[SSAValue] = [*block.args, *results]
        self.position = {value: i for i, value in enumerate(self.values)}

    def run(self) -> Iterator[Bound]:
        """All bindings of the graph's patterns; candidates are tried in program order."""
        assigned: Bound = {}
        marks: list[int] = []
        candidates = [iter(self._candidates(self.order[0], assigned))] if self.order else []
        while candidates:
            pattern = self.order[len(candidates) - 1]
            value = next(candidates[-1], None)
            if value is None:
                candidates.pop()
                if candidates:
                    self.machine.undo(marks.pop())
                    assigned.pop(self.order[len(candidates) - 1])
                continue
            mark = len(self.machine.trail)
            if not self._fits(pattern, value, assigned):
                self.machine.undo(mark)
                continue
            assigned[pattern] = value
            if len(assigned) < len(self.order):
                marks.append(mark)
                candidates.append(iter(self._candidates(self.order[len(candidates)], assigned)))
                continue
            yield _bound(self.machine.trail) | assigned
            assigned.pop(pattern)
            self.machine.undo(mark)

    def _candidates(self, pattern: Pattern, assigned: Bound) -> Sequence[SSAValue]:
        """
        The values to try for a pattern: by an edge to a bound pattern, else its own binding, else all in
        program order.
        """
        known = self.machine.memo.get(pattern)
        if known is not None:
            return [known]
        for edge in self.edges[pattern]:
            if edge.user is pattern and edge.source in assigned:
                users = {use.operation for use in assigned[edge.source].uses}
                near = [result for op in users if op.parent is self.block for result in op.results]
                return self._in_order(near)
            if edge.source is pattern and edge.user in assigned:
                op = owner_of(assigned[edge.user])
                operands = () if op is None else tuple(op.operands)
                return self._in_order([value for value in operands if value in self.position])
        return self.values

    def _in_order(self, values: Sequence[SSAValue]) -> list[SSAValue]:
        return sorted(dict.fromkeys(values), key=self.position.__getitem__)

    def _fits(self, pattern: Pattern, value: SSAValue, assigned: Bound) -> bool:
        """Whether a pattern matches at a value consistently with the bindings so far and their edges."""
        if value in assigned.values() or not self.machine.attempt(self.steps[pattern], value):
            return False
        trial = {**assigned, pattern: value}
        return all(_holds(edge, trial) for edge in self.edges[pattern]) and all(
            _same_shape(trial[a], trial[b])
            for a, b in self.graph.same_shapes
            if a in trial and b in trial and pattern in (a, b)
        )


def _bindings(graph: GraphPattern, block: Block) -> Iterator[Bound]:
    for found in _Search(graph, block).run():
        if all(block_of(value) is block for value in _interior(found)):
            yield found


def _bound(trail: Sequence[Binding]) -> Bound:
    return {key: value for key, value in trail if value is not None and not isinstance(key, str)}


def _connected_order(graph: GraphPattern) -> list[Pattern]:
    """
    The patterns in depth-first order along edges: each but the first of a component has an edge to an earlier
    pattern.
    """
    order: dict[Pattern, None] = {}
    for start in graph.nodes:
        stack = [start]
        while stack:
            pattern = stack.pop()
            if pattern in order:
                continue
            order[pattern] = None
            near = [
                edge.user if edge.source is pattern else edge.source
                for edge in graph.edges
                if pattern in (edge.source, edge.user)
            ]
            stack += reversed(near)
    return list(order)


def _holds(edge: Edge, bound: Bound) -> bool:
    if edge.source not in bound or edge.user not in bound:
        return True
    source, user = bound[edge.source], owner_of(bound[edge.user])
    if user is None:
        return False
    places = [i for i, value in enumerate(user.operands) if value is source]
    if not places or (edge.index is not None and edge.index not in places):
        return False
    return not edge.only or all(use.operation is user for use in source.uses)


def _same_shape(a: SSAValue, b: SSAValue) -> bool:
    try:
        return dims_of(a.type) == dims_of(b.type)
    except TypeError:
        return False


def _make_room(bound: Bound, interior: Sequence[SSAValue], block: Block) -> Operation | None:
    """
    The op before which new ops can be inserted: after all operands, before all users of replaced values.

    Pure ops that define operands are moved up when that is needed; None when others would have to be.
    """
    # Insertion point: the first user of replaced values, else the op after the last interior op.
    position = {op: i for i, op in enumerate(block.ops)}
    inside = {op for value in interior if (op := owner_of(value)) is not None}
    users = (
        user
        for op in inside
        for result in op.results
        for use in result.uses
        if (user := block.find_ancestor_op_in_block(use.operation)) is not None and user not in inside
    )
    last = max(inside, key=position.__getitem__)
    place = min(users, key=position.__getitem__, default=last.next_op)
    if place is None:
        return None
    # Ops after the insertion point that operands of the binding depend on.
    wanted = [op for value in bound.values() if (op := owner_of(value)) is not None and op not in inside]
    wanted += [above for op in inside for value in op.operands if (above := owner_of(value)) is not None]
    needed: dict[Operation, None] = {}
    while wanted:
        op = wanted.pop()
        if op in needed or op.parent is not block or position[op] < position[place]:
            continue
        needed[op] = None
        wanted += [above for value in op.operands if (above := owner_of(value)) is not None]
    # Move these ops before the insertion point, all of them or none.
    needed |= {op: None for op in inside if position[op] > position[place]}
    if place in needed or any(not op.has_trait(Pure) for op in needed):
        return None
    for op in sorted(needed, key=position.__getitem__):
        op.detach()
        block.insert_op_before(op, place)
    return place
