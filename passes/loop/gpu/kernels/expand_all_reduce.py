"""`expand-all-reduce`: reductions over a block → exchanges in warps, and memory of the block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr, i32
from xdsl.dialects.gpu import DimensionEnum
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from stepwell.dialects import gpu
from stepwell.dialects.gpu.attributes import WORKGROUP
from stepwell.dialects.gpu.collectives import is_exchangeable
from stepwell.dialects.gpu.reductions import reduction
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.schedule_device import WARP_THREADS
from stepwell.dialects.tensor_ir.gpu_modules import target_of_module
from stepwell.passes.loop.gpu.product_frame import only_where
from stepwell.passes.loop.gpu.tile_choices import Limits
from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class ExpandAllReducePass(ModulePass):
    """
    Write each `gpu.all_reduce` as shuffles and memory of the block, which `insert-gpu-barriers` separates.

    Values of 32 bits in blocks of whole warps are exchanged in each warp, by halves, and the totals of the
    warps through memory; where the target has no shuffles (`sched.target` of the module: all kinds but cuda),
    and for other values, all of them are joined in memory by halves. Class: rounding (sums in another order).

    ```mlir
    %r = gpu.all_reduce add %a {} : (f32) -> f32
    // ->
    %b, %valid = gpu.shuffle xor %a, %c16, %c32 : f32
    %c = arith.addf %a, %b : f32
    …
    memref.store %total, %parts[%warp] : memref<8xf32, #gpu.address_space<workgroup>>
    …
    ```
    """

    name = "expand-all-reduce"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Expand the reductions of each kernel. Raises: StepwellError `unsupported`."""
        for kernel in [each for each in op.walk() if isinstance(each, gpu.GPUFuncOp)]:
            for each in [inner for inner in kernel.walk() if isinstance(inner, gpu.AllReduceOp)]:
                _expand(each, kernel)


def _expand(op: gpu.AllReduceOp, kernel: gpu.GPUFuncOp) -> None:
    """Replace a reduction. Raises: StepwellError `unsupported`."""
    if (size := kernel.block_size) is None:
        message = f"{op.name} needs the size of the block"
        raise StepwellError("unsupported", op, message, help="add gpu.known_block_size to the kernel")
    expansion = _Expansion(op, kernel, size)
    threads = prod(size)
    is_exchanged = threads % WARP_THREADS == 0 and is_exchangeable(op.value.type) and _has_shuffles(kernel)
    warps = threads // WARP_THREADS
    # Warps exchange their totals in lanes again, a power of two of them.
    is_exchanged = is_exchanged and warps & (warps - 1) == 0
    total = expansion.by_warps(warps) if is_exchanged else expansion.by_halves(threads)
    Rewriter.replace_op(op, [], [total])


def _has_shuffles(kernel: gpu.GPUFuncOp) -> bool:
    """Whether the target of a kernel has shuffles; without a target it has."""
    target = target_of_module(kernel.parent_op())
    return target is None or Limits.of(target).has_shuffles


class _Expansion:
    """The ops that stand for a reduction."""

    def __init__(self, op: gpu.AllReduceOp, kernel: gpu.GPUFuncOp, size: Sequence[int]):
        self._op, self._kernel = op, kernel
        self._at = IRBuilder.before(op)
        self._join = reduction(op)
        self._thread = self._at.materialize(self._number(size))

    def _number(self, size: Sequence[int]) -> Index:
        """The number of the thread in the block."""
        at, number = self._at, 0
        for dimension, extent in reversed([*zip(DimensionEnum, size, strict=True)]):
            own: Index = 0 if extent == 1 else at.value(gpu.ThreadIdOp(dimension))
            number = at.plus(at.times(number, extent), own)
        return number

    def by_warps(self, warps: int) -> SSAValue:
        """The total of all threads: by halves of each warp, then of the warps' totals."""
        at, total = self._at, self._exchanged(self._op.value, WARP_THREADS)
        if warps == 1:
            return total
        memory = self._memory(warps)
        lane = at.materialize(at.remainder(self._thread, WARP_THREADS))
        with only_where(at, [at.compare("eq", lane, at.materialize(0))]) as inside:
            warp = inside.materialize(inside.quotient(self._thread, WARP_THREADS))
            inside.insert(memref.StoreOp.get(total, memory, [warp]))
        part = at.materialize(at.remainder(self._thread, warps))
        return self._exchanged(at.value(memref.LoadOp.get(memory, [part])), warps)

    def by_halves(self, threads: int) -> SSAValue:
        """The total of all threads, in memory of the block."""
        at = self._at
        if threads == 1:
            return self._op.value
        memory = self._memory(threads)
        at.insert(memref.StoreOp.get(self._op.value, memory, [self._thread]))
        while threads > 1:
            half = -(-threads // 2)
            is_lower = at.compare("ult", self._thread, at.materialize(threads - half))
            with only_where(at, [is_lower]) as inside:
                other = inside.materialize(inside.plus(self._thread, half))
                parts = [inside.value(memref.LoadOp.get(memory, [each])) for each in (self._thread, other)]
                joined = inside.value(self._join(parts[0], parts[1]))
                inside.insert(memref.StoreOp.get(joined, memory, [self._thread]))
            threads = half
        return at.value(memref.LoadOp.get(memory, [at.materialize(0)]))

    def _exchanged(self, part: SSAValue, lanes: int) -> SSAValue:
        """The total of the parts of each so many lanes, by halves: all of them have it."""
        at, width, distance = self._at, self._at.number(WARP_THREADS, i32), lanes // 2
        while distance:
            shuffle = at.insert(gpu.ShuffleOp("xor", part, at.number(distance, i32), width))
            part = at.value(self._join(part, shuffle.shuffled))
            distance //= 2
        return part

    def _memory(self, count: int) -> SSAValue:
        """Memory of the block for so many parts of a total."""
        type = MemRefType(self._op.value.type, [count], NoneAttr(), WORKGROUP)
        return self._kernel.add_workgroup(type, "parts")
