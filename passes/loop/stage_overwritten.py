"""`stage-overwritten`: copies of the operand's elements that an iteration overwrites and reads again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, prod
from typing import NamedTuple, TypeAlias

from xdsl.context import Context
from xdsl.dialects import memref, vector
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched_kernel import is_on_buffers, kernel_of
from stepwell.passes.analysis.accesses import Access
from stepwell.passes.analysis.linear_indices import Linear, LinearIndices, Loop, Range
from stepwell.passes.analysis.overwriting import Conflict, Overwriting
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import count

_Read: TypeAlias = memref.LoadOp | vector.TransferReadOp


@dataclass(frozen=True)
class StageOverwrittenPass(FunctionPass):
    """
    Copy the elements that an iteration reads of an operand, where a result may be over the operand then.

    ```mlir
    scf.for %i = %c0 to %c8 step %c1 {
      scf.for %j = %c0 to %c4 step %c1 {
        … memref.load %x[%k, %i] for each %k …
        memref.store %sum, %y[%j, %i] : memref<4x8xf32>
      }
    }
    // ->
    scf.for %i = %c0 to %c8 step %c1 {
      %own = memref.alloca() : memref<4x1xf32>
      scf.for %k = %c0 to %c4 step %c1 {
        … memref.load %x[%k, %i], stored at %own[%k, %c0] …
      }
      scf.for %j = %c0 to %c4 step %c1 {
        … memref.load %own[%k, %c0] for each %k …
        memref.store %sum, %y[%j, %i] : memref<4x8xf32>
      }
    }
    ```
    A product of pixels by channels reads its pixels again for each block of channels, the first of which has
    written to them. Where these reads are of few bytes, the copy is all that two feature maps in one memory
    need (`mark-in-place`). For devices of little memory: elsewhere it would be time for nothing.
    """

    name = "stage-overwritten"

    bytes: int = 1024
    """The most bytes that an iteration may copy."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if (kernel := kernel_of(func)) is None or not is_on_buffers(func) or not func.body.blocks:
            return
        overwriting = Overwriting(func, kernel.inputs.data, kernel.outputs.data)
        for output, number in overwriting.candidates:
            if not overwriting.is_understood(output, number):
                continue
            conflicts = list(overwriting.conflicts(output, number))
            stages = [
                _Stage.of(func, block, group, overwriting.accesses.indices, self.bytes)
                for block, group in _by_block(func, conflicts).items()
            ]
            whole = all(overwriting.accesses.is_whole(_memory(op)) for c in conflicts for op in c.read.ops)
            if stages and whole and all(stage is not None for stage in stages):
                for stage in stages:
                    assert stage is not None
                    stage.copy()
                count("staged operands")
                return  # what was analysed has changed


def _by_block(func: FuncOp, conflicts: Iterable[Conflict]) -> Mapping[Block, list[Conflict]]:
    """The conflicts by the block that contains the outermost loop whose iterations meet."""
    found: dict[Block, list[Conflict]] = {}
    outermost: dict[Operation, int] = {}
    for conflict in conflicts:
        op = conflict.read.ops[0]
        outermost[op] = min(outermost.get(op, conflict.depth), conflict.depth)
    for conflict in conflicts:
        loops = conflict.read.loops[: outermost[conflict.read.ops[0]]]
        block = func.body.block
        if loops:
            block = _block_of(loops[-1])
            # A loop of several dimensions is crossed as a whole.
            rest = conflict.read.loops[len(loops) :]
            if rest and _block_of(rest[0]) is block:
                before = [loop for loop in loops if _block_of(loop) is not block]
                block = _block_of(before[-1]) if before else func.body.block
        found.setdefault(block, []).append(conflict)
    return found


def _block_of(loop: Loop) -> Block:
    """The body of a loop."""
    owner = loop.counter.owner
    assert isinstance(owner, Block)
    return owner


def _memory(op: Operation) -> SSAValue:
    """The buffer that a read is of."""
    return op.operands[0]


class _Extent(NamedTuple):
    """The indices along a dimension that an iteration reads: the first one, and how many there are."""

    first: Linear
    length: int


