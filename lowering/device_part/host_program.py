"""The functions of the host on the gpu level, evaluated with sizes as symbols: a list of commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, cast

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, FloatAttr, IntegerAttr, MemRefType, ModuleOp, NoneAttr
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects import gpu
from stepwell.dialects.types import dtype_of
from stepwell.lowering.bufferize import OF_SIZES
from stepwell.lowering.refused_part import Refusals
from stepwell.runtime.devices.commands import ARENA, INDEX, Command, Copy, Launch, Number, Slice
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

Value: TypeAlias = "Dim | float | Slice | PutOff"
"""An index, a constant number, a buffer, or what commands cannot say."""
ALIGNMENT = 256
"""Arrays begin at multiples of it: bindings of WebGPU ask for it."""
_VIEWS = (memref.CastOp, memref.CollapseShapeOp, memref.ExpandShapeOp)


class PutOff(NamedTuple):
    """A value without a place in memory so far, which may turn out unused."""

    op: Operation
    shape: tuple[Dim, ...] | None
    """The shape of a view; None where it is not known."""


class HostProgram(NamedTuple):
    """The commands of a module's `@main`, without the copies of its inputs and outputs."""

    commands: list[Command]
    arena: Dim
    """The bytes of the arena, memory of the functions included."""


@dataclass
class _Walk:
    """The evaluation of functions of the host."""

    functions: Mapping[str, func.FuncOp]
    globals: Mapping[str, Slice]
    begin: Dim
    """The first byte of the functions' memory in the arena."""
    values: dict[SSAValue, Value] = field(default_factory=dict[SSAValue, Value])
    commands: list[Command] = field(default_factory=list[Command])
    refusals: Refusals = field(default_factory=Refusals)
    end: Dim = field(default_factory=lambda: Dim.of(0))
    """The bytes of that memory in use."""
    operations: Dim | None = None
    """What is counted so far of the next launch."""
    peak: Dim = field(default_factory=lambda: Dim.of(0))
    """The most bytes in use at a time: without `begin`, or a maximum would repeat its text."""

    def call(self, function: func.FuncOp, arguments: Sequence[Value]) -> None:
        """Evaluate the body of a function; what it refuses is noted."""
        self.values |= dict(zip(function.body.block.args, arguments, strict=True))
        begin = self.end
        for op in function.body.block.ops:
            try:
                self._evaluate(op)
            except StepwellError as error:
                self.refusals.add(error)
                self.values |= dict.fromkeys(op.results, PutOff(op, None))
        self.end, self.operations = begin, None

    def dim(self, value: SSAValue) -> Dim:
        """An index."""
        found = self._known(value)
        assert isinstance(found, Dim)
        return found

    def slice(self, value: SSAValue) -> Slice:
        """A buffer."""
        found = self._known(value)
        assert isinstance(found, Slice)
        return found

    def _known(self, value: SSAValue) -> Dim | float | Slice:
        """A value that commands can say. Raises: StepwellError `not-on-device` for another one."""
        found = self.values[value]
        if isinstance(found, PutOff):
            raise StepwellError("not-on-device", found.op, f"{found.op.name} is computed by the host alone")
        return found

    def _evaluate(self, op: Operation) -> None:
        match op:
            case arith.ConstantOp():
                self.values[op.result] = _constant(op)
            case arith.IndexCastOp():
                self.values[op.result] = self.values[op.input]
            case memref.GetGlobalOp():
                self.values[op.memref] = self.globals[op.name_.string_value()]
            case memref.DimOp():
                self.values[op.result] = self._size(op)
            case _ if op.results and any(isinstance(self.values[value], PutOff) for value in op.operands):
                self._put_off(op)
            case memref.ViewOp():
                self.values[op.results[0]] = self._view(op)
            case memref.AllocaOp() | memref.AllocOp():
                self.values[op.memref] = self._allocated(op)
            case memref.DeallocOp():
                pass
            case memref.CopyOp():
                self.commands.append(Copy(self.slice(op.source), self.slice(op.destination)))
            case func.CallOp():
                callee = self.functions[op.callee.string_value()]
                self.call(callee, [self.values[value] for value in op.operands])
            case gpu.LaunchFuncOp():
                self._launch(op)
            case gpu.WorkOp():
                self._count(self.values[op.operations])
            case func.ReturnOp():
                pass
            case memref.ReinterpretCastOp():
                self._reinterpret(op)
            case _ if isinstance(op, _VIEWS):
                self.values[op.results[0]] = self._reshaped(op)
            case _ if op.name in OF_SIZES and all(isinstance(self.values[v], Dim) for v in op.operands):
                a, b = (self.dim(value) for value in op.operands)
                self.values[op.results[0]] = OF_SIZES[op.name](a, b)
            case _:
                self._put_off(op)

    def _put_off(self, op: Operation) -> None:
        """Refuse an op where a command needs its results: kernels repeat views and loads themselves."""
        if not op.results or op.regions:
            raise StepwellError("not-on-device", op, f"{op.name} is computed by the host alone")
        shape: tuple[Dim, ...] | None = None
        if isinstance(op, memref.SubviewOp | memref.ExpandShapeOp):
            static = op.static_sizes if isinstance(op, memref.SubviewOp) else op.static_output_shape
            sizes = op.sizes if isinstance(op, memref.SubviewOp) else op.output_shape
            shape = self._shape(static.get_values(), sizes)
        self.values |= dict.fromkeys(op.results, PutOff(op, shape))

    def _shape(self, static: Sequence[int], sizes: Sequence[SSAValue]) -> tuple[Dim, ...] | None:
        """Sizes, the open ones by their values; None where one is not known."""
        operands = iter(sizes)
        found = [self.values[next(operands)] if n == DYNAMIC_INDEX else Dim.of(n) for n in static]
        known = [each for each in found if isinstance(each, Dim)]
        return tuple(known) if len(known) == len(found) else None

    def _size(self, op: memref.DimOp) -> Value:
        """A size of a buffer, or of a view."""
        source = self.values[op.source]
        shape = source.shape if isinstance(source, Slice | PutOff) else None
        return PutOff(op, None) if shape is None else shape[self.dim(op.index).value]

    def _launch(self, op: gpu.LaunchFuncOp) -> None:
        counted, self.operations = self.operations, None  # of this launch, also where it is refused
        grid, block = (tuple(self.dim(value) for value in sizes) for sizes in (op.grid, op.block))
        shared = Dim.of(0) if op.shared_bytes is None else self.dim(op.shared_bytes)
        arguments: list[Slice | Number] = []
        for value in op.arguments:
            found = self._known(value)
            if isinstance(found, Slice):
                arguments.append(found)
            else:
                dtype = INDEX if isinstance(found, Dim) else dtype_of(value.type).name
                arguments.append(Number(dtype, found))
        name = op.function().sym_name.data
        self.commands.append(Launch(name, grid, block, shared, tuple(arguments), counted))

    def _count(self, operations: Value) -> None:
        """Add operations of the next launch, where they are known."""
        if isinstance(operations, Dim):
            self.operations = operations if self.operations is None else self.operations + operations

    def _allocated(self, op: memref.AllocaOp | memref.AllocOp) -> Slice:
        """Memory of a function, which ends with it."""
        sizes = iter(op.dynamic_sizes)
        made = _typed(op.memref.type, ARENA, self.begin + self.end, lambda: self.dim(next(sizes)))
        self.end = self.end + made.nbytes.ceildiv(ALIGNMENT) * ALIGNMENT
        self.peak = self.peak.maximum(self.end)
        return made

    def _view(self, op: memref.ViewOp) -> Slice:
        """A typed array at an offset of bytes."""
        source, offset = self.slice(op.operands[0]), self.dim(op.operands[1])
        sizes = iter(op.operands[2:])
        return _typed(op.results[0].type, source.space, source.offset + offset, lambda: self.dim(next(sizes)))

    def _reinterpret(self, op: memref.ReinterpretCastOp) -> None:
        """A dense array with other sizes; other views are put off."""
        shape = self._shape(op.static_sizes.get_values(), op.sizes)
        type = op.result.type
        if shape is None or type.layout != NoneAttr() or any(op.static_offsets.get_values()):
            self._put_off(op)
        else:
            self.values[op.result] = self.slice(op.source)._replace(shape=shape)

    def _reshaped(self, op: Operation) -> Slice:
        """A dense array with another shape. Raises: StepwellError `not-on-device` for others."""
        source, type = self.slice(op.operands[0]), cast("MemRefType[Attribute]", op.results[0].type)
        if type.layout != NoneAttr():
            raise StepwellError("not-on-device", op, f"the host makes a view: {type}")
        if isinstance(op, memref.ExpandShapeOp):
            shape = self._shape(op.static_output_shape.get_values(), op.output_shape)
            if shape is not None:
                return source._replace(shape=shape)
        open_sizes = [n for n in type.get_shape() if n == DYNAMIC_INDEX]
        if isinstance(op, memref.CastOp):
            sizes = iter(source.shape)
            shape = tuple(next(sizes) if n == DYNAMIC_INDEX else Dim.of(n) for n in type.get_shape())
            return source._replace(shape=source.shape if len(shape) == len(source.shape) else shape)
        if len(open_sizes) > 1:
            raise StepwellError("not-on-device", op, f"several sizes of {type} are open")
        total, known = Dim.of(1), Dim.of(1)
        for size in source.shape:
            total = total * size
        for n in type.get_shape():
            known = known if n == DYNAMIC_INDEX else known * n
        shape = tuple(total // known if n == DYNAMIC_INDEX else Dim.of(n) for n in type.get_shape())
        return source._replace(shape=shape)


def host_program(
    module: ModuleOp, main: func.FuncOp, arguments: Sequence[Value], weights: Mapping[str, Slice], arena: Dim
) -> HostProgram:
    """
    The commands of `@main`, called with buffers in the arena and sizes.

    Args: `weights` are those of the module's globals; `arena` is the first byte that is free.
    Raises: RefusedPart with the ops that only compiled code of the host has.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, func.FuncOp)}
    begin = arena.ceildiv(ALIGNMENT) * ALIGNMENT
    walk = _Walk(functions, weights, begin)
    walk.call(main, arguments)
    walk.refusals.expect_none()
    return HostProgram(walk.commands, walk.begin + walk.peak)


def array_at(type: Attribute, space: str, offset: Dim, dims: Sequence[Dim]) -> Slice:
    """The slice of a buffer's type with some dimensions."""
    element = cast("MemRefType[Attribute]", type).element_type
    return Slice(space, offset, dtype_of(element).name, tuple(dims))


def _typed(type: Attribute, space: str, offset: Dim, size: Callable[[], Dim]) -> Slice:
    shape = cast("MemRefType[Attribute]", type).get_shape()
    return array_at(type, space, offset, [size() if n == DYNAMIC_INDEX else Dim.of(n) for n in shape])


def _constant(op: arith.ConstantOp) -> Value:
    """The value of a constant number; others are of the CPU."""
    if isinstance(op.value, IntegerAttr):
        return Dim.of(op.value.value.data)
    if isinstance(op.value, FloatAttr):
        return float(op.value.value.data)
    return PutOff(op, None)
