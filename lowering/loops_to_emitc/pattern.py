"""The base class of the patterns of `convert-loops-to-emitc`, and what they share: layouts of pointers."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, MemRefType, Signedness
from xdsl.dialects.emitc import EmitC_CallOpaqueOp, EmitC_PointerType
from xdsl.ir import Attribute, Operation, SSAValue, TypeAttribute
from xdsl.pattern_rewriter import RewritePattern
from xdsl.rewriter import InsertPoint

from stepwell.dialects import emitc
from stepwell.dialects.emitc import expressions
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.runtime.errors import StepwellError

INDEX = IndexType()
I1, I8, I64 = IntegerType(1), IntegerType(8), IntegerType(64)
U8 = IntegerType(8, Signedness.UNSIGNED)
BYTES = EmitC_PointerType(U8)

DIVISIONS: dict[type[Operation], str] = {
    arith.FloorDivSIOp: "floor_division",
    arith.CeilDivSIOp: "ceiling_division",
    arith.CeilDivUIOp: "ceiling_division",
}
"""The helpers for divisions that round down or up."""
_INDEX_OPERATORS: dict[type[Operation], type[emitc.BinaryOp]] = {
    arith.AddiOp: expressions.AddOp,
    arith.SubiOp: expressions.SubOp,
    arith.MuliOp: expressions.MulOp,
    arith.DivUIOp: expressions.DivOp,
    arith.RemUIOp: expressions.RemOp,
}


@dataclass(frozen=True)
class Layout:
    """The layout of a pointer's memory in elements; a size of None is unknown."""

    element: Attribute
    sizes: tuple[Index | None, ...]
    strides: tuple[Index, ...]
    is_dense: bool = True
    """Whether it is provably in row-major order without gaps."""


@dataclass
class State:
    """The state of one run of the conversion."""

    kernels: frozenset[str]
    weights: Mapping[str, int]
    """The numbers of weights by the names of their globals."""
    layouts: dict[SSAValue, Layout] = field(default_factory=dict[SSAValue, Layout])

    def layout(self, pointer: SSAValue, op: Operation) -> Layout:
        """The layout of a converted memref. Raises: StepwellError `unsupported` when it is unknown."""
        if (layout := self.layouts.get(pointer)) is not None:
            return layout
        note = "memrefs may be arguments, views and allocas, but not results of control flow"
        message = f"{op.name}: the memref's sizes and strides are not known here"
        raise StepwellError("unsupported", op, message, note=note)


class Code(IRBuilder):
    """New ops of `emitc`, which the pattern inserts; arithmetic on indices folds numbers."""

    @staticmethod
    def before(op: Operation) -> Code:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Code whose ops are collected in `ops`, with the location of an op."""
        ops: list[Operation] = []
        return Code(InsertPoint.before(op), op.location, ops=ops)

    @property
    def ops(self) -> list[Operation]:
        """The ops so far, in order."""
        assert self._ops is not None
        return self._ops

    def constant(self, attr: Attribute, type: Attribute) -> SSAValue:
        """A number."""
        return self.value(emitc.ConstantOp(attr))

    def binary(self, op_type: type[Operation], a: Index, b: Index) -> SSAValue:
        """An operator on indices, unfolded."""
        lhs, rhs = self.materialize(a), self.materialize(b)
        if (new := _INDEX_OPERATORS.get(op_type)) is not None:
            return self.value(new(lhs, rhs))
        if op_type in (arith.MinSIOp, arith.MaxSIOp):
            holds = self.value(emitc.CmpOp("lt" if op_type is arith.MinSIOp else "gt", lhs, rhs))
            return self.value(emitc.ConditionalOp(holds, lhs, rhs))
        return self.cast(self.call(DIVISIONS[op_type], [self.cast(v, I64) for v in (lhs, rhs)], I64), INDEX)

    def cast(self, value: SSAValue, type: Attribute) -> SSAValue:
        """A value in another type."""
        return value if value.type == type else self.value(emitc.CastOp(value, type))

    def call(self, name: str, operands: Sequence[SSAValue], type: Attribute) -> SSAValue:
        """A call of a helper function."""
        return self.value(EmitC_CallOpaqueOp(name, operands, [type]))

    def number_of(self, value: SSAValue) -> Index:
        """A value, or its number if it is constant."""
        match value.owner:
            case emitc.ConstantOp(value=IntegerAttr(value=number)):
                return number.data
            case _:
                return value

    def offset(self, indices: Sequence[Index], layout: Layout) -> Index:
        """The element at some indices, counted from the pointer."""
        total: Index = 0
        for index, stride in zip(indices, layout.strides, strict=True):
            number = self.number_of(index) if isinstance(index, SSAValue) else index
            total = self.plus(total, self.times(number, stride))
        return total

    def element(self, pointer: SSAValue, indices: Sequence[Index], layout: Layout) -> SSAValue:
        """An element as an lvalue."""
        offset = self.materialize(self.offset(indices, layout))
        return self.value(emitc.SubscriptOp(pointer, offset))


class LoopsToEmitCPattern(RewritePattern, ABC):
    """
    A pattern with access to the state of the conversion.

    Operands of the matched op are converted already: a memref is a pointer whose layout is in the state.
    """

    takes: ClassVar[tuple[type[Operation], ...]] = ()
    """The ops of a table-driven pattern, whose method is typed for any op."""

    def __init__(self, state: State):
        self.state = state


def memory_type(type: Attribute) -> Attribute:
    """The type of an element in memory: a byte for i1."""
    return U8 if type == I1 else type


def pointer_type(type: Attribute) -> Attribute:
    """The type of a memref's pointer."""
    element = memory_type(cast("MemRefType[Attribute]", type).element_type)
    return EmitC_PointerType(cast(TypeAttribute, U8 if element == I8 and is_bytes(type) else element))


def is_bytes(type: Attribute) -> bool:
    """Whether a memref is memory whose contents views give: of bytes, of a size known at run time only."""
    memref = cast("MemRefType[Attribute]", type)
    return memref.element_type == I8 and memref.get_num_dims() == 1 and memref.get_shape()[0] < 0


def block_argument_type(type: Attribute) -> Attribute:
    """The conversion's type converter for arguments of blocks."""
    return pointer_type(type) if isinstance(type, MemRefType) else type


def dense_layout(op: Operation, code: Code, element: Attribute, sizes: Sequence[Index | None]) -> Layout:
    """
    The layout of a memref in row-major order without gaps.

    Raises: StepwellError `unsupported` where an inner dimension has no known size.
    """
    strides: list[Index] = []
    stride: Index | None = 1
    for size in reversed(sizes):
        if stride is None:
            help = "name the sizes of the argument with graph.dims, over the symbols of the function"
            raise StepwellError(
                "unsupported", op, "the size of an inner dimension is not known here", help=help
            )
        strides.append(stride)
        stride = None if size is None else code.times(stride, size)
    return Layout(element, tuple(sizes), tuple(reversed(strides)))
