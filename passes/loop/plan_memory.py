"""
`plan-memory`: the model's `@main` on buffers, every intermediate at an offset of one arena.

Before it, `@main` calls kernels on tensors; after it, on views of the arena, of the model's inputs, outputs
and weights. Reshapes become views and cost nothing; a result of the model is written where the caller wants
it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import cast

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects import func, memref
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
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects.extents import ExtentBuilder
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.types import DimsAttr, Tensor, WeightAttr
from stepwell.passes.loop.arena import ArenaPlan, plan_arena
from stepwell.passes.loop.main_buffers import (
    VIEWS,
    Buffer,
    KernelSignature,
    MainBuffers,
    analyse_main,
    is_on_buffers,
    symbols_of,
)
from stepwell.runtime.dims import Dim

_INDEX = IndexType()
_BYTES = MemRefType(i8, [DYNAMIC_INDEX])


@dataclass(frozen=True)
class PlanMemoryPass(ModulePass):
    """
    Give every intermediate of `@main` a place in one arena, and call the kernels on buffers.

    Needs `@main` to hold calls of kernels, constants and reshapes only, and the kernels (or their
    declarations) beside it; leaves kernels on tensors as declarations on buffers, kernels on buffers as they
    are. The arena's size stands in `sched.arena` as a dimension expression in bytes. `print` shows the plan
    on standard error (`--print-memory-plan`).
    Source: the greedy-by-size planner of passes/loop/arena.py; MLIR's one-shot bufferization for the form.
    """

    name = "plan-memory"

    print: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        functions = [f for f in op.ops if isinstance(f, func.FuncOp)]
        main = next((f for f in functions if f.sym_name.data == "main"), None)
        if main is None:
            return
        kernels = {f.sym_name.data: KernelSignature.of(f) for f in functions if f is not main}
        buffers = analyse_main(main, kernels)
        plan = plan_arena(buffers.intervals())
        _MainOnBuffers(main, buffers, plan).replace(op)
        if self.print:
            sys.stderr.write(plan_text(buffers, plan))


def plan_text(buffers: MainBuffers, plan: ArenaPlan) -> str:
    """The plan as a table for people: offset, size and lifetime of each buffer, the arena against the sum."""
    lines = [f"{'offset':>12} {'bytes':>12} {'from':>5} {'to':>5}  buffer"]
    for buffer, offset in zip(buffers.arena, plan.offsets, strict=True):
        lines.append(f"{offset!s:>12} {buffer.size!s:>12} {buffer.first:>5} {buffer.last:>5}  {buffer.name}")
    saved = ""
    if plan.total.is_static and plan.sum_of_sizes.is_static and plan.sum_of_sizes != 0:
        saved = f" ({100 * plan.total.value // plan.sum_of_sizes.value} %)"
    return "\n".join(lines) + f"\narena: {plan.total} bytes of {plan.sum_of_sizes} without sharing{saved}\n"


class _MainOnBuffers:
    """Builds the new `@main` beside the old one and takes its place."""

    def __init__(self, main: func.FuncOp, buffers: MainBuffers, plan: ArenaPlan):
        self.main, self.buffers, self.plan = main, buffers, plan
        self.symbols = symbols_of(main)
        self.globals: list[memref.GlobalOp] = []
        inputs, outputs = tensors_among(main.function_type.inputs), tensors_among(main.function_type.outputs)
        self.types = [*(memref_of(t) for t in (*inputs, *outputs)), _BYTES, *[_INDEX] * len(self.symbols)]
        self.block = Block(arg_types=self.types)
        self.inputs = self.block.args[: len(inputs)]
        self.outputs = self.block.args[len(inputs) : len(inputs) + len(outputs)]
        self.arena = self.block.args[len(inputs) + len(outputs)]
        index_args = self.block.args[len(inputs) + len(outputs) + 1 :]
        self.location = main_location(main)
        """Of the op whose buffers are being made."""
        self.builder = Builder(InsertPoint.at_end(self.block))
        self.builder.operation_insertion_handler.append(lambda op: adopt_location(op, self.location))
        self.extents = ExtentBuilder(self.builder, dict(zip(self.symbols, index_args, strict=True)))
        self.weight_of: dict[SSAValue, Operation] = {}
        self.memrefs: dict[SSAValue, SSAValue] = {}

    def replace(self, module: ModuleOp) -> None:
        for op in self.main.body.block.ops:
            self.location = (
                op.location if not isinstance(op.location, UnknownLoc) else main_location(self.main)
            )
            self._convert(op)
        for value, index in self.buffers.copies:
            view = self._shaped(self.outputs[index], self._memref(value).type, self.buffers.dims[value])
            self._insert(memref.CopyOp(self._memref(value), view))
        self._insert(func.ReturnOp())
        planned = func.FuncOp("main", FunctionType.from_lists(self.types, []), Region(self.block))
        planned.properties["arg_attrs"] = self._argument_dims()
        planned.attributes |= {
            "sched.main": UnitAttr(),
            "sched.inputs": IntegerAttr(len(self.inputs), i64),
            "sched.outputs": IntegerAttr(len(self.outputs), i64),
            "sched.symbols": ArrayAttr([StringAttr(s) for s in self.symbols]),
            "sched.arena": StringAttr(str(self.plan.total)),
        }
        planned.location = main_location(self.main)
        body = module.body.block
        for op in [op for op in body.ops if isinstance(op, func.FuncOp)]:
            if is_on_buffers(op):
                continue
            if op is not self.main:
                body.insert_op_before(declaration(op), op)
            op.detach()
            op.erase(safe_erase=False)
        body.add_ops([*self.globals, planned])

    def _argument_dims(self) -> ArrayAttr[DictionaryAttr]:
        """The dimensions of inputs and outputs by name, which their buffer types do not tell."""
        inputs = [a for a in self.main.args if isinstance(a.type, TensorType)]
        last = self.main.body.block.last_op
        assert last is not None
        dims = [self.buffers.dims[value] for value in (*inputs, *last.operands)]
        named = [DictionaryAttr({"graph.dims": DimsAttr.of(d)} if not all_static(d) else {}) for d in dims]
        return ArrayAttr([*named, *[DictionaryAttr({})] * (1 + len(self.symbols))])

    def _convert(self, op: Operation) -> None:
        match op:
            case func.CallOp():
                self._convert_call(op)
            case graph.ConstantOp():
                self._convert_constant(op)
            case _ if isinstance(op, VIEWS):
                # Made where it is used: each view is one op on the buffer itself.
                if (weight := self.weight_of.get(op.operands[0])) is not None:
                    self.weight_of[op.results[0]] = weight
            case _:
                pass  # the return: results are in place

    def _convert_constant(self, op: graph.ConstantOp) -> None:
        name = f"w{len(self.globals)}"
        type = memref_of(cast(Tensor, op.results[0].type))
        value = op.properties["value"]
        initial = UnitAttr() if isinstance(value, WeightAttr) else value
        held = memref.GlobalOp.get(StringAttr(name), type, initial, constant=UnitAttr(), alignment=64)
        held.attributes["sched.weight"] = value
        held.location = op.location
        self.globals.append(held)
        self.weight_of[op.results[0]] = self._insert(memref.GetGlobalOp(name, type))

    def _convert_call(self, op: func.CallOp) -> None:
        tensors = [self._memref(v) for v in (*op.arguments, *op.results) if isinstance(v.type, TensorType)]
        if (scratch := self.buffers.scratch.get(op)) is not None:
            tensors.append(self._arena_view(scratch, _BYTES, (scratch.size,)))
        names = dict(zip(_index_values(self.main), self.symbols, strict=True))
        symbols = [self.extents.extent(Dim.of(names[v])) for v in op.arguments if v in names]
        self._insert(func.CallOp(op.callee, [*tensors, *symbols], []))

    def _memref(self, value: SSAValue) -> SSAValue:
        """The buffer of a value, seen in the value's shape."""
        if value not in self.memrefs:
            buffer, dims = self.buffers.of[value], self.buffers.dims[value]
            type = memref_of(cast(Tensor, value.type))
            match buffer.kind:
                case "arena":
                    seen = self._arena_view(buffer, type, dims)
                case "input":
                    seen = self._shaped(self.inputs[buffer.index], type, dims)
                case "output":
                    seen = self._shaped(self.outputs[buffer.index], type, dims)
                case _:
                    seen = self._shaped(self.weight_of[value].results[0], type, dims)
            self.memrefs[value] = seen
        return self.memrefs[value]

    def _arena_view(self, buffer: Buffer, type: MemRefType[Attribute], dims: tuple[Dim, ...]) -> SSAValue:
        offset = self.extents.extent(self.plan.offsets[buffer.index])
        sizes = [
            self.extents.extent(d) for d, n in zip(dims, type.get_shape(), strict=True) if n == DYNAMIC_INDEX
        ]
        return self._insert(memref.ViewOp(self.arena, offset, sizes, type)).results[0]

    def _shaped(self, source: SSAValue, type: Attribute, dims: tuple[Dim, ...]) -> SSAValue:
        """A dense buffer seen in another shape."""
        if source.type == type:
            return source
        shaped = cast("MemRefType[Attribute]", type)
        strides = [Dim.of(1)]
        for dim in dims[:0:-1]:
            strides.insert(0, strides[0] * dim)
        cast_op = memref.ReinterpretCastOp.from_dynamic(
            source, [0], [self._size(d) for d in dims], [self._size(s) for s in strides[: len(dims)]], shaped
        )
        return self._insert(cast_op).results[0]

    def _size(self, dim: Dim) -> SSAValue | int:
        return dim.value if dim.is_static else self.extents.extent(dim)

    def _insert(self, op: Operation) -> Operation:
        self.builder.insert(op)
        return op


