"""Scalar and vector SSA values with Python's operators, in which recipes of functions are written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.builder import Builder
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import IntegerType, VectorType, f32, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects.arith import ScaleOp, like, vector_form
from stepwell.dialects.ir_builder import IRBuilder

Number: TypeAlias = "float | Lanes"


class Lanes:
    """
    An f32 or i32, f64 or i64, or a vector of them. Operators insert ops with a builder, or a rewriter.
    """

    def __init__(self, builder: Builder, value: SSAValue, *, scales: bool = False):
        self._builder = builder if isinstance(builder, IRBuilder) else IRBuilder.on(builder)
        self.value = value
        self.scales = scales
        """Whether the target has an instruction for `scaled_by`."""

    def make(
        self, op_type: type[Operation], operands: Sequence[Number], type: Attribute | None = None
    ) -> Lanes:
        """Insert an op on lanes and numbers; its result has this value's type unless `type` is given."""
        values = [self.of(operand).value for operand in operands]
        result = self.value.type if type is None else type
        return self._lanes(vector_form(op_type).create(operands=values, result_types=[result]))

    def _lanes(self, op: Operation) -> Lanes:
        return Lanes(self._builder, self._builder.value(op), scales=self.scales)

    def of(self, number: Number) -> Lanes:
        """A number as a constant of this value's type; lanes as they are."""
        if isinstance(number, Lanes):
            return number
        type = self.value.type
        return Lanes(self._builder, self._builder.number(number, type), scales=self.scales)

    def __add__(self, other: Number) -> Lanes:
        return self.make(arith.AddfOp if self._is_float else arith.AddiOp, [self, other])

    def __sub__(self, other: Number) -> Lanes:
        return self.make(arith.SubfOp if self._is_float else arith.SubiOp, [self, other])

    def __mul__(self, other: Number) -> Lanes:
        return self.make(arith.MulfOp if self._is_float else arith.MuliOp, [self, other])

    def __truediv__(self, other: Number) -> Lanes:
        return self.make(arith.DivfOp, [self, other])

    def __and__(self, other: Number) -> Lanes:
        return self.make(arith.AndIOp, [self, other])

    def __xor__(self, other: Number) -> Lanes:
        return self.make(arith.XOrIOp, [self, other])

    def __lshift__(self, bits: int) -> Lanes:
        return self.make(arith.ShLIOp, [self, bits])

    def __rshift__(self, bits: int) -> Lanes:
        """Arithmetic: the sign fills up."""
        return self.make(arith.ShRSIOp, [self, bits])

    def times_plus(self, factor: Number, addend: Number) -> Lanes:
        """self * factor + addend, fused where the target can."""
        return self.make(math.FmaOp, [self, factor, addend])

    def polynomial(self, coefficients: Sequence[float]) -> Lanes:
        """The polynomial in this value with these coefficients, that of the lowest power first."""
        *rest, top = coefficients
        result = self.of(top)
        for coefficient in reversed(rest):
            result = result.times_plus(self, coefficient)
        return result

    def scaled_by(self, exponent: Lanes) -> Lanes:
        """self * 2^exponent, by one instruction; the exponent is an integer in a float."""
        return self._lanes(ScaleOp(self.value, exponent.value))

    def absolute(self) -> Lanes:
        """The absolute value."""
        return self.make(math.AbsFOp, [self])

    def with_sign_of(self, other: Lanes) -> Lanes:
        """This magnitude with the other's sign."""
        return self.make(math.CopySignOp, [self, other])

    def root(self) -> Lanes:
        """The square root."""
        return self.make(math.SqrtOp, [self])

    def at_most(self, limit: float) -> Lanes:
        """The lesser of this value and a number; NaN stays NaN."""
        return self.compare("ogt", limit).choose(limit, self)

    def at_least(self, limit: float) -> Lanes:
        """The greater of this value and a number; NaN stays NaN."""
        return self.compare("olt", limit).choose(limit, self)

    def halved(self) -> Lanes:
        """Half of an unsigned integer."""
        return self.make(arith.ShRUIOp, [self, 1])

    def compare(self, predicate: str, other: Number) -> Condition:
        """A comparison: `olt` and so on of floats, `slt` and so on of integers."""
        return Condition(self, self._builder.compare(predicate, self.value, self.of(other).value))

    def to_even(self) -> Lanes:
        """The nearest whole number, halves to even."""
        return self.make(math.RoundEvenOp, [self])

    def widened(self) -> Lanes:
        """An f32 as f64."""
        return self.make(arith.ExtFOp, [self], like(self.value.type, f64))

    def narrowed(self) -> Lanes:
        """An f64 as f32, rounded."""
        return self.make(arith.TruncFOp, [self], like(self.value.type, f32))

    def bits(self) -> Lanes:
        """A float as the integer of the same bits."""
        return self.make(arith.BitcastOp, [self], like(self.value.type, i64 if self._is_double else i32))

    def as_float(self) -> Lanes:
        """An integer as the float of the same bits."""
        return self.make(arith.BitcastOp, [self], like(self.value.type, f64 if self._is_double else f32))

    def to_float(self) -> Lanes:
        """An integer as the float of the same value."""
        return self.make(arith.SIToFPOp, [self], like(self.value.type, f32))

    @property
    def _element(self) -> Attribute:
        type = self.value.type
        return cast("VectorType[Attribute]", type).element_type if isinstance(type, VectorType) else type

    @property
    def _is_float(self) -> bool:
        return not isinstance(self._element, IntegerType)

    @property
    def _is_double(self) -> bool:
        return self._element in (f64, i64)


class Condition:
    """The outcome of a comparison."""

    def __init__(self, shape: Lanes, value: SSAValue):
        self._shape = shape
        self.value = value

    def choose(self, yes: Number, no: Number) -> Lanes:
        """Lane by lane, `yes` if the comparison is true, else `no` (`arith.select`)."""
        shape = yes if isinstance(yes, Lanes) else no if isinstance(no, Lanes) else self._shape
        condition = Lanes(self._shape._builder, self.value)  # pyright: ignore[reportPrivateUsage]
        return shape.make(arith.SelectOp, [condition, shape.of(yes), shape.of(no)])
