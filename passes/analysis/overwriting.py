"""Results of a kernel that may be written over an operand: each element is read before it is overwritten."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product, takewhile
from math import prod
from typing import NamedTuple

from xdsl.dialects import scf
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects.tensor_ir.sizes import declared_size
from stepwell.dialects.types import element_bytes
from stepwell.passes.analysis.accesses import Access, Accesses, bytes_of
from stepwell.passes.analysis.linear_indices import Linear, LinearIndices, Loop, Range, loops_of
from stepwell.runtime.dims import Dim

_MOST_PAIRS = 4096
"""The most pairs of a read and a write; kernels with more count as not overwritable."""


def overwritable(kernel: FuncOp, inputs: int, outputs: int) -> Iterator[tuple[int, int]]:
    """
    The pairs (result, operand) of equal size in bytes in which the result can be stored in the operand's
    memory.

    That is correct if no iteration reads an element that an earlier iteration has written or, in a parallel
    loop, that any other iteration writes. The kernel is on loops and buffers.

    Source: the dependence test by bounds of Banerjee, "Dependence Analysis for Supercomputing" (1988), for
    each direction vector of Allen and Kennedy.
    """
    overwriting = Overwriting(kernel, inputs, outputs)
    for output, number in overwriting.candidates:
        if overwriting.is_understood(output, number):
            if next(overwriting.conflicts(output, number), None) is None:
                yield output, number


class Conflict(NamedTuple):
    """A read that may be of an element that a write has changed before."""

    read: Access
    write: Access
    depth: int
    """
    The number of loops around the loop whose iterations conflict; for one iteration, around both accesses.
    """


class Overwriting:
    """Reads of operands of a kernel against writes of results that could be in their memory."""

    def __init__(self, kernel: FuncOp, inputs: int, outputs: int):
        arguments = kernel.body.block.args
        self._inputs = inputs
        self.candidates = [
            (output, number)
            for output in range(outputs)
            for number in range(inputs)
            if _have_one_size(arguments[inputs + output], arguments[number])
        ]
        """The pairs of a result and an operand of as many bytes."""
        self._by_argument: dict[tuple[int, bool], list[Access]] = {}
        if self.candidates:
            self.accesses = Accesses(kernel)
            self._test = _OverlapTest(self.accesses.indices)
            for access in self.accesses.found:
                self._by_argument.setdefault((access.argument, access.is_write), []).append(access)

    def is_understood(self, output: int, number: int) -> bool:
        """Whether all accesses of a result and an operand are known, and few enough to compare."""
        reads, writes = self._accesses(output, number)
        is_known = self.accesses.unknown.isdisjoint((number, self._inputs + output))
        is_written = (number, True) in self._by_argument
        return is_known and not is_written and len(reads) * len(writes) <= _MOST_PAIRS

    def _accesses(self, output: int, number: int) -> tuple[list[Access], list[Access]]:
        """The reads of an operand, and the writes of a result."""
        reads = self._by_argument.get((number, False), [])
        return reads, self._by_argument.get((self._inputs + output, True), [])

    def conflicts(self, output: int, number: int) -> Iterator[Conflict]:
        """The conflicts of a result that would be over an operand; none where it may be."""
        for read, write in product(*self._accesses(output, number)):
            if (depth := self._test.depth(read, write)) is not None:
                yield Conflict(read, write, depth)


def _have_one_size(a: SSAValue, b: SSAValue) -> bool:
    """Whether two buffers are known to have the same number of bytes."""
    sizes = _size_of(a), _size_of(b)
    return None not in sizes and sizes[0] == sizes[1]


def _size_of(value: SSAValue) -> Dim | None:
    """The bytes of a buffer; None where they are not known."""
    if not isinstance(value.type, MemRefType):
        return None
    type = SSAValue.get(value, type=MemRefType).type
    sizes = [
        declared_size(value, axis) if extent < 0 else Dim.of(extent)
        for axis, extent in enumerate(type.get_shape())
    ]
    known = [size for size in sizes if size is not None and not size.is_unknown]
    if len(known) < len(sizes):
        return None
    return prod(known, start=Dim.of(element_bytes(type.element_type)))


class _OverlapTest:
    """Whether a read may be of an element that is written before: yes, where nothing proves otherwise."""

    def __init__(self, indices: LinearIndices):
        self._indices = indices

    def depth(self, read: Access, write: Access) -> int | None:
        """
        The number of loops around the outermost one by whose iterations a read may come after a write of the
        same element, or beside it; around both, where it is in one iteration of all; else None.
        """
        pairs = zip(read.loops, write.loops, strict=False)
        common = [a for a, _ in takewhile(lambda pair: pair[0].counter is pair[1].counter, pairs)]
        for depth, loop in enumerate(common):
            most = self._indices.range_of(loop.counter).high
            if most < loop.step:
                continue  # one iteration
            later = Range(loop.step, most)
            directions = [later, later.scaled(-1)] if loop.is_parallel else [later]
            if any(self._may_meet(read, write, common[:depth], (loop, each)) for each in directions):
                return depth
        is_later = write.order < read.order and self._may_meet(read, write, common, None)
        return len(common) if is_later else None

    def _may_meet(
        self, read: Access, write: Access, equal: Sequence[Loop], apart: tuple[Loop, Range] | None
    ) -> bool:
        """
        Whether two accesses may be of one element.

        Args: `equal` are the loops in one iteration of which both are; `apart` is the next one, and how much
        later the iteration of the read is.
        """
        test = _Distance(self._indices, equal, apart)
        if read.layout == write.layout:
            pairs = zip(read.box, write.box, strict=True)
            if any(test.is_too_large(a.first, b.first, a.length, b.length) for a, b in pairs):
                return False
        ends = [_bytes_of(access) for access in (read, write)]
        (first, count), (other, other_count) = ends
        if first is None or other is None:
            return True
        return not test.is_too_large(first, other, count, other_count)


def _bytes_of(access: Access) -> tuple[Linear | None, int]:
    """The first byte of a box in its buffer, and the bytes up to its end; None for extents that are open."""
    first, count = Linear((), 0), access.layout.element_bytes
    if len(parts := list(bytes_of(access))) < len(access.box):
        return None, 0
    for part, stride in parts:
        first += part.first.scaled(stride)
        count += (part.length - 1) * stride
    return first, count


class _Distance:
    """The distance between two indices in related iterations."""

    def __init__(self, indices: LinearIndices, equal: Sequence[Loop], apart: tuple[Loop, Range] | None):
        self._indices = indices
        self._apart = apart
        self._equal = {loop.counter for loop in equal}
        around = Counter(loop.counter.owner.parent_op() for loop in equal)
        self._one_iteration = {
            op for op, count in around.items() if op is not None and count == len(list(loops_of(op)))
        }

    def is_too_large(self, read: Linear, write: Linear, read_count: int, write_count: int) -> bool:
        """Whether `read_count` indices from one on and `write_count` from the other on never meet."""
        difference = self._range(read, write)
        return difference.low >= write_count or difference.high <= -read_count

    def _range(self, read: Linear, write: Linear) -> Range:
        """The values of the index of a read less that of a write."""
        factors, others = dict(read.terms), dict(write.terms)
        found = Range(read.constant - write.constant, read.constant - write.constant)
        for value in {**factors, **others}:
            factor, other, range = factors.get(value, 0), others.get(value, 0), self._indices.range_of(value)
            if self._apart is not None and value is self._apart[0].counter:
                found += range.scaled(factor - other) + self._apart[1].scaled(factor)
            elif self._is_the_same(value):
                found += range.scaled(factor - other)
            else:
                found += range.scaled(factor) + range.scaled(-other)
        return found

    def _is_the_same(self, value: SSAValue) -> bool:
        """Whether a value is the same for the read and the write."""
        if value in self._equal:
            return True
        op = value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()
        if (
            not isinstance(value.owner, Operation)
            and op is not None
            and any(value is each.counter for each in loops_of(op))
        ):
            return False
        while op is not None and not isinstance(op, FuncOp):
            if (
                op.regions
                and not isinstance(op, scf.IfOp)
                and op not in self._one_iteration
                and op is not value.owner
            ):
                return False
            op = op.parent_op()
        return True