@dataclass(frozen=True)
class _Stage:
    """Reads in a block, and the copy of all of their elements before the first of them."""

    reads: Sequence[_Read]
    before: Operation
    box: Sequence[_Extent]
    indices: LinearIndices

    @staticmethod
    def of(
        func: FuncOp, block: Block, conflicts: Sequence[Conflict], indices: LinearIndices, most_bytes: int
    ) -> _Stage | None:
        """The stage of reads in a block; None where their elements are many, or not known before it."""
        accesses = list({access.ops: access for access in (c.read for c in conflicts)}.values())
        ops = [op for access in accesses for op in access.ops]
        reads = [op for op in ops if isinstance(op, _Read) and _is_inside(op)]
        if len(reads) < len(ops) or len({access.layout for access in accesses}) != 1:
            return None
        if len({_memory(op).type for op in reads}) != 1:
            return None
        touched = [*reads, *(op for c in conflicts for op in c.write.ops)]
        before = min(
            (op for op in (_ancestor(each, block) for each in touched) if op is not None),
            key=block.get_operation_index,
        )
        box = _box(accesses, block, indices)
        size = accesses[0].layout.element_bytes
        if box is None or prod(extent.length for extent in box) * size > most_bytes:
            return None
        if not _contains(SSAValue.get(_memory(ops[0]), type=MemRefType).type.get_shape(), box, indices):
            return None
        return _Stage(reads, before, box, indices)

    def copy(self) -> None:
        """Write the copy, and let the reads be of it."""
        emit = IRBuilder.before(self.before)
        source = SSAValue.get(_memory(self.reads[0]), type=MemRefType)
        shape = [extent.length for extent in self.box]
        staged = emit.value(memref.AllocaOp.get(source.type.element_type, shape=shape))
        firsts = [_value(emit, extent.first, self.indices) for extent in self.box]
        self._fill(emit, source, staged, firsts, ())
        for read in self.reads:
            own = IRBuilder.before(read)
            places = [
                own.materialize(_value(own, self.indices.of(index) - extent.first, self.indices))
                for index, extent in zip(read.indices, self.box, strict=True)
            ]
            read.operands[0] = staged
            for position, place in enumerate(places, start=1):
                read.operands[position] = place

    def _fill(
        self,
        emit: IRBuilder,
        source: SSAValue,
        staged: SSAValue,
        firsts: Sequence[Index],
        at: tuple[Index, ...],
    ) -> None:
        """Copy the box, by a loop over each dimension with more than one index."""
        if len(at) < len(self.box):
            if (length := self.box[len(at)].length) == 1:
                self._fill(emit, source, staged, firsts, (*at, 0))
                return

            def body(inner: IRBuilder, index: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
                self._fill(inner, source, staged, firsts, (*at, index))
                return []

            emit.loop(0, length, 1, [], body)
            return
        places = [emit.materialize(emit.plus(first, index)) for first, index in zip(firsts, at, strict=True)]
        value = emit.value(memref.LoadOp.get(source, places))
        emit.insert(memref.StoreOp.get(value, staged, [emit.materialize(index) for index in at]))


def _is_inside(op: _Read) -> bool:
    """Whether a read is of elements inside of its buffer alone."""
    return isinstance(op, memref.LoadOp) or all(flag.value.data for flag in op.in_bounds)


def _ancestor(op: Operation, block: Block) -> Operation | None:
    """The op of a block that is or contains another one."""
    each: Operation | None = op
    while each is not None and each.parent is not block:
        each = each.parent_op()
    return each


def _box(accesses: Sequence[Access], block: Block, indices: LinearIndices) -> list[_Extent] | None:
    """The box of what accesses in a block read; None where it is open, or depends on values in the block."""
    extents: list[_Extent] = []
    for axis in range(len(accesses[0].box)):
        outer: set[tuple[tuple[SSAValue, int], ...]] = set()
        low, high = inf, -inf
        for access in accesses:
            part = access.box[axis]
            inside = [term for term in part.first.terms if _is_within(term[0], block)]
            kept = [term for term in part.first.terms if term not in inside]
            outer.add(tuple(sorted(kept, key=lambda term: id(term[0]))))
            moved = Range(part.first.constant, part.first.constant + part.length - 1)
            for value, factor in inside:
                moved += indices.range_of(value).scaled(factor)
            low, high = min(low, moved.low), max(high, moved.high)
        if len(outer) != 1 or not -inf < low <= high < inf:
            return None
        extents.append(_Extent(Linear(outer.pop(), int(low)), int(high - low) + 1))
    return extents


def _contains(shape: Sequence[int], box: Sequence[_Extent], indices: LinearIndices) -> bool:
    """
    Whether all elements of a box are known to be in a buffer; False for a scalar, and for open sizes.

    A box may be larger than what is read: reads may be in branches, or in loops that end early.
    """
    if len(shape) != len(box):
        return False
    ranges = [indices.range_of_sum(extent.first) for extent in box]
    return all(
        first.low >= 0 and first.high + extent.length <= size
        for first, extent, size in zip(ranges, box, shape, strict=True)
    )


def _is_within(value: SSAValue, block: Block) -> bool:
    """Whether a value is defined in a block, other than as its argument, or in a block inside it."""
    owner = value.owner
    if owner is block:
        return False
    op = owner if isinstance(owner, Operation) else owner.parent_op()
    return op is not None and _ancestor(op, block) is not None


def _value(emit: IRBuilder, sum: Linear, indices: LinearIndices) -> Index:
    """A sum as an index: counters begin at 0, and indices of loops at their lower bounds."""
    total: Index = sum.constant
    for value, factor in sum.terms:
        begin = indices.of(value) - Linear(((value, 1),), 0)
        index = value if begin == Linear((), 0) else emit.minus(value, _value(emit, begin, indices))
        total = emit.plus(total, emit.times(index, factor))
    return total
