"""A builder of `llvm` ops for patterns, which reuses values that the same block has already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from math import gcd

from xdsl.builder import InsertOpInvT
from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, UnitAttr, i32, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.llvm.instructions import PoisonOp, SelectOp
from stepwell.dialects.llvm.intrinsics import SMaxOp, SMinOp
from stepwell.dialects.types import int_attr
from stepwell.lowering.loops_to_llvm.state import I1, I64, PTR, Extent, Layout, Linear, State

_NO_FLAGS = IntegerAttr(0, i32)
NO_SIGNED_WRAP = IntegerAttr(1, i32)
_ORDINARY = IntegerAttr(0, i64)
_UNIT = UnitAttr()
_PREDICATES = {flag.value: IntegerAttr(flag.to_int(), i64) for flag in llvm.ICmpPredicateFlag}


@cache
def _indices(index: int) -> DenseArrayBase:
    """The constant indices of a `getelementptr` with one index."""
    return DenseArrayBase.from_list(i32, [index])


_OPS: Mapping[type[Operation], type[Operation]] = {
    arith.AddiOp: llvm.AddOp,
    arith.SubiOp: llvm.SubOp,
    arith.MinSIOp: SMinOp,
    arith.MaxSIOp: SMaxOp,
}


class Code(IRBuilder):
    """
    The view of `llvm`: a list of new ops that a pattern substitutes for the op it matched, by
    `rewriter.replace(op, code.ops)`. Indices are i64; constants, products and addresses that a block has
    already are used again.
    """

    REMEMBERED = arith.MuliOp

    def __init__(self, state: State, block: Block | None):
        """Args: `block` receives the ops: values known in it are reused."""
        self.ops: list[Operation] = []
        super().__init__(InsertPoint.at_end(block or Block()), ops=self.ops)
        self.state = state
        if block is not None:
            self._known = state.known.setdefault(block, {})

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
            properties=properties or {},
        )
        self.ops.append(op)
        return op.results[0]

    def insert(self, op: InsertOpInvT, insertion_point: InsertPoint | None = None) -> InsertOpInvT:
        """Append an op, or several in order; they get the location of the op that they replace."""
        if isinstance(op, Operation):
            self.ops.append(op)
        else:
            self.ops += op
        return op

    def integer(self, value: int, type: IntegerType = I64) -> SSAValue:
        """An integer constant, made once for each block."""
        key = value, type.width.data
        if (known := self._known.get(key)) is None:
            known = self._known[key] = self.make(llvm.ConstantOp, [], type, {"value": int_attr(*key)})
        return known

    def poison(self, type: Attribute) -> SSAValue:
        """A value of a type that nothing reads, made once for each block."""
        return self.once((PoisonOp, type), lambda: self.make(PoisonOp, [], type))

    def materialize(self, index: Index) -> SSAValue:
        """An index as an i64 value."""
        return self.integer(index) if isinstance(index, int) else index

    def plus(self, a: Index, b: Index) -> SSAValue:
        """a + b; the values of constants fold too."""
        return self.materialize(super().plus(self._known_number(a), self._known_number(b)))

    def _known_number(self, index: Index) -> Index:
        """The number of a constant; another value as it is."""
        if isinstance(index, int) or (linear := self.state.linear(index)).terms:
            return index
        return linear.constant

    def binary(self, op_type: type[Operation], a: Index, b: Index) -> SSAValue:
        """The result of an `arith` op on indices, by ops of `llvm`."""
        if op_type is arith.MuliOp:
            return self._product(a, b)
        operands = [self.materialize(a), self.materialize(b)]
        if op_type is arith.FloorDivSIOp:
            return self._floordiv(operands[0], b)
        if op_type is arith.CeilDivSIOp:
            # -⌊-a / b⌋
            zero = self.integer(0)
            negated = self._floordiv(self.make(llvm.SubOp, [zero, operands[0]]), b)
            return self.make(llvm.SubOp, [zero, negated])
        return self.make(_OPS[op_type], operands)

    def _product(self, a: Index, b: Index) -> SSAValue:
        """A product, with a known divisor if there is one."""
        made = self.make(llvm.MulOp, [self.materialize(a), self.materialize(b)])
        if isinstance(a, SSAValue) and isinstance(b, SSAValue):
            if (factor := self.state.multiple(a) * self.state.multiple(b)) != 1:
                self.state.multiples[made] = factor
        return made

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """An integer comparison of scalars, such as `slt`."""
        return self.make(llvm.ICmpOp, [a, b], I1, {"predicate": _PREDICATES[predicate]})

    def _floordiv(self, a: SSAValue, b: Index) -> SSAValue:
        if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
            return self.make(llvm.AShrOp, [a, self.integer(b.bit_length() - 1)])
        divisor = self.materialize(b)
        quotient = self.make(llvm.SDivOp, [a, divisor])
        remainder = self.make(llvm.SRemOp, [a, divisor])
        # The quotient is rounded towards zero: subtract 1 where the remainder has the other sign.
        zero = self.integer(0)
        inexact = self.compare("ne", remainder, zero)
        signs = self.compare("slt", self.make(llvm.XOrOp, [remainder, divisor]), zero)
        below = self.make(llvm.AndOp, [inexact, signs])
        return self.make(SelectOp, [below, self.plus(quotient, -1), quotient], I64)

    def count_of(self, a: SSAValue, b: Extent) -> SSAValue:
        """⌈a / b⌉ for non-negative a and positive b."""
        if isinstance(b, int):
            if b == 1:
                return a
            above = self.plus(a, self.integer(b - 1))
            if b & (b - 1) == 0:
                return self.make(llvm.LShrOp, [above, self.integer(b.bit_length() - 1)])
            return self.make(llvm.UDivOp, [above, self.integer(b)])
        return self.make(llvm.UDivOp, [self.plus(self.plus(a, b), self.integer(-1)), b])

    def modulo(self, a: Index, b: Index) -> SSAValue:
        """a - b * ⌊a / b⌋, between 0 and b."""
        a = self.materialize(a)
        if isinstance(b, int) and b > 0 and b & (b - 1) == 0:
            return self.make(llvm.AndOp, [a, self.integer(b - 1)])
        whole = self.materialize(self.times(self.floordiv(a, b), b))
        return self.make(llvm.SubOp, [a, whole])

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
            dynamic, indices = [self.materialize(index)], _indices(llvm.GEP_USE_SSA_VAL)
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
        return self.value(op)

    def offset(self, indices: Sequence[Extent], strides: Sequence[Extent]) -> Linear:
        """The sum of index * stride over all dimensions, as a linear expression."""
        terms: dict[SSAValue, int] = {}
        constant = 0
        for index, stride in zip(indices, strides, strict=True):
            part = Linear((), index) if isinstance(index, int) else self.state.linear(index)
            if isinstance(stride, int):
                constant += stride * part.constant
                for value, factor in part.terms:
                    terms[value] = terms.get(value, 0) + stride * factor
                continue
            # A stride known at run time only: multiply each term of the index by it, so that terms shared by
            # the rows of a tile are computed once.
            for value, factor in part.terms:
                product = self.materialize(self.times(value, stride))
                terms[product] = terms.get(product, 0) + factor
            if part.constant:
                terms[stride] = terms.get(stride, 0) + part.constant
        return Linear(tuple([term for term in terms.items() if term[1]]), constant)

    def address(self, base: SSAValue, indices: Sequence[Extent], layout: Layout) -> tuple[SSAValue, int]:
        """
        The address of an element, and an alignment of it in bytes that is certain.

        The terms that are known at run time only are computed once for each block, so that the accesses of an
        unrolled tile are one pointer and constant distances.
        """
        offset = self.offset(indices, layout.strides)
        type, pointer = layout.memory_element, base
        if offset.terms:
            key = (base, offset.terms)  # a pointer has one layout
            pointer = self.once(key, lambda: self.element_pointer(base, self._sum_of(offset.terms), type))
        multiple = gcd(offset.constant, *(f * self.state.multiples.get(v, 1) for v, f in offset.terms))
        alignment = gcd(layout.align_bytes, multiple * layout.element_bytes)
        return self.element_pointer(pointer, offset.constant, type), alignment

    def _sum_of(self, terms: Sequence[tuple[SSAValue, int]]) -> SSAValue:
        """The sum of terms, each a value times a constant."""
        parts = [self.materialize(self.times(value, factor)) for value, factor in terms]
        total = parts[0]
        for part in parts[1:]:
            total = self.plus(total, part)
        return total

    def load(self, pointer: SSAValue, type: Attribute, alignment: int) -> SSAValue:
        """A load of a value in its memory type."""
        return self.make(llvm.LoadOp, [pointer], type, access_properties(alignment))

    def store(self, value: SSAValue, pointer: SSAValue, alignment: int) -> None:
        """Append a store of a value in its memory type."""
        self.insert(llvm.StoreOp.create(operands=[value, pointer], properties=access_properties(alignment)))


def access_properties(alignment: int) -> dict[str, Attribute]:
    """The properties of a load or store that is not atomic, at an address of some alignment in bytes."""
    return {"ordering": _ORDINARY, "alignment": int_attr(alignment)}
