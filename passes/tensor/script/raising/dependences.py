"""Dependences between the stores of a nest: whether one structured op after the other computes the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import NamedTuple

from xdsl.dialects import tensor
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.sched import AXIS
from stepwell.passes.tensor.script.raising.nests import Buffer, Group, Index, LoopNode, Nest, NotRaisedError

_FEW = 4
"""The iterations of a loop that are looked at for two that meet."""


class Access(NamedTuple):
    """An element that a group reads or writes."""

    buffer: Buffer
    place: tuple[Index, ...] | None
    """None for indices that depend on data."""
    op: Operation
    version: SSAValue | None = None


def reads_of(nest: Nest, group: Group) -> Iterator[Access]:
    """The reads of a nest's buffers that the values of a group's stores depend on."""
    seen: set[SSAValue] = set()
    waiting = [store.value for store in group.stores]
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        if (scalar := nest.scalars.get(value)) is not None:
            yield Access(
                scalar, tuple(Index(((loop, 1),)) for loop in scalar.loops), group.stores[0].op, value
            )
            continue
        owner = value.owner
        if not isinstance(owner, Operation) or not nest.top.is_ancestor(owner):
            continue
        for op in owner.walk():
            waiting += op.operands
            waiting += [o for region in op.regions for block in region.blocks for o in _ends(block.last_op)]
            if isinstance(op, tensor.ExtractOp) and (buffer := nest.buffer(op.tensor)) is not None:
                found = [nest.index(index, group.loops) for index in op.indices]
                place = tuple(index for index in found if index is not None)
                yield Access(buffer, place if len(place) == len(found) else None, op, op.tensor)


def _ends(op: Operation | None) -> Sequence[SSAValue]:
    return [] if op is None else list(op.operands)


def pinned(place: Sequence[Index]) -> set[LoopNode]:
    """The loops whose iterations have different elements at a place, each alone in an index."""
    return {loop for index in place if (loop := index.loop) is not None}


def summed(nest: Nest, group: Group) -> list[LoopNode]:
    """The loops of a group that its stores do not move along."""
    place = nest.place(group.stores[0], group.loops)
    return [loop for loop in group.loops if loop not in pinned(place)]


def expect_independent(nest: Nest) -> None:
    """Require that groups can be computed one after the other. Raises: NotRaisedError."""
    accesses = [(group, _writes(nest, group), list(reads_of(nest, group))) for group in nest.groups]
    for group, writes, reads in accesses:
        for write in writes:
            _expect_alone(group, write)
            for read in reads:
                if (
                    read.buffer is write.buffer
                    and read.place != write.place
                    and not _is_made_here(nest, group, read)
                ):
                    raise NotRaisedError(
                        f"an iteration reads {read.buffer.name} where another one writes", read.op
                    )
    for at, (group, writes, reads) in enumerate(accesses):
        for other, later_writes, later_reads in accesses[at + 1 :]:
            common = [a for a, b in zip(group.loops, other.loops, strict=False) if a is b]
            pairs = [*product(writes, [*later_writes, *later_reads]), *product(reads, later_writes)]
            for first, second in pairs:
                if first.buffer is second.buffer and not _is_same_iteration(first, second, common):
                    message = f"{first.buffer.name} is written in one iteration and used in another one"
                    raise NotRaisedError(message, second.op)


def _is_made_here(nest: Nest, group: Group, read: Access) -> bool:
    """Whether a read is of a tensor that the group itself has written, at the same element."""
    made = nest.made.get(nest.version(read.version)) if read.version is not None else None
    return made is group and any(
        read.place == nest.place(store, group.loops) for store in group.stores if store.buffer is read.buffer
    )


def _writes(nest: Nest, group: Group) -> list[Access]:
    return [Access(s.buffer, nest.place(s, group.loops), s.op) for s in group.stores]


def _is_same_iteration(a: Access, b: Access, common: Sequence[LoopNode]) -> bool:
    """Whether two accesses of one element are in the same iteration of the loops around both."""
    if a.place is None or b.place is None:
        return False
    equal = {x.loop for x, y in zip(a.place, b.place, strict=True) if x == y}
    return all(loop in equal for loop in common)


def _expect_alone(group: Group, write: Access) -> None:
    """Require each loop that moves an index to do so alone, as its kind of axis says."""
    assert write.place is not None
    alone = pinned(write.place)
    for loop in group.loops:
        kind = loop.op.attributes.get(AXIS)
        if kind == StringAttr("reduce") and loop in alone:
            message = f"axis {loop.name} is declared reduce, and each of its steps writes another element of "
            raise NotRaisedError(f"{message}{write.buffer.name}", write.op)
        moves = any(loop in (term for term, _ in index.terms) for index in write.place)
        if loop not in alone and (moves or kind == StringAttr("spatial")):
            points = meeting(write.place, group.loops)
            message = f"steps of {loop.name} write the same element of {write.buffer.name}"
            raise NotRaisedError(message, write.op, points)


def meeting(place: Sequence[Index], loops: Sequence[LoopNode]) -> tuple[str, str] | None:
    """Two points of loops with the same element, as text; None where the first few have none."""
    seen: dict[tuple[int, ...], tuple[int, ...]] = {}
    ranges = [range(min(_FEW, loop.extent if loop.extent is not None else _FEW)) for loop in loops]
    for point in product(*ranges):
        at = dict(zip(loops, point, strict=True))
        element = tuple(
            index.constant + sum(at[loop] * factor for loop, factor in index.terms) for index in place
        )
        if (other := seen.setdefault(element, point)) is not point:
            names = [loop.name for loop in loops]
            texts = [", ".join(f"{n} = {i}" for n, i in zip(names, p, strict=True)) for p in (other, point)]
            return texts[0], texts[1]
    return None
