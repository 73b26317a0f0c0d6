"""The conversion of a kernel of the `gpu` level to a function, but for what each vendor has of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, ClassVar, TypeAlias

from xdsl.dialects import arith, func, llvm, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
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
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import gpu
from stepwell.dialects.gpu.reductions import reduction
from stepwell.dialects.gpu.uniformity import divergent_ancestor
from stepwell.dialects.ir_builder import INDEX, IRBuilder
from stepwell.dialects.llvm.device import SHARED, SIZE
from stepwell.dialects.llvm.instructions import AddrSpaceCastOp
from stepwell.lowering.bufferize import memref_of
from stepwell.lowering.gpu_functions.signature import dims_of, kernel_names, parameters_of, size_name
from stepwell.runtime.devices.signatures import POINTER
from stepwell.runtime.errors import StepwellError

_SHARED_ALIGNMENT = 16
_REQUIRED: frozenset[type[Operation]] = frozenset(
    (gpu.ShuffleOp, gpu.SubgroupReduceOp, gpu.MmaSyncOp, gpu.LdmatrixOp)
)
"""Ops that all threads of a warp run together."""
Handler: TypeAlias = Callable[[Any, IRBuilder], list[SSAValue]]
"""What replaces an op: its new results."""


def convert_kernels(module: ModuleOp, convert: Callable[[gpu.GPUFuncOp, str], KernelFunction]) -> None:
    """Leave in a module the functions of its kernels alone. Raises: StepwellError `unsupported`, …"""
    found = [convert(each, name) for each, name in kernel_names(module).items()]
    made = [new for kernel in found for new in kernel.convert()]
    for old in list(module.body.block.ops):
        old.detach()
        old.erase(safe_erase=False)
    module.body.block.add_ops(made)


class KernelFunction(ABC):
    """A kernel of the `gpu` level during its conversion to a function of a vendor's GPUs."""

    vendor: ClassVar[str]
    """The maker of the GPUs, for errors."""
    addressed: ClassVar[tuple[type[Operation], ...]] = (gpu.AsyncCopyOp,)
    """Ops that stay until buffers have addresses."""
    key: ClassVar[str]
    """The attribute of functions that the host launches."""

    def __init__(self, kernel: gpu.GPUFuncOp, name: str, warp: int):
        """Args: `warp` is the number of threads that run in step."""
        self.kernel, self._name, self.warp = kernel, name, warp
        self._globals: dict[str, Operation] = {}
        self._parameters = parameters_of(kernel)
        self._shared_count = len(kernel.workgroup)
        self._memory = [*kernel.workgroup, *kernel.private]
        self._handlers: dict[type[Operation], Handler] = {
            **dict.fromkeys((gpu.ThreadIdOp, gpu.BlockIdOp, gpu.BlockDimOp, gpu.GridDimOp), self._position),
            gpu.GlobalIdOp: self._global_id,
            gpu.LaneIdOp: lambda op, at: [self.lane(at)],
            gpu.SubgroupSizeOp: lambda op, at: [at.materialize(warp)],
            gpu.SubgroupIdOp: self._subgroup,
            gpu.BarrierOp: self.barrier,
            gpu.ShuffleOp: lambda op, at: [
                *self.shuffled(op, at, op.mode.data, op.value, op.offset, op.width)
            ],
            gpu.SubgroupReduceOp: self._reduce,
            gpu.ReturnOp: self._return,
            gpu.DynamicSharedMemoryOp: self._dynamic,
            memref.AllocOp: self._alloc,
            scf.ParallelOp: self._parallel,
            **self.handlers(),
        }

    # The vendor's part

    @abstractmethod
    def position(self, op: str, axis: str, at: IRBuilder) -> SSAValue:
        """The index that an op has along an axis: `gpu.thread_id`, `gpu.block_dim`, …"""

    @abstractmethod
    def lane(self, at: IRBuilder) -> SSAValue:
        """The number of the thread in its warp, an index."""

    @abstractmethod
    def barrier(self, op: gpu.BarrierOp, at: IRBuilder) -> list[SSAValue]:
        """Let the threads of a block wait for each other, and see what the others have stored."""

    @abstractmethod
    def shuffled(
        self, op: Operation, at: IRBuilder, mode: str, value: SSAValue, offset: SSAValue, width: SSAValue
    ) -> tuple[SSAValue, SSAValue]:
        """The value of another lane, and whether there is one. Raises: StepwellError `unsupported`."""

    @abstractmethod
    def attributes(self, block: Sequence[int] | None) -> Mapping[str, Attribute]:
        """The attributes of a function with blocks of some size, beside `key`."""

    def handlers(self) -> Mapping[type[Operation], Handler]:
        """More ops that the vendor has."""
        return {}

    def convert(self) -> list[Operation]:
        """The function, after the globals that it needs."""
        for op in self.kernel.walk():
            if type(op) in _REQUIRED:
                self._expect_whole_warps(op)
        block, inputs = self.kernel.body.block, len(self.kernel.function_type.inputs)
        start = IRBuilder(InsertPoint.at_start(block), self.kernel.location)
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
        return [*self._globals.values(), self._function(block)]

    def _function(self, block: Block) -> func.FuncOp:
        """The function around the converted body."""
        attributes: list[DictionaryAttr] = []
        for parameter, value in zip(self._parameters, block.args, strict=True):
            flags: dict[str, Attribute] = {}
            if parameter.dim is not None:
                name = size_name(parameter.argument, parameter.dim)
                value.name_hint, flags[SIZE] = name, StringAttr(name)
            elif parameter.type == POINTER:
                flags["graph.dims"] = dims_of(memref_of(value), parameter.argument)
            attributes.append(DictionaryAttr(flags))
        body = Region()
        self.kernel.body.move_blocks(body)
        types = [value.type for value in block.args]
        function = func.FuncOp(self._name, (types, []), body, arg_attrs=ArrayAttr(attributes))
        function.attributes[self.key] = UnitAttr()
        function.attributes |= self.attributes(self.kernel.block_size)
        function.location = self.kernel.location
        return function

    def _convert_op(self, op: Operation) -> None:
        """Replace an op of the gpu level. Raises: StepwellError `unsupported-op`."""
        if (handler := self._handlers.get(type(op))) is None:
            if op.name.startswith("gpu.") and not isinstance(op, self.addressed):
                raise StepwellError("unsupported-op", op, f"{op.name} has no code for {self.vendor}")
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
        return self._in_shared(name, elements, "internal", type, at)

    def _dynamic(self, op: gpu.DynamicSharedMemoryOp, at: IRBuilder) -> list[SSAValue]:
        """Memory of a block that the launch passes: a global of another module, without a size."""
        name = f"{self._name}_dynamic"
        return [self._in_shared(name, llvm.LLVMArrayType(0, i8), "external", memref_of(op.result), at)]

    def _in_shared(
        self, name: str, elements: Attribute, linkage: str, type: MemRefType[Attribute], at: IRBuilder
    ) -> SSAValue:
        """A global in memory of the block, made once, by a generic pointer."""
        if name not in self._globals:
            made = llvm.GlobalOp(elements, name, linkage, SHARED, alignment=_SHARED_ALIGNMENT)
            made.location = self.kernel.location
            self._globals[name] = made
        space = llvm.LLVMPointerType(IntAttr(SHARED))
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

    def _position(self, op: Operation, at: IRBuilder) -> list[SSAValue]:
        axis = op.properties["dimension"]
        assert isinstance(axis, DimensionAttr)
        return [self.position(op.name, str(axis.data.value), at)]

    def _global_id(self, op: gpu.GlobalIdOp, at: IRBuilder) -> list[SSAValue]:
        names = (gpu.BlockIdOp.name, gpu.BlockDimOp.name, gpu.ThreadIdOp.name)
        block, size, thread = (self.position(name, str(op.dimension.data.value), at) for name in names)
        return [at.materialize(at.plus(at.times(block, size), thread))]

    def _subgroup(self, op: gpu.SubgroupIdOp, at: IRBuilder) -> list[SSAValue]:
        """The number of the thread in its block, by warps."""
        x, y, z = (self.position(gpu.ThreadIdOp.name, axis, at) for axis in "xyz")
        columns, rows = (self.position(gpu.BlockDimOp.name, axis, at) for axis in "xy")
        row = at.plus(at.times(z, rows), y)
        return [at.binary(arith.DivUIOp, at.plus(at.times(row, columns), x), self.warp)]

    # Threads together

    def _reduce(self, op: gpu.SubgroupReduceOp, at: IRBuilder) -> list[SSAValue]:
        """A reduction over the lanes of a warp, by halves. Raises: StepwellError `unsupported`."""
        kind = reduction(op)
        total, width = op.value, at.number(self.warp, i32)
        distance = self.warp // 2
        while distance:
            other, _ = self.shuffled(op, at, "xor", total, at.number(distance, i32), width)
            total = at.value(kind(total, other))
            distance //= 2
        return [total]

    def _expect_whole_warps(self, op: Operation) -> None:
        """Require all threads of each warp to be there. Raises: StepwellError `unsupported`."""
        size = self.kernel.block_size
        if size is None or prod(size) % self.warp:
            found = "unknown size" if size is None else f"{prod(size)} threads"
            message = f"{op.name} needs blocks of whole warps of {self.warp} threads, and they have {found}"
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
