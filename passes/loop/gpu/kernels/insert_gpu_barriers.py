"""`insert-gpu-barriers`: barriers where threads of a block touch its memory in turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import memref, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from stepwell.dialects import gpu
from stepwell.dialects.gpu.attributes import SPACES, space_of
from stepwell.dialects.gpu.uniformity import divergent_ancestor
from stepwell.dialects.ir_builder import IRBuilder
from stepwell.passes.loop.gpu.kernels.shared_places import Place
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class _Accesses:
    """Buffers of a block that are read or written since the last barrier."""

    read: frozenset[Place] = frozenset()
    written: frozenset[Place] = frozenset()
    arrived: frozenset[Place] = frozenset()
    """What a thread has waited for: others do not see it yet. It was written when the copy was started."""

    def __or__(self, other: _Accesses) -> _Accesses:
        return _Accesses(self.read | other.read, self.written | other.written, self.arrived | other.arrived)

    def conflicts(self, other: _Accesses, kernel: gpu.GPUFuncOp) -> bool:
        """
        Whether an access of one set and an access of the other can be of one element, with one of the two a
        write.
        """
        of_other = other.read | other.written
        pairs = [(self.written | self.arrived, of_other), (self.read, other.written)]
        return any(a.meets(b, kernel) for some, others in pairs for a in some for b in others)

    def outside(self, loop: Operation) -> _Accesses:
        """The accesses in other iterations of a loop."""
        return _Accesses(
            frozenset(place.outside(loop) for place in self.read),
            frozenset(place.outside(loop) for place in self.written),
            frozenset(place.outside(loop) for place in self.arrived),
        )


_NONE = _Accesses()
_READS = (memref.LoadOp, gpu.LdmatrixOp)


@dataclass(frozen=True)
class InsertGpuBarriersPass(ModulePass):
    """
    Add a `gpu.barrier` between accesses of a block's memory by which two threads may meet at one element.

    An access needs a barrier after an earlier one of the same buffer, since the last barrier, if either
    stores, unless they are of different elements for sure: with first indices `i` and an odd number minus
    `i` (two tiles in turn), or with `i` and `(i + n) mod m` (m tiles), or by thread numbers in different
    ranges, or stores that say so (`sched.own`). After `gpu.async_wait` the next access of what was copied
    needs one. The end of a loop's body is before its beginning. Barriers are put where all threads of the
    block are: an op under a condition that depends on the thread counts as one access.

    ```mlir
    memref.store %a, %s[%t] : memref<32xf32, #gpu.address_space<workgroup>>
    %b = memref.load %s[%u] : memref<32xf32, #gpu.address_space<workgroup>>
    // ->
    memref.store %a, %s[%t] : memref<32xf32, #gpu.address_space<workgroup>>
    gpu.barrier
    %b = memref.load %s[%u] : memref<32xf32, #gpu.address_space<workgroup>>
    ```
    """

    name = "insert-gpu-barriers"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Add the barriers of each kernel with memory of a block."""
        for kernel in [each for each in op.walk() if isinstance(each, gpu.GPUFuncOp)]:
            if kernel.workgroup:
                _insert(kernel.body.block, _NONE, kernel)


def _insert(block: Block, before: _Accesses, kernel: gpu.GPUFuncOp) -> _Accesses:
    """Insert barriers in a block; returns the accesses since the last one at its end."""
    since = before
    for op in list(block.ops):
        if isinstance(op, gpu.BarrierOp):
            since = _NONE
            continue
        inside = _accesses(op)
        if inside == _NONE:
            continue
        # A loop that needs a barrier between its iterations gets one inside, which also does the work of this
        # one.
        is_loop = _is_split(op) and isinstance(op, scf.ForOp) and inside.outside(op).conflicts(inside, kernel)
        if not is_loop and since.conflicts(inside, kernel):
            IRBuilder.before(op).insert(gpu.BarrierOp())
            since = _NONE
        since = _insert_inside(op, since, kernel) if _is_split(op) else since | inside
    return since


def _insert_inside(op: Operation, before: _Accesses, kernel: gpu.GPUFuncOp) -> _Accesses:
    """Insert barriers in the regions of an op that all threads enter together."""
    blocks = [block for region in op.regions for block in region.blocks]
    if isinstance(op, scf.ForOp):
        (body,) = blocks
        # The second round sees what the end of the body has accessed; barriers that exist are kept.
        after = _insert(body, before, kernel)
        return before | _insert(body, before | after.outside(op), kernel).outside(op)
    after = before
    for block in blocks:
        after |= _insert(block, before, kernel)
    return after


def _is_split(op: Operation) -> bool:
    """Whether barriers may be put inside of an op: all threads enter it, as often as one another."""
    if not isinstance(op, scf.ForOp | scf.IfOp):
        return False
    first = next(iter(op.regions[0].blocks)).first_op
    return first is not None and divergent_ancestor(first) is None


def _accesses(op: Operation) -> _Accesses:
    """The buffers of a block that an op accesses, with the ops inside. Raises: StepwellError."""
    read = {Place.of(each) for each in _in_shared(op) if isinstance(each, _READS)}
    written = {Place.of(each) for each in _in_shared(op) if not isinstance(each, _READS)}
    arrived: set[Place] = set()
    if any(isinstance(each, gpu.AsyncWaitOp) for each in op.walk()):
        arrived = {Place(place.buffer) for place in _copied(op)}
    return _Accesses(frozenset(read), frozenset(written), frozenset(arrived))


def _copied(op: Operation) -> Iterator[Place]:
    """The places that the kernel around an op copies to beside its threads."""
    kernel: Operation | None = op
    while kernel is not None and not isinstance(kernel, gpu.GPUFuncOp):
        kernel = kernel.parent_op()
    if kernel is not None:
        yield from (Place.of(each) for each in kernel.walk() if isinstance(each, gpu.AsyncCopyOp))


def _in_shared(op: Operation) -> Iterator[memref.LoadOp | memref.StoreOp | gpu.AsyncCopyOp | gpu.LdmatrixOp]:
    """The accesses of memory of a block. Raises: StepwellError `unsupported` for other ops than these."""
    for each in op.walk():
        if isinstance(each, memref.LoadOp | memref.StoreOp) and space_of(each.memref.type) == SPACES[1]:
            yield each
        elif isinstance(each, gpu.AsyncCopyOp | gpu.LdmatrixOp):
            yield each
        elif isinstance(each, memref.CopyOp) and any(space_of(v.type) == SPACES[1] for v in each.operands):
            raise StepwellError(
                "unsupported", each, "a copy of memory of a block", help="use loads and stores"
            )
