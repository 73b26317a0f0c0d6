"""`convert-gpu-to-nvvm`: kernels of the `gpu` level → functions with intrinsics of NVIDIA."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from xdsl.context import Context
from xdsl.dialects import arith, func, llvm, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DictionaryAttr,
    IndexType,
    IntAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    UnitAttr,
    UnrealizedConversionCastOp,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.dialects.gpu import DimensionAttr
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import gpu
from stepwell.dialects.gpu.uniformity import divergent_ancestor
from stepwell.dialects.ir_builder import INDEX, IRBuilder
from stepwell.dialects.llvm import nvvm
from stepwell.dialects.llvm.instructions import AddrSpaceCastOp
from stepwell.lowering.bufferize import memref_of
from stepwell.lowering.gpu_to_nvvm.exchange import reduced, shuffled
from stepwell.lowering.gpu_to_nvvm.signature import dims_of, kernel_names, parameters_of, size_name
from stepwell.lowering.gpu_to_nvvm.tensor_cores import multiplied, rounded_to_tf32
from stepwell.runtime.devices.cuda.signatures import POINTER
from stepwell.runtime.errors import StepwellError

_REGISTERS: Mapping[str, str] = {
    "gpu.thread_id": "tid",
    "gpu.block_id": "ctaid",
    "gpu.block_dim": "ntid",
    "gpu.grid_dim": "nctaid",
}
"""The special register of each op with a position or a size."""
_SHARED_ALIGNMENT = 16
_WARP = 32


@dataclass(frozen=True)
class ConvertGpuToNvvmPass(ModulePass):
    """
    Make a function of each kernel, for GPUs of NVIDIA; what the host does is left out.

    Sizes of buffers that are not known are arguments at the end; memory of a block is a global. The result is
    for `convert-loops-to-llvm`, which has the addresses that `gpu.async_copy` needs.

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
        found = [(each, _Kernel(each, name)) for each, name in kernel_names(op).items()]
        made = [new for _, kernel in found for new in kernel.convert()]
        for old in list(op.body.block.ops):
            old.detach()
            old.erase(safe_erase=False)
        op.body.block.add_ops(made)


