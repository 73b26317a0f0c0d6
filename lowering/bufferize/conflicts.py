"""
The in-place analysis: a write may reuse its operand's buffer when the old contents are not read afterwards.

A write W and a read R of the same elements are in conflict when the value that R sees was computed before W,
and R can run after W: later in program order, or in a later iteration of a loop around both, outside of
which the value is computed.
Source: the read-after-write analysis of MLIR's One-Shot Bufferize, over access paths instead of alias sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.dialects import func, scf, tensor
from xdsl.dialects.linalg.abstract_ops import LinalgStructuredOperation
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from stepwell.dialects.types import tensor_of
from stepwell.lowering.bufferize.access_paths import AccessPath, AccessPaths, slice_step
from stepwell.lowering.bufferize.accesses import (
    carried_tensors,
    covers,
    destinations,
    has_tensors,
    is_tensor,
    may_have_tensors,
    sources,
    viewed,
)
from stepwell.lowering.bufferize.index_forms import IndexForms
from stepwell.lowering.bufferize.timeline import Timeline


@dataclass(frozen=True)
class Read:
    """An op that needs the elements of a value; `index` is the operand when the op also overwrites it."""

    op: Operation
    value: SSAValue
    seen: SSAValue
    """The value whose op wrote the elements that are read: `value`, or the tensor that it is a view of."""
    made: int
    """The time at which `seen` was computed."""
    loops: tuple[Operation, ...]
    """The loops around the op, but not around the op of `seen`: each iteration reads the same."""
    index: int | None = None


@dataclass(frozen=True)
class Write:
    """An op and an operand that the op overwrites in place; a loop does so in its body."""

    op: Operation
    index: int
    path: AccessPath


class InPlaceAnalysis:
    """
    Decides which overwritten operands must be copied first: adds copies until no conflict is left.

    Args: `body` of a function; `writable` are its arguments that may be overwritten, the outputs.
    """

    def __init__(self, body: Block, forms: IndexForms, writable: frozenset[SSAValue]):
        self._body = body
        self._forms = forms
        self._writable = writable
        self.timeline = Timeline(body)
        known = [op for op in self.timeline.start if may_have_tensors(type(op))]
        self.destinations = {op: destinations(op) for op in known if op.regions or has_tensors(op)}
        """The operands that ops on tensors, and ops with regions, overwrite."""
        self.copied: set[tuple[Operation, int]] = set()
        self.reads = sorted(self._collect_reads(), key=lambda read: read.made)
        self.paths = AccessPaths(body, forms, self.copied, self.destinations)
        while (write := self._first_conflict()) is not None:
            self.copied.add((write.op, write.index))
            self.paths = AccessPaths(body, forms, self.copied, self.destinations)

    def is_undefined(self, value: SSAValue) -> bool:
        """Whether nothing has been written to a value's buffer yet."""
        return self._is_empty(_seen(value))

    def _is_empty(self, seen: SSAValue) -> bool:
        return isinstance(seen.owner, tensor.EmptyOp) or seen in self._writable

    def _collect_reads(self) -> list[Read]:
        """All reads of defined contents: operands, overwritten ones too, loop inits, yields and returns."""
        reads: list[Read] = []

        def add(op: Operation, value: SSAValue, index: int | None = None) -> None:
            if is_tensor(value) and not self._is_empty(seen := _seen(value)):
                made = self.timeline.defined(seen)
                around = self.timeline.loops_around(op)
                loops = tuple(loop for loop in around if made < self.timeline.start[loop])
                reads.append(Read(op, value, seen, made, loops, index))

        for op in self.destinations:
            for value in sources(op):
                add(op, value)
            for destination in self.destinations[op]:
                if destination.is_read:
                    add(op, destination.operand, destination.index)
            if isinstance(op, scf.ForOp):
                for carried in carried_tensors(op):
                    add(op, carried.init, carried.index)
            elif isinstance(op, scf.YieldOp | func.ReturnOp):
                for value in op.operands:
                    add(op, value)
            elif isinstance(op, tensor.CollapseShapeOp):
                add(op, op.src)  # a copy, when its elements are not evenly spaced
        return reads

    def _writes(self) -> list[Write]:
        """All in-place writes: destinations and loop inits that are not copied."""
        writes: list[Write] = []
        for op in self.destinations:
            if op in self.paths.in_place_inserts:
                continue
            overwritten = [(d.index, d.operand) for d in self.destinations[op]]
            if isinstance(op, scf.ForOp):
                overwritten = [(c.index, c.init) for c in carried_tensors(op)]
            writes += [
                Write(op, index, self._written(op, operand))
                for index, operand in overwritten
                if (op, index) not in self.copied
            ]
        return writes

    def _written(self, op: Operation, operand: SSAValue) -> AccessPath:
        """The part of the buffer that an op writes: a slice of the operand for `tensor.insert_slice`."""
        path = self.paths.of[operand]
        if isinstance(op, tensor.InsertSliceOp):
            return path.then(slice_step(op, self._forms))
        return path

    def _first_conflict(self) -> Write | None:
        """The first write to a read-only argument or in conflict with a read; None when all are allowed."""
        reads: dict[SSAValue, list[Read]] = {}
        for read in self.reads:
            reads.setdefault(self.paths.of[read.value].root, []).append(read)
        for write in self._writes():
            if self._is_read_only(write.path.root):
                return write
            if self._is_in_conflict(write, reads.get(write.path.root, ())):
                return write
        return None

    def _is_in_conflict(self, write: Write, reads: Sequence[Read]) -> bool:
        """Whether a write is in conflict with a read of its buffer; reads are in the order of `made`."""
        start = self.timeline.start
        now = start[write.op]
        for read in reads:
            if read.made > now:
                return False
            # An earlier read is in conflict in a later iteration only.
            if (read.loops or start[read.op] >= now) and self._in_conflict(write, read):
                return True
        return False

    def _is_read_only(self, root: SSAValue) -> bool:
        """Whether a buffer is an argument of the function that must not be overwritten."""
        if isinstance(root, BlockArgument) and root.block is self._body:
            return root not in self._writable
        return False

    def _in_conflict(self, write: Write, read: Read) -> bool:
        """
        Whether the write overwrites elements before the read needs them.

        A read by the writing op itself, of the operand that it overwrites, comes before the write; but not
        before the write of the previous iteration, when the value is made outside the loop.
        """
        start = self.timeline.start
        comes_again = any(loop in self.timeline.loops_around(write.op) for loop in read.loops)
        if not comes_again and start[read.op] < start[write.op]:
            return False
        path = self.paths.of[read.value]
        if self._is_replaced_anyway(write, read):
            return False
        if comes_again:
            return write.path.may_overlap(path, across_iterations=True)
        if write.op is read.op and read.index == write.index:
            return False
        if not write.path.may_overlap(path, across_iterations=False):
            return False
        if write.op is read.op:
            return not _reads_before_writing(write, read, path)
        return not self.timeline.are_in_different_branches(write.op, read.op)

    def _is_replaced_anyway(self, write: Write, read: Read) -> bool:
        """
        Whether the read is of the rest of a tensor, and the write is to its slice that is computed in place.
        """
        if read.index is None or read.op not in self.paths.in_place_inserts:
            return False
        insert = cast(tensor.InsertSliceOp, read.op)
        return self.paths.of[insert.source].contains(write.path)


def _seen(value: SSAValue) -> SSAValue:
    """The tensor at the start of a chain of views."""
    while (source := viewed(value)) is not None:
        value = source
    return value


def _reads_before_writing(write: Write, read: Read, path: AccessPath) -> bool:
    """Whether an op reads each element of another operand in the very step that overwrites it."""
    op = write.op
    if not isinstance(op, LinalgStructuredOperation) or path != write.path:
        return False
    maps = [m.data for m in op.get_indexing_maps()]
    written = maps[write.index]
    positions: Sequence[int] = [i for i, operand in enumerate(op.operands) if operand is read.value]
    return (
        covers(written, tensor_of(op.operands[write.index]))
        and len(written.results) == written.num_dims
        and bool(positions)
        and all(maps[i] == written for i in positions)
        and not any(read.value in inner.operands for inner in op.body.walk())
    )
