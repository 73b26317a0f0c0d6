"""
Demand: the elements of a kernel's own tensors that sampled iterations read; loops make no others.

A first run executes the sampled loops of the results alone, on whatever the other tensors contain, and
records the elements that they read. The second run leaves out the iterations of loops that write none of
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from xdsl.context import Context
from xdsl.dialects import arith, func, memref, scf, tensor, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, ModuleOp, TensorType, VectorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from stepwell.lowering.interpret.engine import STEP_WATCHER
from stepwell.lowering.interpret.machine import interpret
from stepwell.lowering.interpret.sampling import Loop, Sampling
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array

_NOT_READ = (scf.YieldOp, scf.ForOp, tensor.DimOp, memref.DimOp, memref.DeallocOp, memref.ViewOp)
"""Ops that hand a tensor on, read nothing but its shape, or make a buffer of scratch memory."""


def interpret_sampled(
    module: ModuleOp, ctx: Context, name: str, inputs: Sequence[Array], sampling: Sampling
) -> list[Array]:
    """
    The results of a function, of which a sample of iterations has written some elements.

    Raises: StepwellError as `interpret`; TooManyOps.
    """
    function = next(f for f in module.ops if isinstance(f, func.FuncOp) and f.sym_name.data == name)
    if sampling.outer and (demand := Demand(function, sampling)).loops:
        sampling.others = demand.chosen
        token = STEP_WATCHER.set(demand.see)
        try:
            interpret(module, ctx, name, inputs, sampling=sampling)
        except StepwellError:  # sizes or indices are data, which this run does not have
            sampling.others = None
        finally:
            STEP_WATCHER.reset(token)
        demand.is_recording = False
    return interpret(module, ctx, name, inputs, sampling=sampling)


class _Access(NamedTuple):
    """An op that reads or writes a part of a tensor: an index and a size for each dimension, where known."""

    op: Operation
    root: SSAValue
    indices: Sequence[SSAValue | int]
    sizes: Sequence[int | None]


@dataclass
class Demand:
    """The elements that a function's own tensors need, by tensor and dimension."""

    function: func.FuncOp
    sampling: Sampling
    is_recording: bool = True
    """Whether loops that make own tensors only are left out altogether."""
    loops: dict[Operation, list[_Access]] = field(
        default_factory=dict[Operation, "list[_Access]"], init=False
    )
    """The writes of each loop that writes to own tensors alone."""

    def __post_init__(self) -> None:
        self._needed: dict[SSAValue, list[set[int]]] = {}
        self._reads: dict[Operation, _Access] = {}
        self._whole: set[SSAValue] = set()
        """The tensors of which all elements are needed."""
        uses = list(_uses(self.function))
        writes = [use for use, is_write in uses if is_write]
        for loop in self.function.walk():
            if isinstance(loop, Loop) and self.sampling.place(loop) is None:
                inside = [w for w in writes if loop.is_ancestor(w.op) and not _is_in(w.root, loop)]
                if inside and _makes_own_only(loop, inside):
                    self.loops[loop] = inside
        for use, is_write in uses:
            if not is_write and _is_own(use.root):
                self._add_read(use, writes)
        roots = {write.root for writes in self.loops.values() for write in writes}
        self._whole |= roots - self._needed.keys()  # read under another name
        if roots <= self._whole:
            self.loops = {}

    def _add_read(self, read: _Access, writes: Sequence[_Access]) -> None:
        outer = self._outer_loop(read.op)
        if not read.indices:
            self._whole.add(read.root)
        elif outer is None:
            self._reads[read.op] = read
            self._needed.setdefault(read.root, [set() for _ in read.indices])
        elif not any(w.root is read.root and w.indices == read.indices for w in self.loops[outer]):
            self._whole.add(read.root)  # by another loop, or another iteration

    def _outer_loop(self, op: Operation) -> Operation | None:
        """The loop around an op that the recording run leaves out."""
        at = op.parent_op()
        while at is not None and at not in self.loops:
            at = at.parent_op()
        return at

    def see(self, op: Operation, operands: Sequence[Any], outcome: Any) -> None:
        """Record what an op of a sampled loop reads."""
        if (read := self._reads.get(op)) is None:
            return
        values = dict(zip(op.operands, operands, strict=True))
        shape = np.shape(values[op.operands[0]])
        for dim, (index, size) in enumerate(zip(read.indices, read.sizes, strict=True)):
            first = index if isinstance(index, int) else int(values[index])
            last = shape[dim] if size is None else first + size
            self._needed[read.root][dim].update(range(first, last))

    def chosen(self, loop: Loop, ranges: Sequence[range]) -> list[Sequence[int]]:
        """The indices of a loop that makes own tensors: those that write needed elements."""
        if (writes := self.loops.get(loop)) is None:
            return list(ranges)
        if self.is_recording:
            return [range(0)] * len(ranges)
        block = loop.regions[0].block
        return [
            [index for index in each if any(self._is_needed(w, block.args[n], index) for w in writes)]
            for n, each in enumerate(ranges)
        ]

    def _is_needed(self, write: _Access, counter: SSAValue, value: int) -> bool:
        """Whether a write in an iteration may be to an element that is needed."""
        needed = self._needed.get(write.root)
        if needed is None or write.root in self._whole:
            return True
        for dim, (index, size) in enumerate(zip(write.indices, write.sizes, strict=True)):
            if size is not None and (first := _at(index, counter, value)) is not None:
                if needed[dim].isdisjoint(range(first, first + size)):
                    return False
        return True


