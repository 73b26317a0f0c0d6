"""Loops whose copies to memory of the block run some steps ahead, beside the threads that compute."""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign

from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import is_side_effect_free

from stepwell.dialects import gpu
from stepwell.dialects.gpu.async_copies import COPIED_BYTES
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.sched import TOGETHER
from stepwell.dialects.types import element_bytes
from stepwell.passes.loop.gpu.nests import buffer_type


def are_plain_copies(loop: scf.ForOp, loads: Sequence[Operation], stores: Sequence[Operation]) -> bool:
    """Whether each store is of an element as it was loaded, or of 0: a GPU copies these itself."""
    carried = set(loop.body.block.args[1:])
    if any(carried & set(op.operands) for each in (*loads, *stores) for op in each.walk()):
        return False
    found = [op for each in stores for op in each.walk() if isinstance(op, memref.StoreOp)]
    return all(_is_copied(op) for op in found)


def _is_copied(store: memref.StoreOp) -> bool:
    """Whether a store is of an element as it was loaded, and a GPU copies so many bytes."""
    nbytes = element_bytes(buffer_type(store.memref).element_type) * _together(store)
    return _source(store.value) is not None and nbytes in COPIED_BYTES


def _together(store: memref.StoreOp) -> int:
    """The stores in a row, this one among them, that are of neighbouring elements."""
    count = store.attributes.get(TOGETHER)
    return count.value.data if isinstance(count, IntegerAttr) else 1


def _source(value: SSAValue) -> tuple[memref.LoadOp, SSAValue | None] | None:
    """The load of an element, and the condition without which it is 0; None for another value."""
    owner, exists = value.owner, None
    if isinstance(owner, arith.SelectOp) and _is_zero(owner.rhs):
        owner, exists = owner.lhs.owner, owner.cond
    return (owner, exists) if isinstance(owner, memref.LoadOp) else None


def _is_zero(value: SSAValue) -> bool:
    """Whether a number is 0, with the bits that a GPU fills in."""
    attribute = value.owner.value if isinstance(value.owner, arith.ConstantOp) else None
    if not isinstance(attribute, IntegerAttr | FloatAttr):
        return False
    number = attribute.value.data
    return number == 0 and copysign(1.0, number) > 0


class AsyncStages:
    """The copies of a loop's steps: each into one of some tiles in turn, and a group of its own."""

    def __init__(
        self,
        loop: scf.ForOp,
        loads: Sequence[Operation],
        stores: Sequence[Operation],
        stages: int,
        index: SSAValue,
    ):
        self._loop, self._loads, self._stores, self._stages = loop, loads, stores, stages
        self._index = index

    def copy_first(self, before: IRBuilder) -> None:
        """Start the copies of the first steps, those that exist."""
        number = before.materialize(self._loop.lb)
        for slot in range(self._stages - 1):
            self._start(before, number, before.materialize(slot))
            number = before.value(arith.AddiOp(number, self._loop.step))

    def copy_ahead(self, at: IRBuilder, index: SSAValue, slot: SSAValue) -> None:
        """Wait for the tile of a step, and start the copies to the tile of the step before."""
        at.insert(gpu.AsyncWaitOp(self._stages - 2))
        distance = at.value(arith.MuliOp(self._loop.step, at.materialize(self._stages - 1)))
        number = at.value(arith.AddiOp(index, distance))
        self._start(at, number, self.following(at, slot, self._stages - 1))

    def following(self, at: IRBuilder, slot: SSAValue, steps: int) -> SSAValue:
        """The tile some steps after another one."""
        number = at.value(arith.AddiOp(slot, at.materialize(steps)))
        return at.value(arith.RemUIOp(number, at.materialize(self._stages)))

    def _start(self, at: IRBuilder, number: SSAValue, slot: SSAValue) -> None:
        """Start the copies of a step if it exists; its group is closed in any case, so groups count steps."""
        exists = at.compare("slt", number, self._loop.ub)
        at.insert(scf.IfOp(exists, [], [branch := Block()]))
        inside = at.inside(branch)
        values = {self._index: number}
        cloned: list[Operation] = []
        cloned_stores: list[memref.StoreOp] = []
        for op in self._loads:
            cloned.append(inside.insert(op.clone(values)))
        for op in self._stores:
            cloned_stores += [
                each for each in inside.insert(op.clone(values)).walk() if isinstance(each, memref.StoreOp)
            ]
        while cloned_stores:
            count = _together(cloned_stores[0])
            _replace(cloned_stores[:count], slot)
            del cloned_stores[:count]
        _erase_unused(cloned)
        inside.insert(scf.YieldOp())
        at.insert(gpu.AsyncCommitOp())


def _replace(stores: Sequence[memref.StoreOp], slot: SSAValue) -> None:
    """Make a copy of the stores of neighbouring elements, to a tile."""
    first = stores[0]
    found = _source(first.value)
    assert found is not None
    load, exists = found
    places = [slot, *first.indices]
    copy = gpu.AsyncCopyOp(load.memref, load.indices, first.memref, places, exists, len(stores))
    IRBuilder.before(first).insert(copy)
    for store in stores:
        store.detach()
        store.erase()


def _erase_unused(ops: Sequence[Operation]) -> None:
    """Erase dead ops in reverse order, each before the ops of its operands."""
    for op in reversed(ops):
        if not any(result.uses for result in op.results) and _is_removable(op):
            op.detach()
            op.erase()


def _is_removable(op: Operation) -> bool:
    return isinstance(op, memref.LoadOp) or is_side_effect_free(op)