def main_location(main: func.FuncOp, op: Operation | None = None) -> LocationAttr:
    """The location of an op of `@main`; of `@main` itself, and by its name, where nothing nearer is known."""
    for known in (op, main):
        if known is not None and not isinstance(known.location, UnknownLoc):
            return known.location
    return NameLoc(StringAttr("main"), NoneAttr())


def memref_of(tensor: Tensor) -> MemRefType[Attribute]:
    """The dense buffer type of a tensor type."""
    return MemRefType(tensor.element_type, tensor.get_shape())


def all_static(dims: Iterable[Dim]) -> bool:
    """Whether all dimensions are numbers."""
    return all(d.is_static for d in dims)


def tensors_among(types: Iterable[Attribute]) -> list[Tensor]:
    """The tensor types among some types, in order."""
    return [cast(Tensor, t) for t in types if isinstance(t, TensorType)]


def declaration(kernel: func.FuncOp) -> func.FuncOp:
    """
    A kernel on tensors as the declaration that its bufferized form has: inputs, outputs, scratch, symbols.
    """
    inputs, outputs = kernel.function_type.inputs, kernel.function_type.outputs
    types: list[Attribute] = [memref_of(t) for t in (*tensors_among(inputs), *tensors_among(outputs))]
    if "sched.scratch" in kernel.attributes:
        types.append(_BYTES)
    types += [_INDEX] * len(symbols_of(kernel))
    declared = func.FuncOp.external(kernel.sym_name.data, types, [])
    declared.attributes |= kernel.attributes
    return declared


def _index_values(main: func.FuncOp) -> list[SSAValue]:
    return [a for a in main.args if not isinstance(a.type, TensorType)]
