"""Groups of ops that share the loops of an anchor: producers and consumers with matching tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import tensor
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineMap

from stepwell.dialects.sched import NAME, place_of, schedule_of
from stepwell.dialects.tensor_ir.gaps import has_gaps
from stepwell.dialects.tensor_ir.structured import Structured, linear, projected_permutation


@dataclass(frozen=True, eq=False)
class Member:
    """An op of a group, and the anchor's loop that each loop of the op corresponds to (None: its own)."""

    view: Structured
    loop_of: tuple[int | None, ...]

    @property
    def op(self) -> Operation:
        """The op itself."""
        return self.view.op

    def covers(self, shared: Sequence[int]) -> bool:
        """Whether each shared loop is a parallel loop of this op, and can be cut."""
        own = [self.loop_of.index(loop) for loop in shared if loop in self.loop_of]
        return (
            len(own) == len(shared)
            and all(self.view.parallel[d] for d in own)
            and self.view.can_slice(set(own))
        )


def fused_group(anchor: Structured, shared: Sequence[int]) -> list[Member]:
    """
    The ops that can be computed tile by tile inside the `shared` loops of `anchor`, in program order.

    Each of them has all the shared loops, so nothing is computed twice. An op before the group whose result
    is also used after the group stays where it is; ops that cannot join (a reshape, a reduction over a shared
    loop) end the group.
    """
    block = anchor.op.parent
    assert block is not None
    position = {op: i for i, op in enumerate(block.ops)}
    members: dict[Operation, Member] = {anchor.op: Member(anchor, tuple(range(anchor.rank)))}
    waiting = _neighbours(members[anchor.op], block)
    while waiting:
        op = waiting.pop(0)
        view = Structured.of(op)
        if op in members or view is None or _is_stored_between(view, members):
            continue
        # An op that cannot join now is tried again when another neighbour of it has joined.
        candidate = _unify(view, members)
        if candidate is None or not candidate.covers(shared) or _is_open_anchor(candidate, shared):
            continue
        if _wants_more(candidate, anchor, shared) or not _may_be_in(op, anchor.op):
            continue
        trial = {**members, op: candidate}
        if _edges_agree(candidate, members, shared) and _can_be_moved_together(trial, position):
            members = trial
            waiting += _neighbours(candidate, block)
    return sorted(members.values(), key=lambda m: position[m.op])


def _is_stored_between(view: Structured, members: dict[Operation, Member]) -> bool:
    """Whether a tensor between an op and members has gaps in memory: it is stored whole, not tile by tile."""
    return any(has_gaps(member.op if is_read else view.op) for member, _, _, is_read in _edges(view, members))


def _is_open_anchor(candidate: Member, shared: Sequence[int]) -> bool:
    """
    Whether an op's schedule has parallel loops or levels, and the op has a loop of open extent outside of
    `shared`.

    In tiles of the shared loops alone, the intermediate values of the group would have no bounded size.
    """
    schedule = schedule_of(candidate.op)
    if schedule is None or not (schedule.parallel or schedule.inner):
        return False
    loops = zip(candidate.view.extents, candidate.loop_of, strict=True)
    return any(extent is None and loop not in shared for extent, loop in loops)


def _may_be_in(op: Operation, anchor: Operation) -> bool:
    """Whether an op may be computed in the loops of an anchor: no other place is named."""
    place, name = place_of(op), anchor.attributes.get(NAME)
    return place is None or (isinstance(name, StringAttr) and name.data == place)


def _wants_more(candidate: Member, anchor: Structured, shared: Sequence[int]) -> bool:
    """Whether an op has parallel loops inside of others, or larger tiles than an anchor's shared ones."""
    own, given = schedule_of(candidate.op), schedule_of(anchor.op)
    if own is not None and any(level.parallel for level in own.inner):
        return True
    if own is None or given is None or not own.parallel:
        return False
    tiles = [
        (own.tile[d], given.tile[loop])
        for d, loop in enumerate(candidate.loop_of)
        if loop is not None and loop in shared
    ]
    return any(0 < theirs < mine for mine, theirs in tiles)


