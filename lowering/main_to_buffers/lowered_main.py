"""Builds `@main` on buffers: converts each op of `@main` on tensors, in order, with the planned buffers."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import lru_cache
from math import prod
from typing import cast

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    LocationAttr,
    MemRefType,
    ModuleOp,
    NameLoc,
    NoneAttr,
    StringAttr,
    TensorType,
    UnitAttr,
    UnknownLoc,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph, runtime_calls
from stepwell.dialects.graph.host import is_opaque
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.runtime_calls import BYTES
from stepwell.dialects.sched_kernel import is_kernel, is_on_buffers, kernel_of, symbols_of
from stepwell.dialects.types import DimsAttr, Tensor, WeightAttr, element_bytes
from stepwell.lowering.main_to_buffers.index_checks import check_indices
from stepwell.lowering.main_to_buffers.main import (
    VIEWS,
    Buffer,
    MainBuffers,
    fallible_ops,
    inputs_of,
    integer_of,
    published_symbols,
)
from stepwell.lowering.main_to_buffers.regions import RegionsOnBuffers
from stepwell.passes.analysis.arena import ArenaPlan
from stepwell.runtime.dims import Dim
from stepwell.runtime.interface import MAX_TENSOR_BYTES

_INDEX = IndexType()
LARGEST_NUMBER = 1 << 60
"""The bound to which signed numbers are clamped before sizes are computed from them."""


class MainOnBuffers:
    """Builds `@main` on buffers from `@main` on tensors, and replaces it."""

    def __init__(self, main: func.FuncOp, buffers: MainBuffers, plan: ArenaPlan):
        self.main, self.buffers, self.plan = main, buffers, plan
        self.symbols = symbols_of(main)
        self.published = published_symbols(main)
        self.rows = {op: row for row, op in enumerate(fallible_ops(main), start=1)}
        self.callees = 0
        self.slots = 0
        self.globals: list[memref.GlobalOp] = []
        inputs, outputs = inputs_of(main), returned_values(main)
        buffer_types = [self._argument_type(value) for value in (*inputs, *outputs)]
        self.types: list[Attribute] = [*buffer_types, BYTES, *[_INDEX] * len(self.symbols)]
        self.block = Block(arg_types=self.types)
        self.inputs = self.block.args[: len(inputs)]
        self.outputs = self.block.args[len(inputs) : len(inputs) + len(outputs)]
        self.arena = self.block.args[len(inputs) + len(outputs)]
        index_args = self.block.args[len(inputs) + len(outputs) + 1 :]
        self.symbol_values: dict[str, SSAValue] = dict(zip(self.symbols, index_args, strict=True))
        self.builder = IRBuilder(
            InsertPoint.at_end(self.block), main_location(main), symbols=self.symbol_values
        )
        """Inserts with the location of the op that is being converted."""
        self.weight_of: dict[SSAValue, Operation] = {}
        self.memrefs: dict[SSAValue, SSAValue] = {}
        self.views: dict[Hashable, SSAValue] = {}
        """The buffers of a shape in the arena or in allocated memory: values share them in turn."""
        self.memory: dict[int, SSAValue] = {}
        """The bytes of each buffer that is neither an argument nor in the arena, by the buffer's identity."""

    def convert_block(self, block: Block) -> None:
        """Convert the ops of a block, at the builder's insertion point."""
        for op in block.ops:
            self.builder.location = main_location(self.main, op)
            self._convert(op)

    def replace(self, module: ModuleOp) -> None:
        """
        Build the body, copy results to outputs, and replace `@main` and kernels on tensors in the module.
        """
        self.convert_block(self.main.body.block)
        for value, index in self.buffers.copies:
            source = self.memref(value)
            if self.buffers.has_late_shape(value):
                type = memref_of(cast(Tensor, value.type))
                memory = self._allocated(index, self.buffers.of[value].size)
                view = self._view(memory, type, self.buffers.dims[value])
            else:
                view = self._shaped(self.outputs[index], source.type, self.buffers.dims[value])
            self.builder.insert(memref.CopyOp(source, view))
        # The new function
        self.builder.insert(func.ReturnOp())
        planned = func.FuncOp("main", FunctionType.from_lists(self.types, []), Region(self.block))
        planned.properties["arg_attrs"] = self._argument_dims()
        planned.attributes |= {
            "sched.main": UnitAttr(),
            "sched.inputs": IntegerAttr(len(self.inputs), i64),
            "sched.outputs": IntegerAttr(len(self.outputs), i64),
            "sched.symbols": ArrayAttr([StringAttr(s) for s in self.symbols]),
            "sched.published": ArrayAttr([StringAttr(s) for s in self.published]),
            "sched.arena": StringAttr(str(self.plan.total)),
            "sched.slots": IntegerAttr(self.slots, i64),
        }
        planned.location = main_location(self.main)
        # The module: functions on tensors are replaced by declarations
        body = module.body.block
        for op in [op for op in body.ops if isinstance(op, func.FuncOp)]:
            if is_kernel(op) and is_on_buffers(op):
                continue
            if op is not self.main:
                body.insert_op_before(declaration(op), op)
            op.detach()
            op.erase(safe_erase=False)
        body.add_ops([*self.globals, planned])

    def _argument_type(self, value: SSAValue) -> MemRefType[Attribute]:
        """The type of the caller's buffer for a value; bytes if the caller cannot know the size."""
        return BYTES if self._is_placeholder(value) else memref_of(cast(Tensor, value.type))

    def _is_placeholder(self, value: SSAValue) -> bool:
        """Whether a value is an object or has a size that depends on data: the caller has no buffer of it."""
        return is_opaque(value.type) or self.buffers.has_late_shape(value)

    def _argument_dims(self) -> ArrayAttr[DictionaryAttr]:
        """The dimensions of inputs and outputs by name, which their memref types lack."""
        values = (*inputs_of(self.main), *returned_values(self.main))
        dims = [() if self._is_placeholder(v) else self.buffers.dims[v] for v in values]
        named = [DictionaryAttr({"graph.dims": DimsAttr.of(d)} if not all_static(d) else {}) for d in dims]
        return ArrayAttr([*named, *[DictionaryAttr({})] * (1 + len(self.symbols))])

    def _convert(self, op: Operation) -> None:
        """Convert one op of `@main`."""
        match op:
            case func.CallOp():
                self._convert_call(op)
            case graph.HostCallOp():
                self._convert_host_call(op)
            case graph.BindSizesOp():
                self._convert_bound_sizes(op)
            case graph.DefineSizesOp():
                for dim, (name, _) in zip(op.dims.get(), defined_symbols(op), strict=True):
                    self.define(name, self._checked_size(op, self.builder.extent(dim)))
            case graph.AssertOp() if op in self.rows:
                found, expected = (self.builder.extent(Dim.of(side.data)) for side in (op.lhs, op.rhs))
                equal = self.builder.value(arith.CmpiOp(found, expected, "eq"))
                self.builder.insert(runtime_calls.CheckOp(equal, self.rows[op], found, expected))
            case graph.CheckIndicesOp():
                dims = self.buffers.dims[op.indices]
                memory = self.memref(op.indices)
                total = prod(dims, start=Dim.of(1))
                length = total.value if total.is_static else DYNAMIC_INDEX
                element = cast(Tensor, op.indices.type).element_type
                flat = self._shaped(memory, MemRefType(element, [length]), (total,))
                check_indices(op, flat, dims, self.rows[op], self.builder)
            case graph.ConstantOp():
                self._convert_constant(op)
            case graph.ControlFlowOp():
                RegionsOnBuffers(self).convert(op)
            case _ if isinstance(op, VIEWS):
                # Created at each use: every view is one op on the buffer itself.
                if (weight := self.weight_of.get(op.operands[0])) is not None:
                    self.weight_of[op.results[0]] = weight
            case _:
                pass  # the return: results are already in the outputs

    def _convert_constant(self, op: graph.ConstantOp) -> None:
        """A constant as a `memref.global` that names its weight."""
        name = f"w{len(self.globals)}"
        type = memref_of(cast(Tensor, op.results[0].type))
        value = op.properties["value"]
        initial = UnitAttr() if isinstance(value, WeightAttr) else value
        global_op = memref.GlobalOp.get(StringAttr(name), type, initial, constant=UnitAttr(), alignment=64)
        global_op.attributes["sched.weight"] = value
        global_op.location = op.location
        self.globals.append(global_op)
        self.weight_of[op.results[0]] = self.builder.insert(memref.GetGlobalOp(name, type))

    def _convert_call(self, op: func.CallOp) -> None:
        """A kernel call with buffers, scratch and the values of the kernel's symbols."""
        tensors = [self.memref(v) for v in (*op.arguments, *op.results) if isinstance(v.type, TensorType)]
        if (scratch := self.buffers.scratch.get(op)) is not None:
            tensors.append(self._placed(scratch, BYTES, (scratch.size,)))
        names = self.buffers.symbols
        symbols = [self.builder.extent(Dim.of(names[v])) for v in op.arguments if v in names]
        self.builder.insert(
            func.CallOp.create(operands=[*tensors, *symbols], properties={"callee": op.callee})
        )

    def _convert_host_call(self, op: graph.HostCallOp) -> None:
        """
        A host call with one number per object, and the address and dimensions per tensor; unknown ones are
        results.
        """
        numbers: list[SSAValue] = []
        reads: dict[SSAValue, int] = {}
        own = dict(defined_symbols(op))
        for value in (*op.arguments, *op.values):
            if (index := self.buffers.objects.get(value)) is not None:
                numbers.append(self.builder.extent(index))
                continue
            if makes := value in op.results and self.buffers.of[value].kind == "host":
                reads[value] = len(numbers)
            numbers.append(self.builder.extent(0) if makes else self.memref(value))
            for dim in self.buffers.dims[value]:
                if str(dim) in own:
                    reads.setdefault(own[str(dim)], len(numbers))
                numbers.append(self.builder.extent(-1 if dim.symbols() & own.keys() else dim))
        types = [BYTES if isinstance(value.type, TensorType) else _INDEX for value in reads]
        call = runtime_calls.HostCallOp(self.callees, numbers, list(reads.values()), types)
        self.callees += 1
        self.builder.insert(call)
        for value, result in zip(reads, call.results, strict=True):
            if isinstance(value.type, TensorType):
                self.memory[id(self.buffers.of[value])] = result
            else:
                self.define(self.buffers.symbols[value], result)

    def _convert_bound_sizes(self, op: graph.BindSizesOp) -> None:
        """
        Load the elements of a tensor as sizes, each checked, or split into its positive and negative part.
        """
        memory = self.memref(op.input)
        rank = len(self.buffers.dims[op.input])
        names = [name for name, _ in defined_symbols(op)]
        step = 1 if op.signed is None else 2
        for i in range(0, len(names), step):
            indices = [self.builder.extent(i // step)] * rank
            loaded = self.builder.value(memref.LoadOp.get(memory, indices))
            size = self.builder.value(arith.IndexCastOp(loaded, _INDEX))
            if op.signed is None:
                self.define(names[i], self._checked_size(op, size))
                continue
            # Far below what overflows; a request for that much means everything.
            b = self.builder
            bounded = b.least(b.most(size, -LARGEST_NUMBER), LARGEST_NUMBER)
            self.define(names[i], b.materialize(b.most(bounded, 0)))
            self.define(names[i + 1], b.materialize(b.most(b.minus(0, bounded), 0)))

    def _checked_size(self, op: Operation, size: SSAValue) -> SSAValue:
        """A size with a run-time check that it is not negative and at most `MAX_TENSOR_BYTES`."""
        limit = self.builder.extent(MAX_TENSOR_BYTES)
        fits = self.builder.value(arith.CmpiOp(size, limit, "ule"))
        self.builder.insert(runtime_calls.CheckOp(fits, self.rows[op], size, limit))
        return size

    def define(self, name: str, value: SSAValue) -> None:
        """Define a symbol's value for the following ops; publish it if outputs depend on it."""
        self.symbol_values[name] = value
        if name in self.published:
            index = len(self.symbols) + self.published.index(name)
            self.builder.insert(runtime_calls.PublishOp(index, value))

    def memref(self, value: SSAValue) -> SSAValue:
        """The buffer of a value, in the value's shape."""
        if value not in self.memrefs:
            buffer, dims = self.buffers.of[value], self.buffers.dims[value]
            type = memref_of(cast(Tensor, value.type))
            if buffer.kind == "weight":
                self.memrefs[value] = self._shaped(self.weight_of[value].results[0], type, dims)
            else:
                self.memrefs[value] = self.seen(buffer, type, dims)
        return self.memrefs[value]

    def seen(self, buffer: Buffer, type: MemRefType[Attribute], dims: tuple[Dim, ...]) -> SSAValue:
        """A buffer that is not a weight as a memref of some shape."""
        match buffer.kind:
            case "input":
                return self._shaped(self.inputs[buffer.index], type, dims)
            case "output" if not buffer.is_allocated:
                return self._shaped(self.outputs[buffer.index], type, dims)
            case _:
                return self._placed(buffer, type, dims)

    def _placed(self, buffer: Buffer, type: MemRefType[Attribute], dims: tuple[Dim, ...]) -> SSAValue:
        """A buffer in the arena, or in memory allocated at its first use."""
        if buffer.kind == "arena":
            return self._view(self.arena, type, dims, self.plan.offsets[buffer.index])
        if id(buffer) not in self.memory:  # at the op that writes it, or at the start or end of a region
            size = prod(dims, start=Dim.of(element_bytes(type.element_type)))
            self.memory[id(buffer)] = self._allocated(buffer.index, size)
        return self._view(self.memory[id(buffer)], type, dims)

    def _allocated(self, slot: int, size: Dim) -> SSAValue:
        """Run-time memory of some size in a slot."""
        self.slots = max(self.slots, slot + 1)
        return self.builder.value(runtime_calls.AllocateOp(slot, self.builder.extent(size)))

    def _view(
        self, memory: SSAValue, type: MemRefType[Attribute], dims: tuple[Dim, ...], offset: Dim | int = 0
    ) -> SSAValue:
        """Bytes, from an offset on, as a dense buffer of a shape."""
        shift = self.builder.extent(offset)
        sizes = [
            self.builder.extent(d) for d, n in zip(dims, type.get_shape(), strict=True) if n == DYNAMIC_INDEX
        ]
        key = memory, shift, tuple(sizes), type
        if (known := self.views.get(key)) is None:
            known = self.views[key] = self.builder.value(memref.ViewOp(memory, shift, sizes, type))
        return known

    def _shaped(self, source: SSAValue, type: Attribute, dims: tuple[Dim, ...]) -> SSAValue:
        """A dense buffer reinterpreted in another shape."""
        if source.type == type:
            return source
        shaped = cast("MemRefType[Attribute]", type)
        sizes = [self.builder.size(dim) for dim in dims]
        strides: list[Index] = [1]
        for size in sizes[:0:-1]:
            strides.insert(0, self.builder.times(strides[0], size))
        cast_op = memref.ReinterpretCastOp.from_dynamic(source, [0], sizes, strides[: len(dims)], shaped)
        return self.builder.value(cast_op)


def main_facts(main: func.FuncOp) -> dict[str, object]:
    """The facts of a planned `@main` for the runtime: bytes of the arena, number of slots."""
    arena, slots = main.attributes["sched.arena"], main.attributes["sched.slots"]
    return {"arena": cast(StringAttr, arena).data, "slots": integer_of(slots)}


def main_location(main: func.FuncOp, op: Operation | None = None) -> LocationAttr:
    """The location of an op of `@main`; if unknown, that of `@main`, else its name."""
    for known in (op, main):
        if known is not None and not isinstance(known.location, UnknownLoc):
            return known.location
    return NameLoc(StringAttr("main"), NoneAttr())


def returned_values(main: func.FuncOp) -> Sequence[SSAValue]:
    """The operands of the return of `@main`."""
    last = main.body.block.last_op
    assert isinstance(last, func.ReturnOp)
    return last.operands


def memref_of(tensor: Tensor) -> MemRefType[Attribute]:
    """The dense buffer type of a tensor type."""
    return _dense(tensor.element_type, tensor.get_shape())


@lru_cache(maxsize=4096)
def _dense(element: Attribute, shape: tuple[int, ...]) -> MemRefType[Attribute]:
    return MemRefType(element, shape)


def all_static(dims: Iterable[Dim]) -> bool:
    """Whether all dimensions are numbers."""
    return all(d.is_static for d in dims)


def tensors_among(types: Iterable[Attribute]) -> list[Tensor]:
    """The tensor types among some types, in order."""
    return [cast(Tensor, t) for t in types if isinstance(t, TensorType)]


def declaration(kernel: func.FuncOp) -> func.FuncOp:
    """The declaration of a kernel on tensors in its bufferized form: inputs, outputs, scratch, symbols."""
    inputs, outputs = kernel.function_type.inputs, kernel.function_type.outputs
    types: list[Attribute] = [memref_of(t) for t in (*tensors_among(inputs), *tensors_among(outputs))]
    if (interface := kernel_of(kernel)) is not None and interface.scratch_bytes != 0:
        types.append(BYTES)
    types += [_INDEX] * len(symbols_of(kernel))
    declared = func.FuncOp.external(kernel.sym_name.data, types, [])
    declared.attributes |= kernel.attributes
    return declared
