"""A builder of `llvm` ops for patterns, which reuses values that the same block has already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import gcd
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    SymbolRefAttr,
    UnitAttr,
    VectorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from stepwell.dialects.llvm.instructions import SelectOp
from stepwell.dialects.llvm.intrinsics import SMaxOp, SMinOp
from stepwell.dialects.types import element_bytes, int_attr
from stepwell.lowering.loops_to_llvm.state import I1, I64, PTR, Extent, Layout, Linear, State, memory_type
from stepwell.runtime.dims import Algebra, Dim

_NO_FLAGS = IntegerAttr(0, i32)
NO_SIGNED_WRAP = IntegerAttr(1, i32)
_ORDINARY = IntegerAttr(0, i64)
_UNIT = UnitAttr()
_PREDICATES = {flag.value: IntegerAttr(flag.to_int(), i64) for flag in llvm.ICmpPredicateFlag}


def number_attr(value: float, type: Attribute) -> Attribute:
    """A number as a constant of a scalar type, or in every lane of a vector; an int for integer types."""
    if type.__class__ is VectorType:
        if isinstance(value, int):
            return DenseIntOrFPElementsAttr.from_list(cast("VectorType[IntegerType]", type), [value])
        return DenseIntOrFPElementsAttr.from_list(cast("VectorType[AnyFloat]", type), [value])
    if isinstance(value, int):
        return IntegerAttr(value, cast("IntegerType", type))
    return FloatAttr(value, cast("AnyFloat", type))


@cache
def _indices(index: int) -> DenseArrayBase:
    """The constant indices of a `getelementptr` with one index."""
    return DenseArrayBase.from_list(i32, [index])


@cache
def segment_sizes(*sizes: int) -> DenseArrayBase:
    """How many operands an op has of each kind."""
    return DenseArrayBase.from_list(i32, sizes)


@cache
def _call_properties(arguments: int) -> dict[str, Attribute]:
    return {
        "fastmathFlags": llvm.FastMathAttr(None),
        "CConv": llvm.CallingConventionAttr("ccc"),
        "TailCallKind": llvm.TailCallKindAttr(llvm.TailCallKind.NONE),
        "op_bundle_sizes": segment_sizes(),
        "operandSegmentSizes": segment_sizes(arguments, 0),
    }


def call_symbol(
    callee: SymbolRefAttr, arguments: Sequence[SSAValue], result: Attribute | None = None
) -> llvm.CallOp:
    """A call of a function by its name, for its effect or for its result."""
    return llvm.CallOp.create(
        operands=arguments,
        result_types=[] if result is None else [result],
        properties={"callee": callee, **_call_properties(len(arguments))},
    )


def call_pointer(
    callee: SSAValue, arguments: Sequence[SSAValue], result: Attribute | None = None
) -> llvm.CallOp:
    """An indirect call of a function, with a result unless `result` is None."""
    return llvm.CallOp.create(
        operands=[callee, *arguments],
        result_types=[] if result is None else [result],
        properties=_call_properties(1 + len(arguments)),
    )


class Code:
    """
    A list of new ops that a pattern substitutes for the op it matched: `rewriter.replace(op, code.ops)`.
    """

    def __init__(self, state: State, block: Block | None):
        """Args: `block` receives the ops: values known in it are reused."""
        self.state = state
        self.ops: list[Operation] = []
        self._block = block

    def add(self, op: Operation) -> SSAValue:
        """Append an op with one result."""
        self.ops.append(op)
        return op.results[0]

    def make(
        self,
        op_type: type[Operation],
        operands: Sequence[SSAValue],
        type: Attribute | None = None,
        properties: Mapping[str, Attribute] | None = None,
    ) -> SSAValue:
        """Append a new op and return its result, of the first operand's type unless `type` is passed."""
        op = op_type.create(
            operands=operands,
            result_types=[operands[0].type if type is None else type],
            properties=dict(properties) if properties else {},
        )
        self.ops.append(op)
        return op.results[0]

    def constant(self, value: int, type: IntegerType = I64) -> SSAValue:
        """An integer constant, made once for each block."""
        key = (self._block, value, type.width.data)
        if (found := self.state.known.get(key)) is None:
            number = int_attr(value, type.width.data)
            op = llvm.ConstantOp.create(properties={"value": number}, result_types=[type])
            found = self.state.known[key] = self.add(op)
        return found

    def value(self, extent: Extent) -> SSAValue:
        """An extent as an i64 value."""
        return self.constant(extent) if isinstance(extent, int) else extent

    def sum(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a + b, folded if both are constants or one is 0."""
        left, right = self.state.linear(a), self.state.linear(b)
        if not left.terms and not right.terms:
            return self.constant(left.constant + right.constant)
        if not left.terms and left.constant == 0:
            return b
        if not right.terms and right.constant == 0:
            return a
        return self.make(llvm.AddOp, [a, b])

    def product(self, a: Extent, b: Extent) -> Extent:
        """a * b, a number where both are numbers; each product is made once for each block."""
        if isinstance(a, int):
            if isinstance(b, int):
                return a * b
            a, b = b, a
        if isinstance(b, int) and b == 1:
            return a
        key = (self._block, "*", a, b)
        if (found := self.state.known.get(key)) is None:
            found = self.state.known[key] = self.make(llvm.MulOp, [a, self.value(b)])
            if not isinstance(b, int) and (factor := self.state.multiple(a) * self.state.multiple(b)) != 1:
                self.state.multiples[found] = factor
        return found

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """An integer comparison of scalars, such as `slt`."""
        return self.make(llvm.ICmpOp, [a, b], I1, {"predicate": _PREDICATES[predicate]})

    def floordiv(self, a: SSAValue, b: Extent) -> SSAValue:
        """⌊a / b⌋ for any signs."""
        if isinstance(b, int) and b == 1:
            return a
        if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
            return self.make(llvm.AShrOp, [a, self.constant(b.bit_length() - 1)])
        divisor = self.value(b)
        quotient = self.make(llvm.SDivOp, [a, divisor])
        remainder = self.make(llvm.SRemOp, [a, divisor])
        # The quotient is rounded towards zero: subtract 1 where the remainder has the other sign.
        zero = self.constant(0)
        inexact = self.compare("ne", remainder, zero)
        signs = self.compare("slt", self.make(llvm.XOrOp, [remainder, divisor]), zero)
        below = self.make(llvm.AndOp, [inexact, signs])
        return self.make(SelectOp, [below, self.sum(quotient, self.constant(-1)), quotient], I64)

    def ceildiv(self, a: SSAValue, b: Extent) -> SSAValue:
        """⌈a / b⌉ for any signs: -⌊-a / b⌋."""
        zero = self.constant(0)
        negated = self.floordiv(self.make(llvm.SubOp, [zero, a]), b)
        return self.make(llvm.SubOp, [zero, negated])

    def count_of(self, a: SSAValue, b: Extent) -> SSAValue:
        """⌈a / b⌉ for non-negative a and positive b."""
        if isinstance(b, int):
            if b == 1:
                return a
            above = self.sum(a, self.constant(b - 1))
            if b & (b - 1) == 0:
                return self.make(llvm.LShrOp, [above, self.constant(b.bit_length() - 1)])
            return self.make(llvm.UDivOp, [above, self.constant(b)])
        return self.make(llvm.UDivOp, [self.sum(self.sum(a, b), self.constant(-1)), b])

    def modulo(self, a: SSAValue, b: Extent) -> SSAValue:
        """a - b * ⌊a / b⌋, between 0 and b."""
        if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
            return self.make(llvm.AndOp, [a, self.constant(b - 1)])
        whole = self.value(self.product(self.floordiv(a, b), b))
        return self.make(llvm.SubOp, [a, whole])

    def extent(self, dim: Dim, symbols: Mapping[str, SSAValue]) -> Extent:
        """
        The value of a dimension expression; symbols are i64 values.

        Raises: KeyError for a symbol without value.
        """
        if dim.is_static:
            return dim.value
        return dim.build(
            lambda name: symbols[name],
            Algebra(
                number=self.constant,
                add=self.sum,
                multiply=lambda a, b: self.value(self.product(a, b)),
                floordiv=self.floordiv,
                ceildiv=self.ceildiv,
                minimum=lambda a, b: self.make(SMinOp, [a, b]),
                maximum=lambda a, b: self.make(SMaxOp, [a, b]),
            ),
        )

    def element_pointer(
        self, base: SSAValue, index: Extent, type: Attribute, *, inbounds: bool = True
    ) -> SSAValue:
        """
        The address `index` elements of `type` after `base`; not `inbounds` where memory may end before it.
        """
        dynamic: list[SSAValue] = []
        if isinstance(index, int) and -(1 << 31) < index < 1 << 31:
            if index == 0:
                return base
            indices = _indices(index)
        else:
            dynamic, indices = [self.value(index)], _indices(llvm.GEP_USE_SSA_VAL)
        op = llvm.GEPOp.create(
            operands=[base, *dynamic],
            result_types=[PTR],
            properties={
                "elem_type": type,
                "noWrapFlags": _NO_FLAGS,
                "rawConstantIndices": indices,
                **({"inbounds": _UNIT} if inbounds else {}),
            },
        )
        return self.add(op)

    def offset(self, indices: Sequence[Extent], strides: Sequence[Extent]) -> Linear:
        """The sum of index * stride over all dimensions, as a linear expression."""
        total = Linear((), 0)
        for index, stride in zip(indices, strides, strict=True):
            part = Linear((), index) if isinstance(index, int) else self.state.linear(index)
            if isinstance(stride, int):
                total += part.scaled(stride)
                continue
            # A stride known at run time only: multiply each term of the index by it, so that terms shared by
            # the rows of a tile are computed once.
            for value, factor in part.terms:
                product = self.value(self.product(value, stride))
                total += Linear(((product, factor),), 0)
            if part.constant:
                total += Linear(((stride, part.constant),), 0)
        return total

    def address(self, base: SSAValue, indices: Sequence[Extent], layout: Layout) -> tuple[SSAValue, int]:
        """
        The address of an element, and an alignment of it in bytes that is certain.

        The terms that are known at run time only are computed once for each block, so that the accesses of an
        unrolled tile are one pointer and constant distances.
        """
        offset = self.offset(indices, layout.strides)
        type = memory_type(layout.element)
        pointer = base
        if offset.terms:
            key = (self._block, base, type, offset.terms)
            if (found := self.state.known.get(key)) is None:
                found = self.element_pointer(base, self._sum_of(offset.terms), type)
                self.state.known[key] = found
            pointer = found
        size = element_bytes(layout.element)
        multiple = gcd(offset.constant, *(f * self.state.multiples.get(v, 1) for v, f in offset.terms))
        alignment = gcd(layout.align_bytes, multiple * size)
        return self.element_pointer(pointer, offset.constant, type), alignment

    def _sum_of(self, terms: Sequence[tuple[SSAValue, int]]) -> SSAValue:
        """The sum of terms, each a value times a constant."""
        parts = [self.value(self.product(value, factor)) for value, factor in terms]
        total = parts[0]
        for part in parts[1:]:
            total = self.sum(total, part)
        return total

    def load(self, pointer: SSAValue, type: Attribute, alignment: int) -> SSAValue:
        """A load of a value in its memory type."""
        properties = {"ordering": _ORDINARY, "alignment": int_attr(alignment)}
        return self.make(llvm.LoadOp, [pointer], type, properties)

    def store(self, value: SSAValue, pointer: SSAValue, alignment: int) -> None:
        """Append a store of a value in its memory type."""
        properties = {"ordering": _ORDINARY, "alignment": int_attr(alignment)}
        self.ops.append(llvm.StoreOp.create(operands=[value, pointer], properties=properties))
