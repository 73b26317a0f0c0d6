"""`pipeline-copies`: tiles of the next step are loaded during the products of the current one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, memref, scf
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from stepwell.dialects import gpu
from stepwell.dialects._xdsl import set_type
from stepwell.dialects.gpu.async_copies import has_async_copies
from stepwell.dialects.gpu.attributes import SPACES, space_of
from stepwell.dialects.ir_builder import INDEX, IRBuilder
from stepwell.dialects.sched import STAGES, TARGET
from stepwell.dialects.target import SpecAttr
from stepwell.passes.loop.gpu.kernels.async_stages import AsyncStages, are_plain_copies
from stepwell.passes.loop.gpu.nests import buffer_type

_TILES = 2
"""The tiles of each buffer that threads fill themselves."""


@dataclass(frozen=True)
class PipelineCopiesPass(ModulePass):
    """
    Give loops with `sched.stages` two tiles of each buffer of the block: one to multiply, one to copy to.

    The loop's body first copies to memory of the block, then computes. Now it loads the elements for the next
    step, computes, and stores these elements to the other tile; the first tile is copied before the loop. The
    loads can take as long as the computation, and each step needs one barrier only.

    ```mlir
    scf.for %k = %c0 to %n step %c8 {
      %a = memref.load %x[%k] : memref<64xf32>
      memref.store %a, %s[%t] : memref<8xf32, #gpu.address_space<workgroup>>
      %b = memref.load %s[%u] : memref<8xf32, #gpu.address_space<workgroup>>
      …
    } {sched.stages = 2 : i64}
    // ->
    %a0 = memref.load %x[%c0] : memref<64xf32>
    memref.store %a0, %s[%c0, %t] : memref<2x8xf32, #gpu.address_space<workgroup>>
    scf.for %k = %c0 to %n step %c8 iter_args(%slot = %c0) -> (index) {
      …
      %a = memref.load %x[%next] : memref<64xf32>
      %b = memref.load %s[%slot, %u] : memref<2x8xf32, #gpu.address_space<workgroup>>
      …
      %other = arith.subi %c1, %slot : index
      memref.store %a, %s[%other, %t] : memref<2x8xf32, #gpu.address_space<workgroup>>
      scf.yield %other : index
    }
    ```

    With n stages, more than 2, there are n tiles on targets with asynchronous copies (`async-copy`). The
    copies of a step are started n - 1 steps ahead, beside the threads, and each step waits for its own.
    Stores of neighbouring elements (`sched.together`) are one copy of up to 16 bytes. Two tiles remain on
    other targets, and where copies convert, or have fewer than 4 bytes.

    ```mlir
    scf.for %k = %c0 to %n step %c8 iter_args(%slot = %c0) -> (index) {
      gpu.async_wait 1
      …
      scf.if %exists {
        gpu.async_copy %x[%ahead] to %s[%previous, %t]
            : memref<64xf32> to memref<3x8xf32, #gpu.address_space<workgroup>>
      }
      gpu.async_commit
      %b = memref.load %s[%slot, %u] : memref<3x8xf32, #gpu.address_space<workgroup>>
      …
    }
    ```
    """

    name = "pipeline-copies"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Pipeline the loops of each kernel."""
        for kernel in [each for each in op.walk() if isinstance(each, gpu.GPUFuncOp)]:
            for loop in [each for each in kernel.walk() if STAGES in each.attributes]:
                stages = loop.attributes.pop(STAGES)
                assert isinstance(loop, scf.ForOp) and isinstance(stages, IntegerAttr)
                if (copies := _copies(loop, kernel)) is None:
                    continue
                if (count := stages.value.data) > _TILES and _copies_run_ahead(kernel, loop, copies):
                    _run_ahead(loop, copies, count)
                else:
                    _pipeline(loop, copies)


@dataclass(frozen=True)
class _Copies:
    """The parts of a loop's body."""

    loads: Sequence[Operation]
    """What computes the values that are copied."""
    stores: Sequence[Operation]
    rest: Sequence[Operation]
    buffers: Sequence[SSAValue]


