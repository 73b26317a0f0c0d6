"""`convert-gpu-to-rocdl`: kernels of the `gpu` level → functions with intrinsics of AMD."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import DenseArrayBase, IntAttr, ModuleOp, StringAttr, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass

from stepwell.dialects import gpu
from stepwell.dialects.ir_builder import INDEX, IRBuilder
from stepwell.dialects.llvm import rocdl
from stepwell.dialects.llvm.memory import FenceOp
from stepwell.dialects.tensor_ir.gpu_modules import target_of_module
from stepwell.lowering.gpu_functions import KernelFunction, convert_kernels
from stepwell.lowering.gpu_to_rocdl.exchange import lane_of, shuffled
from stepwell.runtime.errors import StepwellError

_WARP = 64
"""The threads of a wavefront if the target is not known: 64, as on GPUs of data centers."""
_AXES = "xyz"


@dataclass(frozen=True)
class ConvertGpuToRocdlPass(ModulePass):
    """
    Make a function of each kernel, for GPUs of AMD; what the host does is left out.

    Sizes of buffers that are not known are arguments at the end; memory of a block is a global. Threads in
    step are as many as the target of the kernel's module has (`warp`), 64 without one. A barrier alone orders
    no accesses to memory, so that there is a fence before and after it.

    ```mlir
    gpu.func @k(%x: memref<8xf32>) kernel attributes {gpu.known_block_size = array<i32: 8, 1, 1>} {
      %t = gpu.thread_id x
      gpu.barrier
      …
    }
    // ->
    func.func @k(%x: memref<8xf32>)
        attributes {rocdl.kernel, rocdl.reqd_work_group_size = array<i32: 8, 1, 1>} {
      %0 = llvm.call_intrinsic "llvm.amdgcn.workitem.id.x"() : () -> i32
      %t = arith.index_cast %0 : i32 to index
      llvm.fence "workgroup" "release"
      llvm.call_intrinsic "llvm.amdgcn.s.barrier"() : () -> ()
      llvm.fence "workgroup" "acquire"
      …
    }
    ```
    """

    name = "convert-gpu-to-rocdl"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Convert all kernels. Raises: StepwellError `unsupported`, `unsupported-op`."""
        convert_kernels(op, lambda kernel, name: _RocdlFunction(kernel, name, _warp_of(kernel)))


def _warp_of(kernel: gpu.GPUFuncOp) -> int:
    """The threads in step on the target of a kernel's module."""
    target = target_of_module(kernel.parent_op())
    found = None if target is None else target.attrs.get("warp")
    return found if isinstance(found, int) and found else _WARP


class _RocdlFunction(KernelFunction):
    """A kernel for GPUs of AMD."""

    vendor = "GPUs of AMD"
    key = rocdl.KERNEL

    def attributes(self, block: Sequence[int] | None) -> Mapping[str, Attribute]:
        return {} if block is None else {rocdl.REQUIRED_THREADS: DenseArrayBase.from_list(i32, block)}

    def position(self, op: str, axis: str, at: IRBuilder) -> SSAValue:
        """Raises: StepwellError `unsupported` for the threads of a block whose size is not known."""
        match op:
            case "gpu.thread_id":
                return _index(at, at.value(llvm.CallIntrinsicOp(rocdl.THREAD_ID + axis, [], [i32])))
            case "gpu.block_id":
                return _index(at, at.value(llvm.CallIntrinsicOp(rocdl.BLOCK_ID + axis, [], [i32])))
            case "gpu.grid_dim":
                return _index(at, _blocks(at, _AXES.index(axis)))
            case _:
                return at.materialize(self._threads(axis))

    def lane(self, at: IRBuilder) -> SSAValue:
        return _index(at, lane_of(at, self.warp))

    def barrier(self, op: gpu.BarrierOp, at: IRBuilder) -> list[SSAValue]:
        at.insert(_fence("release"))
        at.insert(llvm.CallIntrinsicOp(rocdl.BARRIER, [], []))
        at.insert(_fence("acquire"))
        return []

    def shuffled(
        self, op: Operation, at: IRBuilder, mode: str, value: SSAValue, offset: SSAValue, width: SSAValue
    ) -> tuple[SSAValue, SSAValue]:
        return shuffled(op, at, mode, value, offset, width, self.warp)

    def _threads(self, axis: str) -> int:
        """The threads of a block along an axis. Raises: StepwellError `unsupported`."""
        if (block := self.kernel.block_size) is None:
            message = f"@{self.kernel.sym_name.data} asks for its block's size, which is not known"
            raise StepwellError("unsupported", self.kernel, message, help="add gpu.known_block_size")
        return block[_AXES.index(axis)]


def _index(at: IRBuilder, value: SSAValue) -> SSAValue:
    return at.value(arith.IndexCastOp(value, INDEX))


def _blocks(at: IRBuilder, axis: int) -> SSAValue:
    """The blocks of the grid along an axis: the driver passes the three numbers first of its arguments."""
    space = llvm.LLVMPointerType(IntAttr(rocdl.CONSTANT))
    arguments = at.value(llvm.CallIntrinsicOp(rocdl.HIDDEN_ARGUMENTS, [], [space]))
    place = at.value(llvm.GEPOp.from_mixed_indices(arguments, [axis], i32, inbounds=True, result_type=space))
    return at.value(llvm.LoadOp(place, i32))


def _fence(ordering: str) -> FenceOp:
    """What orders the accesses of a block's threads to memory."""
    return FenceOp.create(properties={"scope": StringAttr("workgroup"), "ordering": StringAttr(ordering)})
