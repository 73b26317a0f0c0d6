"""The ops of `@main` at level 2 that are ours, as ops of upstream MLIR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, cf, tensor
from xdsl.dialects.builtin import (
    AffineMapAttr,
    ArrayAttr,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IntegerType,
    ModuleOp,
    StringAttr,
    TensorType,
    UnitAttr,
    i32,
)
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.dialects.linalg import ops as linalg
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects.ir_builder import INDEX, Index, IRBuilder
from stepwell.dialects.sched_kernel import symbols_of
from stepwell.dialects.tensor_ir.slices import Slice, insert_slice
from stepwell.dialects.tensor_ir.upstream_marks import ASSERT, CONSTANT, VIEW, VIEW_OF, resource_name
from stepwell.dialects.types import WeightAttr, dims_of, tensor_of
from stepwell.passes.upstream.control_flow import is_replaced, replace_control_flow, sizes_from_tensors
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore


class MainOps:
    """
    The rewriting of a function on tensors.

    Args: `module` gets declarations of host functions.
    """

    def __init__(self, module: ModuleOp, function: FuncOp, weights: WeightStore):
        self._module, self._function, self._weights = module, function, weights
        names = symbols_of(function)
        block = function.body.block
        given = block.args[len(block.args) - len(names) :]
        self._symbols: dict[str, SSAValue] = dict(zip(names, given, strict=True))

    def rewrite(self) -> None:
        """Replace our ops, in order."""
        self._rewrite(self._function.body.block)

    def _rewrite(self, block: Block) -> None:
        """Replace our ops of a block, those of regions before the op around them."""
        for op in list(block.ops):
            match op:
                case graph.ConstantOp():
                    self._constant(op)
                case graph.ReshapeOp() | graph.ExpandDimsOp() | graph.SqueezeOp():
                    self._view(op)
                case graph.WordsOp():
                    self._words(op)
                case graph.AssertOp():
                    self._assert(op)
                case graph.CheckAccessesOp() | graph.CheckIndicesOp() | graph.CheckOffsetsOp():
                    op.detach()  # what reads at the indices has no bounds of its own upstream
                    op.erase()
                case graph.BindSizesOp():
                    self._bind_sizes(op)
                case graph.DefineSizesOp():
                    self._define_sizes(op)
                case graph.HostCallOp():
                    self._host_call(op)
                case graph.InsertSliceOp():
                    self._insert_slice(op)
                case graph.ControlFlowOp():
                    self._control_flow(op)
                case _:
                    pass

    def _builder(self, op: Operation) -> IRBuilder:
        return IRBuilder(InsertPoint.before(op), op.location, symbols=self._symbols)

    def _constant(self, op: graph.ConstantOp) -> None:
        """A constant as `arith.constant`; the bytes of a weight are a resource named by its hash."""
        type, value = tensor_of(op.result), op.properties["value"]
        if isinstance(value, WeightAttr):
            kept, value = value, DenseResourceAttr.from_params(resource_name(value.hash.data), type)
        else:
            kept = UnitAttr()
        made = arith.ConstantOp.create(result_types=[type], properties={"value": value})
        made.attributes[CONSTANT] = kept
        self._replace(op, [made])

    def _view(self, op: graph.ReshapeOp | graph.ExpandDimsOp | graph.SqueezeOp) -> None:
        """A view as `tensor.reshape` to its sizes."""
        builder, type = self._builder(op), tensor_of(op.result)
        sizes = self._sizes(op, builder)
        shape_type = TensorType(INDEX, [len(sizes)])
        if all(isinstance(size, int) for size in sizes):
            numbers = DenseIntOrFPElementsAttr.from_list(shape_type, cast("list[int]", sizes))
            shape = builder.value(
                arith.ConstantOp.create(result_types=[shape_type], properties={"value": numbers})
            )
        else:
            values = [builder.materialize(size) for size in sizes]
            shape = builder.value(tensor.FromElementsOp.create(operands=values, result_types=[shape_type]))
        made = tensor.ReshapeOp.create(operands=[op.operands[0], shape], result_types=[type])
        made.attributes[VIEW] = StringAttr(op.name)
        made.attributes[VIEW_OF] = op.properties["shape" if isinstance(op, graph.ReshapeOp) else "axes"]
        self._replace(op, [made])

    def _sizes(self, op: graph.ReshapeOp | graph.ExpandDimsOp | graph.SqueezeOp, b: IRBuilder) -> list[Index]:
        """The sizes of a view: dimensions of the shape, or moved dimensions of the operand."""
        if isinstance(op, graph.ReshapeOp):
            if op.shape is None:
                raise StepwellError(
                    "unsupported-op", op, "no counterpart in upstream MLIR for a shape in data"
                )
            return [b.size(dim) for dim in op.shape.get()]
        given, axes = self._sizes_of(op.operands[0], b), op.axes.get_values()
        if isinstance(op, graph.SqueezeOp):
            return [size for axis, size in enumerate(given) if axis not in axes]
        rest = iter(given)
        return [1 if axis in axes else next(rest) for axis in range(len(given) + len(axes))]

    def _sizes_of(self, value: SSAValue, builder: IRBuilder) -> list[Index]:
        """The sizes of a tensor, open ones by `tensor.dim`."""
        return [
            dim.value
            if dim.is_static
            else builder.value(
                tensor.DimOp.create(operands=[value, builder.extent(axis)], result_types=[INDEX])
            )
            for axis, dim in enumerate(dims_of(value.type))
        ]

    def _words(self, op: graph.WordsOp) -> None:
        """Packed elements, each from its shifted parts, as a `linalg.generic`."""
        builder, type, parts = self._builder(op), tensor_of(op.result), op.parts
        sizes = self._sizes_of(op.input, builder)
        last = sizes[-1] // parts if isinstance(sizes[-1], int) else builder.quotient(sizes[-1], parts)
        empty = builder.empty(i32, [*sizes[:-1], last])
        rank = len(sizes)
        block = Block(arg_types=[i32])
        inner = IRBuilder(InsertPoint.at_end(block), op.location)
        places = [inner.value(linalg.IndexOp(axis)) for axis in range(rank)]
        total: SSAValue | None = None
        for part in range(parts):
            at = inner.materialize(inner.plus(inner.times(places[-1], parts), part))
            element = inner.value(tensor.ExtractOp(op.input, [*places[:-1], at], _signless(op.input)))
            wide = inner.value(arith.ExtUIOp(element, i32))
            shift = inner.value(arith.ConstantOp.from_int_and_width(part * 32 // parts, i32))
            moved = inner.value(arith.ShLIOp(wide, shift))
            total = moved if total is None else inner.value(arith.OrIOp(total, moved))
        assert total is not None
        inner.insert(linalg.YieldOp(total))
        made = linalg.GenericOp(
            [],
            [empty],
            Region(block),
            [AffineMapAttr(AffineMap.identity(rank))],
            [IteratorTypeAttr.parallel()] * rank,
            [type],
        )
        self._replace(op, [made])

    def _assert(self, op: graph.AssertOp) -> None:
        """An equation of sizes as `cf.assert`."""
        builder = self._builder(op)
        left, right = (builder.extent(Dim.of(side.data)) for side in (op.lhs, op.rhs))
        equal = builder.value(arith.CmpiOp(left, right, "eq"))
        made = cf.AssertOp(equal, op.message)
        made.attributes[ASSERT] = ArrayAttr([op.lhs, op.rhs, op.message])
        builder.insert(made)
        op.detach()
        op.erase()

    def _bind_sizes(self, op: graph.BindSizesOp) -> None:
        """Elements of a tensor as sizes, by `tensor.extract`."""
        builder, step = self._builder(op), 1 if op.signed is None else 2
        sizes: list[SSAValue] = []
        for size in self._integers(op.input, len(op.symbols) // step, builder):
            if op.signed is None:
                sizes.append(size)
            else:
                sizes += [
                    builder.materialize(builder.most(part, 0)) for part in (size, builder.minus(0, size))
                ]
        self._define(op, sizes)

    def _integers(self, value: SSAValue, count: int, builder: IRBuilder) -> list[SSAValue]:
        """The first elements of a tensor of integers of rank 0 or 1, as `index`."""
        rank = len(dims_of(value.type))
        places = [[builder.extent(number)] * rank for number in range(count)]
        found = [builder.value(tensor.ExtractOp(value, place, _signless(value))) for place in places]
        return [builder.value(arith.IndexCastOp(element, INDEX)) for element in found]

    def _define_sizes(self, op: graph.DefineSizesOp) -> None:
        """Sizes computed from others, by index arithmetic."""
        builder = self._builder(op)
        self._define(op, [builder.extent(dim) for dim in op.dims.get()])

    def _define(self, op: graph.BindSizesOp | graph.DefineSizesOp, sizes: Sequence[SSAValue]) -> None:
        """Give the symbols of an op their values, and replace it."""
        for symbol, size in zip(op.symbols, sizes, strict=True):
            self._symbols[symbol.data] = size
        for result, size in zip(op.results, sizes, strict=True):
            result.replace_all_uses_with(size)
        op.detach()
        op.erase()

    def _host_call(self, op: graph.HostCallOp) -> None:
        """A call of a function on the host, as that of a private declaration."""
        types = [*op.operand_types], [*op.result_types]
        known = {f.sym_name.data for f in self._module.ops if isinstance(f, FuncOp)}
        name = next(n for n in (f"host{i}" for i in range(len(known) + 1)) if n not in known)
        self._module.body.block.add_op(FuncOp.external(name, *types))
        self._replace(op, [CallOp(name, op.operands, op.result_types)])

    def _insert_slice(self, op: graph.InsertSliceOp) -> None:
        """A block at offsets, which are sizes or elements of a tensor, as `tensor.insert_slice`."""
        builder = self._builder(op)
        if op.offsets is not None:
            offsets: list[Index] = [builder.size(dim) for dim in op.offsets.get()]
        else:
            assert op.offsets_value is not None
            elements = self._integers(op.offsets_value, len(dims_of(op.result.type)), builder)
            offsets = list(elements)
        sizes = self._sizes_of(op.update, builder)
        block = Slice(tuple(offsets), tuple(sizes), (1,) * len(sizes))
        op.result.replace_all_uses_with(insert_slice(builder, op.update, op.input, block))
        Rewriter.erase_op(op)

    def _control_flow(self, op: graph.ControlFlowOp) -> None:
        """A branch or a loop as an op of `scf`, after the ops of its regions."""
        if not is_replaced(op):
            return
        for region in op.regions:
            if isinstance(op, graph.LoopOp):
                self._symbols |= sizes_from_tensors(op, region.block)
            self._rewrite(region.block)
        self._symbols |= replace_control_flow(op)

    def _replace(self, op: Operation, new_ops: Sequence[Operation]) -> None:
        """Replace an op by others; its location and names stay."""
        for new in new_ops:
            new.location = op.location
        Rewriter.replace_op(op, new_ops)


def _signless(value: SSAValue) -> IntegerType:
    """The element type of a tensor of integers, without signedness, as arithmetic takes it."""
    return IntegerType(cast("IntegerType", tensor_of(value).element_type).width.data)