def _neighbours(member: Member, block: Block) -> list[Operation]:
    """Producers of the operands and users of the results, in the same block."""
    producers = [v.owner for v in member.op.operands if isinstance(v, OpResult)]
    users = [use.operation for result in member.op.results for use in result.uses]
    return [op for op in (*producers, *users) if op.parent is block]


def _edges(
    view: Structured, members: dict[Operation, Member]
) -> list[tuple[Member, AffineMap, AffineMap, bool]]:
    """The tensors between an op and members: (member, its map, the op's map, whether the op reads it)."""
    found: list[tuple[Member, AffineMap, AffineMap, bool]] = []
    for value, map in zip(view.op.operands, view.maps, strict=True):
        if isinstance(value, OpResult) and (member := members.get(value.op)) is not None:
            found.append((member, member.view.init_maps[value.index], map, True))
    for result, map in zip(view.op.results, view.init_maps, strict=True):
        for use in result.uses:
            member = members.get(use.operation)
            if member is not None:
                found.append((member, member.view.maps[use.index], map, False))
    return found


def _unify(view: Structured, members: dict[Operation, Member]) -> Member | None:
    """Find the anchor's loop for each loop of an op, by the tensors between it and members."""
    loop_of: list[int | None] = [None] * view.rank
    for member, member_map, map, _ in _edges(view, members):
        member_dims, dims = projected_permutation(member_map), projected_permutation(map)
        if member_dims is None or dims is None:
            continue
        for theirs, own in zip(member_dims, dims, strict=True):
            loop = member.loop_of[theirs]
            if loop is None:
                continue
            if loop_of[own] not in (None, loop) or (loop in loop_of and loop_of[own] is None):
                return None
            loop_of[own] = loop
    return Member(view, tuple(loop_of))


def _edges_agree(candidate: Member, members: dict[Operation, Member], shared: Sequence[int]) -> bool:
    """
    Whether tiles match on all edges between a candidate and members: consumers read what producers write.

    Members agree with each other already.
    """
    return all(
        _same_tile(member, theirs, candidate, own, shared)
        if is_read
        else _same_tile(candidate, own, member, theirs, shared)
        for member, theirs, own, is_read in _edges(candidate.view, members)
    )


def _same_tile(
    producer: Member, written: AffineMap, consumer: Member, read: AffineMap, shared: Sequence[int]
) -> bool:
    if (made := projected_permutation(written)) is None:
        return False
    for dim, expr in zip(made, read.results, strict=True):
        loop = producer.loop_of[dim]
        index = linear(expr)
        cut = [consumer.loop_of[d] for d in expr.used_dims() if consumer.loop_of[d] in shared]
        if loop in shared:
            if cut != [loop] or index is None or index.terms != ((index.dims[0], 1),) or index.constant:
                return False
        elif cut:
            return False
    return True


def _can_be_moved_together(members: dict[Operation, Member], position: dict[Operation, int]) -> bool:
    """
    Whether the group can be moved to the position of its last op.

    It can if no op between its ops, outside of the group, uses a result of the group.
    """
    last = max(position[op] for op in members)
    for op in members:
        for result in op.results:
            for use in result.uses:
                user = _in_block(use.operation, position)
                if user not in members and (user is None or position[user] < last):
                    return False
    return True


def _in_block(op: Operation, position: dict[Operation, int]) -> Operation | None:
    """The ancestor of an op, or the op itself, that is directly in the group's block; None for others."""
    current: Operation | None = op
    while current is not None and current not in position:
        current = current.parent_op()
    return current


def is_empty(value: SSAValue) -> bool:
    """Whether a tensor has no contents yet."""
    return isinstance(value.owner, tensor.EmptyOp)
