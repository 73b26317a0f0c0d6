"""
f16 and bf16 for targets that cannot compute them: widened to f32, computed, rounded back with integer ops.

LLVM would call library functions for the conversions, which this process may not have.
"""

from __future__ import annotations

from functools import lru_cache
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import BFloat16Type, Float16Type, IntegerType, VectorType, f32
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects.ir_builder import number_attr
from stepwell.dialects.llvm.instructions import SelectOp
from stepwell.dialects.types import int_attr
from stepwell.lowering.loops_to_llvm.code import Code
from stepwell.lowering.loops_to_llvm.state import I1, I32, bit_width, has_odd_lanes
from stepwell.runtime.machine.target import TargetDescription

_I16 = IntegerType(16)
_SIGN = 0x80000000
_F32_INFINITY = 0x7F800000
_REBIAS = (112 << 23) - 0xFFF  # exponents of f32 and f16 are 112 apart; 0xFFF rounds up past one half


def element_of_lane(type: Attribute) -> Attribute:
    """The element type of a vector, or the scalar type itself."""
    return cast("VectorType[Attribute]", type).element_type if type.__class__ is VectorType else type


def lane_bits(type: Attribute) -> int:
    """The width in bits of a scalar, or of a vector's element."""
    return bit_width(element_of_lane(type))


@lru_cache(maxsize=4096)
def like(type: Attribute, element: Attribute) -> Attribute:
    """The type (interned) `element`, or a vector of it with as many lanes as `type`."""
    if type.__class__ is not VectorType:
        return element
    return VectorType(element, cast("VectorType[Attribute]", type).shape)


def splat(code: Code, value: float, type: Attribute) -> SSAValue:
    """A number as a constant of a scalar type, or in every lane of a vector."""
    return code.make(llvm.ConstantOp, [], type, {"value": number_attr(value, type)})


def is_soft(type: Attribute, target: TargetDescription) -> bool:
    """Whether a type is a half float that the target cannot compute."""
    element = element_of_lane(type)
    kind = element.__class__  # asked of each operand of each op on floats
    return kind is BFloat16Type or (kind is Float16Type and not target.has_half)


def wide_type(type: Attribute, target: TargetDescription) -> Attribute:
    """The type to compute a type in: f32 for a half float that the target cannot compute."""
    return like(type, f32) if is_soft(type, target) else type


def widened(code: Code, value: SSAValue) -> SSAValue:
    """A value converted to the type to compute it in."""
    type = value.type
    if not is_soft(type, code.state.target):
        return value
    if has_odd_lanes(type):
        return _shifted(code, value)
    if isinstance(element_of_lane(type), BFloat16Type):
        return code.make(llvm.FPExtOp, [value], like(type, f32))  # a shift
    return _from_half(code, value)


def narrowed(code: Code, value: SSAValue, type: Attribute) -> SSAValue:
    """A computed value rounded to the type `type` of the result."""
    if not is_soft(type, code.state.target):
        return value
    bits = _Bits(code, value)
    rounded = bits.to_bfloat16() if isinstance(element_of_lane(type), BFloat16Type) else bits.to_half()
    narrow = code.make(llvm.TruncOp, [rounded], like(type, _I16))
    return code.make(llvm.BitcastOp, [narrow], type)


def _shifted(code: Code, value: SSAValue) -> SSAValue:
    """bf16 as f32 by integer ops, because LLVM compares operands of `fpext` in bf16."""
    raw = code.make(llvm.BitcastOp, [value], like(value.type, _I16))
    bits = _Bits(code, code.make(llvm.ZExtOp, [raw], like(value.type, I32)))
    return code.make(llvm.BitcastOp, [bits.binary(llvm.ShlOp, bits.value, 16)], like(value.type, f32))


