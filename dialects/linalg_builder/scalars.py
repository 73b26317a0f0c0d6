"""Emitters of scalar arithmetic for the bodies of structured ops: one set for all element types."""

from __future__ import annotations

from typing import TypeAlias, cast

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    UnitAttr,
    f32,
    f64,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from stepwell.dialects.graph.relations import is_bool, is_float, is_integer, is_unsigned
from stepwell.dialects.linalg_builder.small_floats import SMALL_FLOATS
from stepwell.dialects.sched import EXACT_DIVISION
from stepwell.dialects.types import dtype_of
from stepwell.dialects.types import signless as signless

Constant: TypeAlias = FloatAttr[AnyFloat] | IntegerAttr[IntegerType]


def _width(element: Attribute) -> int:
    return cast(IntegerType, element).width.data


def scalar_constant(number: float, element: Attribute) -> Constant:
    """A number as an attribute of an element's storage type; integers wrap."""
    if element in SMALL_FLOATS:
        code = np.array(number, np.float32).astype(dtype_of(element)).view(np.int8)
        return IntegerAttr(int(code), i8)
    if is_float(element):
        return FloatAttr(float(number), cast(AnyFloat, element))
    if is_bool(element):
        return IntegerAttr.from_bool(bool(number))
    width = max(_width(element), 8)
    wrapped = (int(number) + (1 << width - 1)) % (1 << width) - (1 << width - 1)
    return IntegerAttr(wrapped, IntegerType(width))


def exact_quotient(a: SSAValue, b: SSAValue) -> SSAValue:
    """a / b of floats, never by a reciprocal: whole numbers stay so, whatever the next op rounds to."""
    division = arith.DivfOp(a, b)
    division.attributes[EXACT_DIVISION] = UnitAttr()
    return division.result


_INT_PREDICATES = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle", "gt": "sgt", "ge": "sge"}
_UINT_PREDICATES = {"eq": "eq", "ne": "ne", "lt": "ult", "le": "ule", "gt": "ugt", "ge": "uge"}
_FLOAT_PREDICATES = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}


