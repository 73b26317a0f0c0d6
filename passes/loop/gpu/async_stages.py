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
from stepwell.dialects.types import element_bytes
from stepwell.passes.loop.gpu.nests import buffer_type


def are_copied_alone(loop: scf.ForOp, loads: Sequence[Operation], stores: Sequence[Operation]) -> bool:
    """Whether each store is of an element as it was loaded, or of 0: a GPU copies these itself."""
    carried = set(loop.body.block.args[1:])
    if any(carried & set(op.operands) for each in (*loads, *stores) for op in each.walk()):
        return False
    found = [op for each in stores for op in each.walk() if isinstance(op, memref.StoreOp)]
    return all(_source(op.value) is not None for op in found)


def _source(value: SSAValue) -> tuple[memref.LoadOp, SSAValue | None] | None:
    """The load of an element, and the condition without which it is 0; None for another value."""
    owner, exists = value.owner, None
    if isinstance(owner, arith.SelectOp) and _is_zero(owner.rhs):
        owner, exists = owner.lhs.owner, owner.cond
    if not isinstance(owner, memref.LoadOp):
        return None
    return (owner, exists) if element_bytes(buffer_type(owner.memref).element_type) in COPIED_BYTES else None


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
        for op in self._loads:
            cloned.append(inside.insert(op.clone(values)))
        for op in self._stores:
            copy = inside.insert(op.clone(values))
            for each in [each for each in copy.walk() if isinstance(each, memref.StoreOp)]:
                _replace(each, slot)
        for op in reversed(cloned):
            if not any(result.uses for result in op.results) and _is_removable(op):
                op.detach()
                op.erase()
        inside.insert(scf.YieldOp())
        at.insert(gpu.AsyncCommitOp())


def _replace(store: memref.StoreOp, slot: SSAValue) -> None:
    """Make a copy of a store, to a tile."""
    found = _source(store.value)
    assert found is not None
    load, exists = found
    IRBuilder.before(store).insert(
        gpu.AsyncCopyOp(load.memref, load.indices, store.memref, [slot, *store.indices], exists)
    )
    store.detach()
    store.erase()


def _is_removable(op: Operation) -> bool:
    return isinstance(op, memref.LoadOp) or is_side_effect_free(op)