def _from_half(code: Code, value: SSAValue) -> SSAValue:
    """An f16, or a vector of it, as f32: exponent and fraction shifted into place, then scaled."""
    ints, floats = like(value.type, I32), like(value.type, f32)
    raw = code.make(llvm.BitcastOp, [value], like(value.type, _I16))
    bits = _Bits(code, code.make(llvm.ZExtOp, [raw], ints))
    magnitude = bits.binary(llvm.AndOp, bits.value, 0x7FFF)
    shifted = bits.binary(llvm.ShlOp, magnitude, 13)
    # The exponent's bias is now 112 too small: a multiplication corrects it, for denormals as well.
    scaled = code.make(
        llvm.FMulOp, [code.make(llvm.BitcastOp, [shifted], floats), splat(code, 2.0**112, floats)]
    )
    special = bits.binary(llvm.OrOp, shifted, _F32_INFINITY)
    finite = code.make(llvm.BitcastOp, [scaled], ints)
    result = bits.select(bits.compare("uge", magnitude, 0x7C00), special, finite)
    sign = bits.binary(llvm.ShlOp, bits.binary(llvm.AndOp, bits.value, 0x8000), 16)
    return code.make(llvm.BitcastOp, [bits.binary(llvm.OrOp, result, sign)], floats)


class _Bits:
    """The bits of f32 numbers in i32 lanes, and their rounding to half floats."""

    def __init__(self, code: Code, value: SSAValue):
        self._code = code
        self._type = like(value.type, I32)
        self.value = value if value.type == self._type else code.make(llvm.BitcastOp, [value], self._type)

    def binary(self, op: type[Operation], lhs: SSAValue, rhs: SSAValue | int) -> SSAValue:
        """A binary op on integers; an int becomes a constant in all lanes."""
        other = splat(self._code, rhs, self._type) if isinstance(rhs, int) else rhs
        return self._code.make(op, [lhs, other])

    def compare(self, predicate: str, lhs: SSAValue, rhs: int) -> SSAValue:
        """An integer comparison with a constant."""
        flag = int_attr(llvm.ICmpPredicateFlag(predicate).to_int())
        other = splat(self._code, rhs, self._type)
        return self._code.make(llvm.ICmpOp, [lhs, other], like(self._type, I1), {"predicate": flag})

    def select(self, condition: SSAValue, yes: SSAValue | int, no: SSAValue | int) -> SSAValue:
        """A select between integers; an int becomes a constant in all lanes."""
        values = [splat(self._code, v, self._type) if isinstance(v, int) else v for v in (yes, no)]
        return self._code.make(SelectOp, [condition, *values], self._type)

    def to_bfloat16(self) -> SSAValue:
        """The upper 16 bits, rounded to nearest even; NaN stays NaN."""
        upper = self.binary(llvm.LShrOp, self.value, 16)
        odd = self.binary(llvm.AndOp, upper, 1)
        sum = self.binary(llvm.AddOp, self.binary(llvm.AddOp, self.value, 0x7FFF), odd)
        rounded = self.binary(llvm.LShrOp, sum, 16)
        magnitude = self.binary(llvm.AndOp, self.value, _SIGN - 1)
        is_nan = self.compare("ugt", magnitude, _F32_INFINITY)
        return self.select(is_nan, self.binary(llvm.OrOp, upper, 0x40), rounded)

    def to_half(self) -> SSAValue:
        """The bits of the nearest f16, ties to even."""
        code = self._code
        floats = like(self._type, f32)
        magnitude = self.binary(llvm.AndOp, self.value, _SIGN - 1)
        # Below 2^-14 the last bit is 2^-24: adding 0.5 rounds there, and leaves the bits at the bottom.
        small = code.make(
            llvm.FAddOp, [code.make(llvm.BitcastOp, [magnitude], floats), splat(code, 0.5, floats)]
        )
        denormal = self.binary(llvm.SubOp, code.make(llvm.BitcastOp, [small], self._type), 0x3F000000)
        # Normal numbers: rebias the exponent and round up past one half, or at one half if odd.
        odd = self.binary(llvm.AndOp, self.binary(llvm.LShrOp, magnitude, 13), 1)
        rebiased = self.binary(llvm.SubOp, magnitude, _REBIAS)
        normal = self.binary(llvm.LShrOp, self.binary(llvm.AddOp, rebiased, odd), 13)
        # Overflow and NaN, then the sign.
        is_nan = self.compare("ugt", magnitude, _F32_INFINITY)
        special = self.select(is_nan, 0x7E00, 0x7C00)
        finite = self.select(self.compare("ult", magnitude, 0x38800000), denormal, normal)
        result = self.select(self.compare("uge", magnitude, 0x47800000), special, finite)
        sign = self.binary(llvm.LShrOp, self.binary(llvm.AndOp, self.value, _SIGN), 16)
        return self.binary(llvm.OrOp, result, sign)