class Scalars:
    """
    Emitters for one element type; they append to the current implicit builder.

    Operands and results are scalars of `type`, in which the element type computes: f32 for narrower floats,
    and signless integers of at least a byte, whose ops depend on the sign.
    """

    def __init__(self, element: Attribute):
        self.element = element
        self.is_float = is_float(element)
        self.is_bool = is_bool(element)
        self.unsigned = is_unsigned(element) or self.is_bool
        self.narrow_float = self.is_float and element not in (f32, f64)
        self.type = f32 if self.narrow_float else signless(element)
        self._spare_bits = 8 - _width(element) if is_integer(element) and _width(element) < 8 else 0

    @property
    def bits(self) -> int:
        """The width in bits of an integer type."""
        return cast(IntegerType, self.type).width.data

    def widen(self, scalar: SSAValue) -> SSAValue:
        """A stored element converted to the type to compute in."""
        if self._spare_bits:
            spare = self.constant(self._spare_bits)
            shifted = arith.ShLIOp(scalar, spare).result
            return (arith.ShRUIOp if self.unsigned else arith.ShRSIOp)(shifted, spare).result
        if not self.narrow_float:
            return scalar
        if (small := SMALL_FLOATS.get(self.element)) is not None:
            return small.decode(scalar)
        return arith.ExtFOp(scalar, self.type).result

    def narrow(self, scalar: SSAValue) -> SSAValue:
        """A computed scalar rounded to the storage type; a scalar of the storage type stays unchanged."""
        if self._spare_bits:
            return arith.AndIOp(scalar, self.constant((1 << 8 - self._spare_bits) - 1)).result
        if not self.narrow_float or scalar.type == signless(self.element):
            return scalar
        if (small := SMALL_FLOATS.get(self.element)) is not None:
            return small.encode(scalar)
        return arith.TruncFOp(scalar, self.element).result

    def constant(self, number: float) -> SSAValue:
        """A constant; integers wrap."""
        return arith.ConstantOp(scalar_constant(number, self.type)).result

    def from_index(self, index: SSAValue) -> SSAValue:
        """An index converted to a number of this type."""
        number = arith.IndexCastOp(index, i64).result
        return Scalars(i64).convert(number, self)

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a + b; integers wrap."""
        return (arith.AddfOp if self.is_float else arith.AddiOp)(a, b).result

    def subtract(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a - b; integers wrap."""
        return (arith.SubfOp if self.is_float else arith.SubiOp)(a, b).result

    def multiply(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a * b; integers wrap."""
        return (arith.MulfOp if self.is_float else arith.MuliOp)(a, b).result

    def divide(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """a / b; integers truncate, x / 0 is 0 and MIN / -1 is MIN: the processor would trap on both."""
        if self.is_float:
            return arith.DivfOp(a, b).result
        divide = arith.DivUIOp if self.unsigned else arith.DivSIOp
        if _is_safe_divisor(b):
            return divide(a, b).result
        zero = self.constant(0)
        quotient = divide(a, self._safe_divisor(b)).result
        if not self.unsigned:
            is_minus_one = self.compare("eq", b, self.constant(-1))
            quotient = self.select(is_minus_one, self.negate(a), quotient)
        return self.select(self.compare("eq", b, zero), zero, quotient)

    def remainder(self, a: SSAValue, b: SSAValue, *, floor: bool) -> SSAValue:
        """The remainder of an integer division, with the sign of b (floor) or of a; 0 for x mod 0."""
        rest = (arith.RemUIOp if self.unsigned else arith.RemSIOp)(a, self._safe_divisor(b)).result
        if self.unsigned or not floor:
            return rest
        signs_differ = self.compare("lt", arith.XOrIOp(rest, b).result, self.constant(0))
        inexact = self.compare("ne", rest, self.constant(0))
        wrong = arith.AndIOp(signs_differ, inexact).result
        return self.select(wrong, self.add(rest, b), rest)

    def _safe_divisor(self, b: SSAValue) -> SSAValue:
        """The divisor b, or 1 where dividing by it would trap."""
        if _is_safe_divisor(b):
            return b
        traps = self.compare("eq", b, self.constant(0))
        if not self.unsigned:
            traps = arith.OrIOp(traps, self.compare("eq", b, self.constant(-1))).result
        return self.select(traps, self.constant(1), b)

    def maximum(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The greater number; NaN propagates."""
        if self.is_float:
            return arith.MaximumfOp(a, b).result
        return (arith.MaxUIOp if self.unsigned else arith.MaxSIOp)(a, b).result

    def minimum(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The lesser number; NaN propagates."""
        if self.is_float:
            return arith.MinimumfOp(a, b).result
        return (arith.MinUIOp if self.unsigned else arith.MinSIOp)(a, b).result

    def negate(self, a: SSAValue) -> SSAValue:
        """-a; integers wrap."""
        return arith.NegfOp(a).result if self.is_float else self.subtract(self.constant(0), a)

    def absolute(self, a: SSAValue) -> SSAValue:
        """|a|; the least signed integer stays negative."""
        if self.is_float:
            return math.AbsFOp(a).result
        return a if self.unsigned else self.maximum(a, self.negate(a))

    def compare(self, predicate: str, a: SSAValue, b: SSAValue) -> SSAValue:
        """An i1 of the comparison `eq ne lt le gt ge`; NaN makes all false but `ne`."""
        if self.is_float:
            return arith.CmpfOp(a, b, _FLOAT_PREDICATES[predicate]).result
        predicates = _UINT_PREDICATES if self.unsigned else _INT_PREDICATES
        return arith.CmpiOp(a, b, predicates[predicate]).result

    def is_nan(self, a: SSAValue) -> SSAValue:
        """Whether a float is NaN."""
        return arith.CmpfOp(a, a, "uno").result

    def select(self, condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
        """The value a where the condition is true, else b."""
        return arith.SelectOp(condition, a, b).result

    def lowest(self) -> float:
        """The identity of the maximum: -inf, or the least integer."""
        if self.is_float:
            return float("-inf")
        return 0 if self.unsigned else -(1 << self.bits - 1)

    def highest(self) -> float:
        """The identity of the minimum: inf, or the greatest integer."""
        if self.is_float:
            return float("inf")
        return (1 << self.bits) - 1 if self.unsigned else (1 << self.bits - 1) - 1

    def convert(self, a: SSAValue, to: Scalars) -> SSAValue:
        """A scalar of this type converted to another: `graph.cast` without the treatment of narrow floats."""
        if to.is_bool:
            return a if self.is_bool else self.compare("ne", a, self.constant(0))
        if self.is_float:
            return _float_to_float(a, to.type) if to.is_float else self._float_to_int(a, to)
        if to.is_float:
            return (arith.UIToFPOp if self.unsigned else arith.SIToFPOp)(a, cast(AnyFloat, to.type)).result
        target = cast(IntegerType, to.type)
        if self.bits == to.bits:
            return a
        if self.bits > to.bits:
            return arith.TruncIOp(a, target).result
        return (arith.ExtUIOp if self.unsigned else arith.ExtSIOp)(a, target).result

    def _float_to_int(self, a: SSAValue, to: Scalars) -> SSAValue:
        """
        A float truncated and saturated to i32 or i64 (u64 has its own function), then cut to fewer bits.

        NaN gives 0: our `arith.fptosi` saturates.
        """
        if to.bits == 64 and to.unsigned:
            return self._float_to_u64(a, to)
        through = Scalars(i32 if to.bits < 32 or (to.bits == 32 and not to.unsigned) else i64)
        return through.convert(arith.FPToSIOp(a, cast(IntegerType, through.type)).result, to)

    def _float_to_u64(self, a: SSAValue, to: Scalars) -> SSAValue:
        """
        A float as u64: negative numbers wrap, as they do by way of i64; fptoui converts those above 2^63.
        """
        result, large = arith.FPToSIOp(a, i64).result, arith.FPToUIOp(a, i64).result
        result = self.select(self.compare("ge", a, self.constant(2.0**63)), large, result)
        over = self.compare("ge", a, self.constant(2.0**64))
        return self.select(over, to.constant(to.highest()), result)


def _is_safe_divisor(b: SSAValue) -> bool:
    """Whether a divisor is a constant for which no dividend makes the processor trap."""
    if not isinstance(b.owner, arith.ConstantOp) or not isinstance(b.owner.value, IntegerAttr):
        return False
    return b.owner.value.value.data not in (0, -1)


def _float_to_float(a: SSAValue, to: Attribute) -> SSAValue:
    """A float extended or rounded to f32 or f64."""
    if a.type == to:
        return a
    return (arith.ExtFOp if to == f64 else arith.TruncFOp)(a, to).result