def _copies(loop: scf.ForOp, kernel: gpu.GPUFuncOp) -> _Copies | None:
    """The parts of a body that begins with copies to buffers which nothing else writes; None for another."""
    *ops, _ = loop.body.block.ops
    is_store = [any(_stored(each) is not None for each in op.walk()) for op in ops]
    if True not in is_store:
        return None
    end = len(ops) - is_store[::-1].index(True)
    stores = [op for op, stored in zip(ops, is_store, strict=True) if stored]
    loads = [op for op in ops[:end] if op not in stores]
    found = (_stored(each) for op in stores for each in op.walk())
    buffers = list(dict.fromkeys(buffer for buffer in found if buffer is not None))
    copied, rest = {each for op in stores for each in op.walk()}, {e for op in ops[end:] for e in op.walk()}
    for buffer in buffers:
        if buffer not in kernel.workgroup:
            return None
        for use in buffer.uses:
            is_read = isinstance(use.operation, memref.LoadOp | gpu.LdmatrixOp) and use.operation in rest
            if not is_read and use.operation not in copied:
                return None
    if any(result.uses for op in stores for result in op.results):
        return None
    return _Copies(loads, stores, ops[end:], buffers)


def _stored(op: Operation) -> SSAValue | None:
    """The buffer of a block that an op stores to."""
    is_store = isinstance(op, memref.StoreOp) and space_of(op.memref.type) == SPACES[1]
    return op.operands[1] if is_store else None


def _copies_run_ahead(kernel: gpu.GPUFuncOp, loop: scf.ForOp, copies: _Copies) -> bool:
    """Whether the target copies without the threads, and the loop has nothing but such copies."""
    module: Operation | None = kernel.parent_op()
    while module is not None and TARGET not in module.attributes:
        module = module.parent_op()
    spec = module.attributes[TARGET] if module is not None else None
    has_feature = isinstance(spec, SpecAttr) and has_async_copies(spec.target())
    return has_feature and are_plain_copies(loop, copies.loads, copies.stores)


def _run_ahead(loop: scf.ForOp, copies: _Copies, stages: int) -> None:
    """Rewrite a loop whose copies are asynchronous."""
    before = IRBuilder.before(loop)
    zero = before.materialize(0)
    _add_tiles(copies, stages)
    ahead = AsyncStages(loop, copies.loads, copies.stores, stages, loop.body.block.args[0])
    ahead.copy_first(before)
    body, at = _new_body(loop)
    index, slot = body.args[0], body.args[-1]
    ahead = AsyncStages(loop, copies.loads, copies.stores, stages, index)
    ahead.copy_ahead(at, index, slot)
    own = _compute(at, copies, slot)
    _replace_loop(before, loop, body, at, own, zero, ahead.following(at, slot, 1))


def _add_tiles(copies: _Copies, count: int) -> None:
    """Give each buffer some tiles."""
    for buffer in copies.buffers:
        type = buffer_type(buffer)
        shape = [count, *type.get_shape()]
        set_type(buffer, MemRefType(type.element_type, shape, memory_space=type.memory_space))


def _new_body(loop: scf.ForOp) -> tuple[Block, IRBuilder]:
    """An empty body with the number of a tile among its arguments, which the ops of the old one use."""
    old = loop.body.block
    body = Block(arg_types=[*old.arg_types, INDEX])
    for argument, other in zip(old.args, body.args, strict=False):
        other.name_hint = argument.name_hint
        argument.replace_all_uses_with(other)
    body.args[-1].name_hint = "slot"
    return body, IRBuilder.at_end(body, loop.location)


def _compute(at: IRBuilder, copies: _Copies, slot: SSAValue) -> dict[SSAValue, SSAValue]:
    """Move the computation of a step, which reads a tile; returns the copies of numbers that it needs."""
    own: dict[SSAValue, SSAValue] = {}
    _clone(at, _needed(copies), own)
    for op in copies.rest:
        op.detach()
        at.insert(op)
        for each in op.walk():
            each.operands = [own.get(value, value) for value in each.operands]
            _select_slot(each, copies.buffers, slot)
    return own