class _Kernel:
    """A kernel on its way to a function."""

    def __init__(self, kernel: gpu.GPUFuncOp, name: str):
        self._kernel, self._name = kernel, name
        self._globals: list[Operation] = []
        self._parameters = parameters_of(kernel)
        self._shared_count = len(kernel.workgroup)
        self._memory = [*kernel.workgroup, *kernel.private]
        self._handlers: dict[type[Operation], Callable[[Any, IRBuilder], list[SSAValue]]] = {
            **dict.fromkeys((gpu.ThreadIdOp, gpu.BlockIdOp, gpu.BlockDimOp, gpu.GridDimOp), self._position),
            gpu.GlobalIdOp: self._global_id,
            gpu.LaneIdOp: lambda op, at: [self._register("laneid", at)],
            gpu.SubgroupSizeOp: lambda op, at: [at.materialize(_WARP)],
            gpu.SubgroupIdOp: self._subgroup,
            gpu.BarrierOp: self._barrier,
            gpu.ShuffleOp: self._shuffle,
            gpu.SubgroupReduceOp: self._reduce,
            gpu.MmaSyncOp: multiplied,
            gpu.ToTf32Op: rounded_to_tf32,
            gpu.AsyncCommitOp: self._commit,
            gpu.AsyncWaitOp: self._wait,
            gpu.ReturnOp: self._return,
            memref.AllocOp: self._alloc,
            scf.ParallelOp: self._parallel,
        }

    def convert(self) -> list[Operation]:
        """The function, after the globals that it needs."""
        for op in self._kernel.walk():
            if isinstance(op, gpu.ShuffleOp | gpu.SubgroupReduceOp | gpu.MmaSyncOp):
                self._expect_whole_warps(op)
        block, inputs = self._kernel.body.block, len(self._kernel.function_type.inputs)
        start = IRBuilder(InsertPoint.at_start(block), self._kernel.location)
        for number, value in enumerate(self._memory):
            is_shared = number < self._shared_count
            made = self._shared(value, start) if is_shared else self._alloca(memref_of(value), start)
            made.name_hint = value.name_hint
            value.replace_all_uses_with(made)
        for value in reversed(self._memory):
            block.erase_arg(block.args[block.args.index(value)])  # pyright: ignore[reportArgumentType]
        for position in range(inputs, len(self._parameters)):
            block.insert_arg(INDEX, position)
        for op in list(block.walk()):
            self._convert_op(op)
        return [*self._globals, self._function(block)]

    def _function(self, block: Block) -> func.FuncOp:
        """The function around the converted body."""
        attributes: list[DictionaryAttr] = []
        for parameter, value in zip(self._parameters, block.args, strict=True):
            flags: dict[str, Attribute] = {}
            if parameter.dim is not None:
                name = size_name(parameter.argument, parameter.dim)
                value.name_hint, flags[nvvm.SIZE] = name, StringAttr(name)
            elif parameter.type == POINTER:
                flags["graph.dims"] = dims_of(memref_of(value), parameter.argument)
            attributes.append(DictionaryAttr(flags))
        body = Region()
        self._kernel.body.move_blocks(body)
        types = [value.type for value in block.args]
        function = func.FuncOp(self._name, (types, []), body, arg_attrs=ArrayAttr(attributes))
        function.attributes[nvvm.KERNEL] = UnitAttr()
        if (size := self._kernel.block_size) is not None:
            function.attributes[nvvm.REQUIRED_THREADS] = DenseArrayBase.from_list(i32, size)
        function.location = self._kernel.location
        return function

    def _convert_op(self, op: Operation) -> None:
        """Replace an op of the gpu level. Raises: StepwellError `unsupported-op`."""
        if (handler := self._handlers.get(type(op))) is None:
            if op.name.startswith("gpu.") and not isinstance(op, gpu.AsyncCopyOp):
                raise StepwellError("unsupported-op", op, f"{op.name} has no code for GPUs of NVIDIA")
            return
        values = handler(op, IRBuilder.before(op))
        for old, new in zip(op.results, values, strict=True):
            new.name_hint = new.name_hint or old.name_hint
            old.replace_all_uses_with(new)
        Rewriter.erase_op(op)

    # Memory

    def _shared(self, value: SSAValue, at: IRBuilder) -> SSAValue:
        """Memory of a block: a global of its address space, by a generic pointer."""
        name = f"{self._name}_{value.name_hint or 'shared'}_{len(self._globals)}"
        type = memref_of(value)
        elements = llvm.LLVMArrayType(prod(type.get_shape()), _in_memory(type.element_type))
        made = llvm.GlobalOp(elements, name, "internal", nvvm.SHARED, alignment=_SHARED_ALIGNMENT)
        made.location = self._kernel.location
        self._globals.append(made)
        space = llvm.LLVMPointerType(IntAttr(nvvm.SHARED))
        pointer = at.value(llvm.AddressOfOp(name, space))
        generic = at.value(AddrSpaceCastOp.create(operands=[pointer], result_types=[llvm.LLVMPointerType()]))
        return at.value(UnrealizedConversionCastOp.get([generic], [type]))

    def _alloca(self, type: MemRefType[Attribute], at: IRBuilder) -> SSAValue:
        """Memory of a thread."""
        return at.value(memref.AllocaOp.get(type.element_type, shape=type.get_shape()))

    def _alloc(self, op: memref.AllocOp, at: IRBuilder) -> list[SSAValue]:
        if not memref_of(op.memref).has_static_shape():
            raise StepwellError("unsupported", op, "memory of a thread has a size that is not known")
        return [self._alloca(memref_of(op.memref), at)]

    # Positions

    def _register(self, name: str, at: IRBuilder) -> SSAValue:
        """A special register as an index."""
        read = at.value(llvm.CallIntrinsicOp(nvvm.REGISTER + name, [], [i32]))
        return at.value(arith.IndexCastOp(read, INDEX))

    def _position(self, op: Operation, at: IRBuilder) -> list[SSAValue]:
        axis = op.properties["dimension"]
        assert isinstance(axis, DimensionAttr)
        return [self._register(f"{_REGISTERS[op.name]}.{axis.data.value}", at)]

    def _global_id(self, op: gpu.GlobalIdOp, at: IRBuilder) -> list[SSAValue]:
        block, size, thread = (
            self._register(f"{name}.{op.dimension.data.value}", at) for name in ("ctaid", "ntid", "tid")
        )
        return [at.materialize(at.plus(at.times(block, size), thread))]

    def _subgroup(self, op: gpu.SubgroupIdOp, at: IRBuilder) -> list[SSAValue]:
        """The number of the thread in its block, by warps."""
        x, y, z = (self._register(f"tid.{axis}", at) for axis in "xyz")
        columns, rows = (self._register(f"ntid.{axis}", at) for axis in "xy")
        row = at.plus(at.times(z, rows), y)
        return [at.binary(arith.DivUIOp, at.plus(at.times(row, columns), x), _WARP)]

    # Threads together

    def _barrier(self, op: gpu.BarrierOp, at: IRBuilder) -> list[SSAValue]:
        at.insert(llvm.CallIntrinsicOp(nvvm.BARRIER, [at.number(0, i32)], []))
        return []

    def _commit(self, op: gpu.AsyncCommitOp, at: IRBuilder) -> list[SSAValue]:
        at.insert(llvm.CallIntrinsicOp(nvvm.COMMIT_GROUP, [], []))
        return []

    def _wait(self, op: gpu.AsyncWaitOp, at: IRBuilder) -> list[SSAValue]:
        at.insert(llvm.CallIntrinsicOp(nvvm.WAIT_GROUP, [at.number(op.pending.value.data, i32)], []))
        return []

    def _shuffle(self, op: gpu.ShuffleOp, at: IRBuilder) -> list[SSAValue]:
        return [*shuffled(op, at, op.mode.data, op.value, op.offset, op.width)]

    def _reduce(self, op: gpu.SubgroupReduceOp, at: IRBuilder) -> list[SSAValue]:
        return [reduced(at, op)]

    def _expect_whole_warps(self, op: Operation) -> None:
        """Require all threads of each warp to be there. Raises: StepwellError `unsupported`."""
        size = self._kernel.block_size
        if size is None or prod(size) % _WARP:
            found = "unknown size" if size is None else f"{prod(size)} threads"
            message = f"{op.name} needs blocks of whole warps of {_WARP} threads, and they have {found}"
            raise StepwellError("unsupported", op, message)
        if (around := divergent_ancestor(op)) is not None:
            message = f"{op.name} in {around.name}, whose condition or bounds depend on a thread id"
            raise StepwellError("unsupported", op, message, help="exchange values outside of it")

    # Control flow

    def _return(self, op: gpu.ReturnOp, at: IRBuilder) -> list[SSAValue]:
        at.insert(func.ReturnOp())
        return []

    def _parallel(self, op: scf.ParallelOp, at: IRBuilder) -> list[SSAValue]:
        """Plain loops, inside one another: a thread runs all iterations."""
        if op.initVals:
            raise StepwellError("unsupported", op, "a parallel loop with reductions")
        block = op.body.block
        bounds = list(zip(op.lowerBound, op.upperBound, op.step, strict=True))
        if (last := block.last_op) is not None:
            Rewriter.erase_op(last)
        block.add_op(scf.YieldOp())
        outer = [Block(arg_types=[INDEX]) for _ in bounds[:-1]]
        for arg, around in zip(list(block.args[:-1]), outer, strict=True):
            arg.replace_all_uses_with(around.args[0])
            block.erase_arg(arg)
        loop = scf.ForOp(*bounds[-1], [], op.detach_region(0))
        for bound, around in zip(reversed(bounds[:-1]), reversed(outer), strict=True):
            around.add_ops([loop, scf.YieldOp()])
            loop = scf.ForOp(*bound, [], Region(around))
        at.insert(loop)
        return []


def _in_memory(type: Attribute) -> Attribute:
    """The type of an element in memory: a byte for i1, 64 bits for an index."""
    if type == i1:
        return i8
    return i64 if isinstance(type, IndexType) else type
