"""`convert-gpu-to-nvvm`: kernels of the `gpu` level → functions with intrinsics of NVIDIA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from stepwell.dialects import gpu
from stepwell.dialects.ir_builder import INDEX, IRBuilder
from stepwell.dialects.llvm import nvvm
from stepwell.lowering.gpu_functions import Handler, KernelFunction, convert_kernels
from stepwell.lowering.gpu_to_nvvm.exchange import shuffled
from stepwell.lowering.gpu_to_nvvm.tensor_cores import multiplied, rounded_to_tf32

_REGISTERS: Mapping[str, str] = {
    "gpu.thread_id": "tid",
    "gpu.block_id": "ctaid",
    "gpu.block_dim": "ntid",
    "gpu.grid_dim": "nctaid",
}
"""The special register of each op with a position or a size."""
_WARP = 32


@dataclass(frozen=True)
class ConvertGpuToNvvmPass(ModulePass):
    """
    Make a function of each kernel, for GPUs of NVIDIA; what the host does is left out.

    Sizes of buffers that are not known are arguments at the end; memory of a block is a global. The result is
    for `convert-loops-to-llvm`, which has the addresses that `gpu.async_copy` and `gpu.ldmatrix` need.

    ```mlir
    gpu.func @k(%x: memref<8xf32>) kernel attributes {gpu.known_block_size = array<i32: 8, 1, 1>} {
      %t = gpu.thread_id x
      …
    }
    // ->
    func.func @k(%x: memref<8xf32>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 8, 1, 1>} {
      %0 = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
      %t = arith.index_cast %0 : i32 to index
      …
    }
    ```
    """

    name = "convert-gpu-to-nvvm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert all kernels. Raises: StepwellError `unsupported`, `unsupported-op`."""
        convert_kernels(op, lambda kernel, name: _NvvmFunction(kernel, name, _WARP))


class _NvvmFunction(KernelFunction):
    """A kernel for GPUs of NVIDIA."""

    vendor = "GPUs of NVIDIA"
    addressed = (gpu.AsyncCopyOp, gpu.LdmatrixOp)
    key = nvvm.KERNEL

    def attributes(self, block: Sequence[int] | None) -> Mapping[str, Attribute]:
        return {} if block is None else {nvvm.REQUIRED_THREADS: DenseArrayBase.from_list(i32, block)}

    def handlers(self) -> Mapping[type[Operation], Handler]:
        return {
            gpu.MmaSyncOp: multiplied,
            gpu.ToTf32Op: rounded_to_tf32,
            gpu.AsyncCommitOp: self._commit,
            gpu.AsyncWaitOp: self._wait,
        }

    def position(self, op: str, axis: str, at: IRBuilder) -> SSAValue:
        return self._register(f"{_REGISTERS[op]}.{axis}", at)

    def lane(self, at: IRBuilder) -> SSAValue:
        return self._register("laneid", at)

    def barrier(self, op: gpu.BarrierOp, at: IRBuilder) -> list[SSAValue]:
        at.insert(llvm.CallIntrinsicOp(nvvm.BARRIER, [at.number(0, i32)], []))
        return []

    def shuffled(
        self, op: Operation, at: IRBuilder, mode: str, value: SSAValue, offset: SSAValue, width: SSAValue
    ) -> tuple[SSAValue, SSAValue]:
        return shuffled(op, at, mode, value, offset, width)

    def _register(self, name: str, at: IRBuilder) -> SSAValue:
        """A special register as an index."""
        read = at.value(llvm.CallIntrinsicOp(nvvm.REGISTER + name, [], [i32]))
        return at.value(arith.IndexCastOp(read, INDEX))

    def _commit(self, op: gpu.AsyncCommitOp, at: IRBuilder) -> list[SSAValue]:
        at.insert(llvm.CallIntrinsicOp(nvvm.COMMIT_GROUP, [], []))
        return []

    def _wait(self, op: gpu.AsyncWaitOp, at: IRBuilder) -> list[SSAValue]:
        at.insert(llvm.CallIntrinsicOp(nvvm.WAIT_GROUP, [at.number(op.pending.value.data, i32)], []))
        return []