def _replace_loop(
    before: IRBuilder,
    loop: scf.ForOp,
    body: Block,
    at: IRBuilder,
    own: dict[SSAValue, SSAValue],
    first: SSAValue,
    following: SSAValue,
) -> None:
    """Put a loop with a new body in the place of one."""
    last = loop.body.block.last_op
    assert last is not None
    at.insert(scf.YieldOp(*(own.get(value, value) for value in last.operands), following))
    made = before.insert(scf.ForOp(loop.lb, loop.ub, loop.step, [*loop.iter_args, first], Region(body)))
    for result, new in zip(loop.results, made.results, strict=False):
        new.name_hint = result.name_hint
        result.replace_all_uses_with(new)
    Rewriter.erase_op(loop, safe_erase=False)


def _pipeline(loop: scf.ForOp, copies: _Copies) -> None:
    """Rewrite a loop with two tiles, which its threads fill."""
    before = IRBuilder.before(loop)
    zero, one = before.materialize(0), before.materialize(1)
    _add_tiles(copies, _TILES)
    _copy_first(before, loop, copies, zero)
    body, at = _new_body(loop)
    index, slot = body.args[0], body.args[-1]
    following = at.value(arith.AddiOp(index, loop.step))
    exists = at.compare("slt", following, loop.ub)
    # After the last step the current tile is copied again, to where nothing reads it.
    next_index = at.value(arith.SelectOp(exists, following, index))
    values: dict[SSAValue, SSAValue] = {index: next_index}
    _clone(at, copies.loads, values)
    # The current step may need the numbers that its copies were computed from, too.
    own = _compute(at, copies, slot)
    other = at.value(arith.SubiOp(one, slot))
    for op in copies.stores:
        at.insert(copy := op.clone(values))
        for each in copy.walk():
            _select_slot(each, copies.buffers, other)
    _replace_loop(before, loop, body, at, own, zero, other)


def _copy_first(before: IRBuilder, loop: scf.ForOp, copies: _Copies, zero: SSAValue) -> None:
    """Copy the tiles of the first step before a loop, if there is a step."""
    exists = before.compare("slt", loop.lb, loop.ub)
    before.insert(scf.IfOp(exists, [], [branch := Block()]))
    inside = before.inside(branch)
    values: dict[SSAValue, SSAValue] = {loop.body.block.args[0]: loop.lb}
    values |= dict(zip(loop.body.block.args[1:], loop.iter_args, strict=True))
    _clone(inside, copies.loads, values)
    for op in copies.stores:
        inside.insert(copy := op.clone(values))
        for each in copy.walk():
            _select_slot(each, copies.buffers, zero)
    inside.insert(scf.YieldOp())


def _clone(at: IRBuilder, ops: Sequence[Operation], values: dict[SSAValue, SSAValue]) -> None:
    for op in ops:
        at.insert(op.clone(values))


def _needed(copies: _Copies) -> list[Operation]:
    """The ops of the loads that the computation of a step reads, too."""
    users = {each for op in copies.rest for each in op.walk()}
    found: list[Operation] = []
    for op in reversed(copies.loads):
        if any(use.operation in users for result in op.results for use in result.uses):
            users |= set(op.walk())
            found.insert(0, op)
    return found


def _select_slot(op: Operation, buffers: Sequence[SSAValue], slot: SSAValue) -> None:
    """Give an access of a buffer the index of its tile."""
    if isinstance(op, memref.LoadOp | memref.StoreOp | gpu.LdmatrixOp) and op.memref in buffers:
        op.operands = [
            *op.operands[: 1 + isinstance(op, memref.StoreOp)],
            slot,
            *op.operands[1 + isinstance(op, memref.StoreOp) :],
        ]
