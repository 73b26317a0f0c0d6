"""
Sampling: loops with independent iterations run only some of them, for kernels that would take minutes.

Loops that compute parts of a function's results are cut short. Of a value that another op of the function
reads, only the elements that sampled iterations need are computed (demand.py). Elements of results that no
iteration wrote keep the bytes of `undefined`, by which they are recognized.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from random import Random

import numpy as np
import numpy.typing as npt
from xdsl.dialects import func, scf, tensor
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.memref import DimOp, ViewOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import IsTerminator

from stepwell.dialects.sched import PARALLEL
from stepwell.dialects.sched_kernel import kernel_of
from stepwell.lowering.interpret.elements import undefined_bytes
from stepwell.runtime.meaning import Array

Loop = scf.ForOp | scf.ParallelOp
Choose = Callable[[Loop, Sequence[range]], list[Sequence[int]]]
"""The indices that a loop runs, for each of its dimensions."""
_OF_STRUCTURED = 30
"""The time of an op that computes a whole tensor, in ops on numbers and vectors: the calls of numpy."""


class TooManyOps(Exception):
    """A run executed more ops than its limit."""


@dataclass
class Sampling:
    """
    The choice of the iterations that run, and the number of ops that did.

    Args: `outer` and `inner` are the numbers of iterations of each outermost parallel loop, and of those
    inside: the first, the last, and others by the seed; 0 runs all. `max_ops` is the limit of executed ops.
    """

    outer: int = 0
    inner: int = 0
    seed: int = 0
    max_ops: int | None = None
    ops: int = 0
    others: Choose | None = None
    """Chooses for loops that do not make results; without it, they run whole."""
    _random: Random = field(init=False)
    _places: dict[Operation, int | None] = field(default_factory=dict[Operation, "int | None"], init=False)
    _picks: dict[object, Sequence[int]] = field(default_factory=dict[object, Sequence[int]], init=False)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)

    def chosen(self, loop: Loop, ranges: Sequence[range]) -> list[Sequence[int]]:
        """
        The indices that a loop runs, for each of its dimensions.

        Raises: TooManyOps.
        """
        found: list[Sequence[int]] = list(ranges)
        if self.outer and (depth := self.place(loop)) is not None:
            count = self.inner if depth else self.outer
            found = [self._picked((loop, n), each, count) for n, each in enumerate(ranges)]
        elif self.others is not None:
            found = self.others(loop, ranges)
        self.ops += prod(map(len, found)) * _size(loop.regions[0].block)
        if self.max_ops is not None and self.ops > self.max_ops:
            raise TooManyOps
        return found

    def place(self, loop: Loop) -> int | None:
        """The number of sampled loops around a loop that can be sampled; None of one that cannot."""
        if loop not in self._places:
            outer, depth = loop.parent_op(), 0
            while outer is not None:
                depth += isinstance(outer, Loop) and self.place(outer) is not None
                outer = outer.parent_op()
            self._places[loop] = depth if makes_results_only(loop) else None
        return self._places[loop]

    def _picked(self, place: object, indices: range, count: int) -> Sequence[int]:
        """Some indices, the same ones in each run."""
        if (place, indices) not in self._picks:
            self._picks[place, indices] = self._some(indices, count)
        return self._picks[place, indices]

    def _some(self, indices: range, count: int) -> Sequence[int]:
        """
        The first, the last two, and other indices, in order. A single one is the last, next to the padding.
        """
        if len(indices) <= count or count == 1:
            return indices[-count:]
        picked = {0, len(indices) - 1} | ({len(indices) - 2} if count > 3 else set[int]())
        rest = self._random.sample(range(1, len(indices) - 1), min(count, len(indices) - 2))
        for position in rest:
            if len(picked) == count:
                break
            picked.add(position)
        return [indices[position] for position in sorted(picked)]


def _size(block: Block) -> int:
    """The number of ops that one iteration executes, without the ops in inner loops."""
    count = 0
    for op in block.ops:
        count += _OF_STRUCTURED if op.name.startswith("linalg") else 1
        if not isinstance(op, scf.ForOp | scf.ParallelOp):
            count += sum(_size(inner) for region in op.regions for inner in region.blocks)
    return count


def written(array: Array) -> npt.NDArray[np.bool_]:
    """The elements of an array that are something else than `undefined` made them."""
    if not array.dtype.itemsize or array.dtype.kind == "O":
        return np.ones(array.shape, bool)
    pattern = undefined_bytes(array.dtype)
    data = np.ascontiguousarray(array).reshape(-1, 1).view(np.uint8)
    return (data != pattern).any(axis=1).reshape(array.shape)


def makes_results_only(loop: Loop) -> bool:
    """
    Whether iterations of a loop are independent, and make parts of the function's results that nothing else
    reads.

    On tensors: each result of the loop is returned, carried by an outer loop, or inserted into a tensor for
    which this is true; and the loop is parallel or does not read the result. On buffers: the loop writes to
    the function's outputs, which nothing else reads; a sequential loop does not read them either.
    """
    if isinstance(loop, scf.ForOp) and loop.results:
        carried = () if PARALLEL in loop.attributes else loop.body.block.args[1:]
        return _hands_on(loop) and all(map(_is_result, carried))
    outside = {root for root in _written_buffers(loop) if not _is_inside(root, loop)}
    around = loop if isinstance(loop, scf.ParallelOp) else None
    return bool(outside) and all(_is_output(root) and not _is_read(root, around) for root in outside)


def _hands_on(loop: scf.ForOp) -> bool:
    """Whether the results of a loop are only parts of the function's results."""
    return all(map(_is_result, loop.results))