def _at(index: SSAValue | int, counter: SSAValue, value: int) -> int | None:
    """An index that depends on a loop's counter alone, at a value of the counter."""
    if index is counter:
        return value
    if isinstance(index, int) or not isinstance(index.owner, arith.AddiOp):
        return None
    for one, other in (index.owner.operands, reversed(index.owner.operands)):
        if one is counter and (constant := _constant(other)) is not None:
            return value + constant
    return None


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _makes_own_only(loop: Loop, writes: Sequence[_Access]) -> bool:
    """Whether all that a loop changes are tensors of the function itself."""
    if not all(isinstance(result.type, TensorType) for result in loop.results):
        return False
    known = {write.op for write in writes}
    for op in loop.walk():
        for position, operand in enumerate(op.operands):
            if isinstance(operand.type, MemRefType) and op not in known and not isinstance(op, _NOT_READ):
                if not _is_in(_root(operand), loop) and _region(op, position) is None:
                    return False  # it may write there
    roots = {write.root for write in writes}
    return all(_is_own(root) for root in roots) and all(_root(result) in roots for result in loop.results)


def _uses(function: func.FuncOp) -> Iterator[tuple[_Access, bool]]:
    """The accesses to tensors and buffers, and whether each is a write; without indices: of all elements."""
    for op in function.walk():
        for position, operand in enumerate(op.operands):
            is_buffer = isinstance(operand.type, MemRefType)
            if not (is_buffer or isinstance(operand.type, TensorType)) or isinstance(op, _NOT_READ):
                continue
            root = _root(operand)
            found = _region(op, position)
            if found is None:
                yield _Access(op, root, (), ()), False
                if is_buffer:
                    yield _Access(op, root, (), ()), True
            else:
                is_write, indices, sizes = found
                yield _Access(op, root, indices, sizes), is_write


def _region(
    op: Operation, position: int
) -> tuple[bool, Sequence[SSAValue | int], Sequence[int | None]] | None:
    """Whether an op writes to an operand, and the part that it accesses; None where that is unknown."""
    match op:
        case vector.TransferReadOp() if position == 0:
            return False, list(op.indices), _minor(len(op.indices), op.result.type)
        case vector.TransferWriteOp() if position == 1:
            return True, list(op.indices), _minor(len(op.indices), op.vector.type)
        case memref.LoadOp() | tensor.ExtractOp() if position == 0:
            return False, list(op.indices), [1] * len(op.indices)
        case memref.StoreOp() if position == 1:
            return True, list(op.indices), [1] * len(op.indices)
        case tensor.ExtractSliceOp() if position == 0:
            return False, *_slice(op)
        case tensor.InsertSliceOp() if position == 1:
            return True, *_slice(op)
        case _:
            return None


def _minor(rank: int, type: Attribute) -> list[int | None]:
    """The sizes of a vector's access: the vector's along the last dimensions, as the passes make it."""
    shape = list(type.get_shape()) if isinstance(type, VectorType) else []
    return [*[1] * (rank - len(shape)), *shape]


def _slice(op: tensor.ExtractSliceOp | tensor.InsertSliceOp) -> tuple[list[SSAValue | int], list[int | None]]:
    offsets, sizes = iter(op.offsets), op.static_sizes.get_values()
    indices = [next(offsets) if n == DYNAMIC_INDEX else int(n) for n in op.static_offsets.get_values()]
    return indices, [None if n == DYNAMIC_INDEX else int(n) for n in sizes]


def _root(value: SSAValue) -> SSAValue:
    """The tensor, or buffer, of which a value is a later state."""
    while True:
        owner = value.owner
        if isinstance(owner, Block):
            loop = owner.parent_op()
            if not isinstance(loop, scf.ForOp) or value is owner.args[0]:
                return value
            value = loop.iter_args[owner.args.index(value) - 1]
        elif isinstance(owner, scf.ForOp):
            value = owner.iter_args[owner.results.index(value)]
        elif isinstance(owner, tensor.InsertSliceOp | vector.TransferWriteOp):
            value = owner.operands[1]
        else:
            return value


def _is_own(root: SSAValue) -> bool:
    """Whether a tensor or buffer is made in the function, and by no values of others."""
    return isinstance(root.owner, tensor.EmptyOp | memref.AllocOp | memref.AllocaOp | memref.ViewOp)


def _is_in(root: SSAValue, loop: Operation) -> bool:
    owner = root.owner
    at = owner.parent_op() if isinstance(owner, Block) else owner
    return at is not None and loop.is_ancestor(at)