def _is_result(value: SSAValue) -> bool:
    """Whether a tensor is only part of the function's results."""
    return all(_keeps(use.operation, use.index) for use in value.uses)


def _keeps(op: Operation, operand: int) -> bool:
    """Whether an op hands an operand on as part of the function's results."""
    match op:
        case func.ReturnOp():
            return True
        case scf.YieldOp():
            outer = op.parent_op()
            return isinstance(outer, scf.ForOp) and _hands_on(outer)
        case scf.ForOp():
            # The initial value of what the loop carries; its body may only write to it.
            carried = op.body.block.args[operand - 2] if operand >= 3 else None
            return carried is not None and _hands_on(op) and _is_result(carried)
        case tensor.InsertSliceOp():
            return operand in (0, 1) and _is_result(op.result)
        case tensor.ExpandShapeOp() | tensor.CollapseShapeOp():
            return _is_result(op.result)
        case _:
            writes = op.name == "vector.transfer_write" and operand == 1
            return writes and all(map(_is_result, op.results))


def _written_buffers(loop: Operation) -> Iterator[SSAValue]:
    """The buffers that a loop writes to, through views or not."""
    for op in loop.walk():
        for position, value in enumerate(op.operands):
            if isinstance(value.type, MemRefType) and not _only_reads(op, position) and not _is_view(op):
                yield _root(value)


def _root(value: SSAValue) -> SSAValue:
    """The buffer of which a buffer is a view; of scratch memory, the buffer that a view makes of a part."""
    while isinstance(owner := value.owner, Operation) and _is_view(owner) and not isinstance(owner, ViewOp):
        value = owner.operands[0]
    return value


_VIEWS = "subview cast view reinterpret_cast collapse_shape expand_shape reshape".split()
_READ = {"memref.load": 0, "vector.transfer_read": 0, "vector.load": 0, "memref.copy": 0, "affine.load": 0}
"""The position of the buffer that an op reads and does not write."""
_WRITTEN = {
    "memref.store": 1, "vector.transfer_write": 1, "vector.store": 1, "memref.copy": 1, "affine.store": 1,
}  # fmt: skip
"""The position of the buffer that an op writes and does not read."""


def _is_view(op: Operation) -> bool:
    dialect, _, name = op.name.partition(".")
    return dialect == "memref" and name in _VIEWS


def _only_reads(op: Operation, operand: int) -> bool:
    return _READ.get(op.name) == operand or isinstance(op, DimOp) or op.has_trait(IsTerminator)


def _is_inside(value: SSAValue, loop: Operation) -> bool:
    """Whether a value is made in a loop."""
    block = value.owner if isinstance(value.owner, Block) else value.owner.parent
    return block is not None and (at := block.parent_op()) is not None and loop.is_ancestor(at)


def _is_output(buffer: SSAValue) -> bool:
    """Whether a buffer is an output of a kernel."""
    if not isinstance(buffer, BlockArgument) or not isinstance(
        function := buffer.block.parent_op(), func.FuncOp
    ):
        return False
    kernel = kernel_of(function)
    return kernel is not None and 0 <= buffer.index - kernel.inputs.data < kernel.outputs.data


def _is_read(buffer: SSAValue, loop: Operation | None) -> bool:
    """Whether an op, outside of a loop, reads a buffer or a view of it."""
    for use in buffer.uses:
        op = use.operation
        if _is_view(op):
            if any(_is_read(result, loop) for result in op.results):
                return True
        elif (
            _WRITTEN.get(op.name) != use.index
            and not isinstance(op, DimOp)
            and not (loop and loop.is_ancestor(op))
        ):
            return True
    return False
