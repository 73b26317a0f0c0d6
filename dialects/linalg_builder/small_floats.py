"""Floats of 8 bits or fewer, stored as bytes: conversions to f32, and from f32 by rounding half to even."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    Float4E2M1FNType,
    Float6E2M3FNType,
    Float6E3M2FNType,
    Float8E4M3FNType,
    Float8E4M3FNUZType,
    Float8E5M2FNUZType,
    Float8E5M2Type,
    Float8E8M0FNUType,
    FloatAttr,
    IntegerAttr,
    f32,
    i8,
    i32,
)
from xdsl.ir import Attribute, SSAValue

_F32_FRACTION = 23
_F32_BIAS = 127


def _i32(number: int) -> SSAValue:
    return arith.ConstantOp(IntegerAttr(number, i32)).result


def _f32(number: float) -> SSAValue:
    return arith.ConstantOp(FloatAttr(number, f32)).result


def _bits(x: SSAValue) -> SSAValue:
    return arith.BitcastOp(x, i32).result


def _float(bits: SSAValue) -> SSAValue:
    return arith.BitcastOp(bits, f32).result


def _select(condition: SSAValue, a: SSAValue, b: SSAValue) -> SSAValue:
    return arith.SelectOp(condition, a, b).result


@dataclass(frozen=True)
class SmallFloat:
    """
    A binary format: a sign bit, `exponent` bits, `fraction` bits.

    `largest`, `infinity` and `nan` are the codes of the greatest number, of Inf (in formats that have it) and
    of NaN. A format that uses the code of -0 for NaN has no -0.
    """

    exponent: int
    fraction: int
    bias: int
    largest: int
    nan: int | None = None
    infinity: int | None = None

    @property
    def _magnitude_bits(self) -> int:
        return self.exponent + self.fraction

    @property
    def _nan_is_minus_zero(self) -> bool:
        return self.nan == 1 << self._magnitude_bits

    def decode(self, code: SSAValue) -> SSAValue:
        """The number that a code stands for, in f32."""
        wide = arith.ExtUIOp(code, i32).result
        magnitude = arith.AndIOp(wide, _i32((1 << self._magnitude_bits) - 1)).result
        # The code's bits, read as an f32, have an exponent that is too small by the difference of the biases.
        # The product that corrects it is exact, also for subnormal numbers.
        shifted = _float(arith.ShLIOp(magnitude, _i32(_F32_FRACTION - self.fraction)).result)
        number = arith.MulfOp(shifted, _f32(2.0 ** (_F32_BIAS - self.bias))).result
        if self.infinity is not None:
            is_infinite = arith.CmpiOp(magnitude, _i32(self.infinity), "eq").result
            number = _select(is_infinite, _f32(float("inf")), number)
            is_nan = arith.CmpiOp(magnitude, _i32(self.infinity), "ugt").result
            number = _select(is_nan, _f32(float("nan")), number)
        # Inf and NaN, then the sign.
        sign = arith.AndIOp(wide, _i32(1 << self._magnitude_bits)).result
        sign = arith.ShLIOp(sign, _i32(31 - self._magnitude_bits)).result
        number = _float(arith.OrIOp(_bits(number), sign).result)
        if self.infinity is None and self.nan is not None:
            found = wide if self._nan_is_minus_zero else magnitude
            is_nan = arith.CmpiOp(found, _i32(self.nan), "eq").result
            number = _select(is_nan, _f32(float("nan")), number)
        return number

    def encode(self, x: SSAValue, *, saturate: bool = True) -> SSAValue:
        """
        The code of an f32, rounded half to even.

        Numbers that are too large after rounding become the greatest number with `saturate`, else Inf or NaN;
        formats that have neither always saturate.
        """
        # Round the magnitude, and replace codes above the largest.
        magnitude = math.AbsFOp(x).result
        code = self._rounded(magnitude)
        beyond = arith.CmpiOp(code, _i32(self.largest), "sgt").result
        special = self.infinity if self.infinity is not None else self.nan
        over = self.largest if saturate or special is None else special
        signed = _select(beyond, _i32(over), code)
        # The sign bit; zero has none in formats without -0.
        sign = arith.ShRUIOp(_bits(x), _i32(31)).result
        sign = arith.ShLIOp(sign, _i32(self._magnitude_bits)).result
        if self._nan_is_minus_zero:
            is_zero = arith.CmpiOp(signed, _i32(0), "eq").result
            sign = _select(is_zero, _i32(0), sign)
        signed = arith.OrIOp(signed, sign).result
        # A format without NaN encodes NaN as -0, as ml_dtypes does.
        nan = 1 << self._magnitude_bits if self.nan is None else self.nan
        signed = _select(arith.CmpfOp(x, x, "uno").result, _i32(nan), signed)
        return arith.TruncIOp(signed, i8).result

    def _rounded(self, magnitude: SSAValue) -> SSAValue:
        """The code of the magnitude of a number, of any size, rounded half to even."""
        dropped = _F32_FRACTION - self.fraction
        bits = _bits(magnitude)
        last = arith.AndIOp(arith.ShRUIOp(bits, _i32(dropped)).result, _i32(1)).result
        half = arith.AddiOp(arith.AddiOp(bits, _i32((1 << dropped - 1) - 1)).result, last).result
        # Normal numbers: drop fraction bits with a carry into the exponent, then change its bias.
        rebiased = _i32((_F32_BIAS - self.bias) << self.fraction)
        normal = arith.SubiOp(arith.ShRUIOp(half, _i32(dropped)).result, rebiased).result
        # Adding a number with the last bit of the subnormals rounds at this bit, once.
        anchor = 2.0 ** (1 - self.bias - self.fraction + _F32_FRACTION)
        anchored = _bits(arith.AddfOp(magnitude, _f32(anchor)).result)
        subnormal = arith.SubiOp(anchored, _bits(_f32(anchor))).result
        is_subnormal = arith.CmpfOp(magnitude, _f32(2.0 ** (1 - self.bias)), "olt").result
        return _select(is_subnormal, subnormal, normal)


@dataclass(frozen=True)
class PowerOfTwo:
    """The format E8M0, 8 exponent bits and nothing else: 2 ** (code - 127), 255 is NaN."""

    def decode(self, code: SSAValue) -> SSAValue:
        """The power of two that a code stands for, in f32."""
        wide = arith.ExtUIOp(code, i32).result
        bits = arith.ShLIOp(wide, _i32(_F32_FRACTION)).result
        is_least = arith.CmpiOp(wide, _i32(0), "eq").result
        # 2 ** -127 is subnormal in f32.
        number = _float(_select(is_least, _i32(1 << _F32_FRACTION - 1), bits))
        return _select(arith.CmpiOp(wide, _i32(255), "eq").result, _f32(float("nan")), number)

    def encode(self, x: SSAValue, *, round: str = "nearest") -> SSAValue:
        """The code of an f32, rounded up, down or to the nearest power; negative numbers are NaN."""
        bits = _bits(x)
        exponent = arith.ShRUIOp(bits, _i32(_F32_FRACTION)).result
        fraction = arith.AndIOp(bits, _i32((1 << _F32_FRACTION) - 1)).result
        code = exponent
        if round != "down":
            half = 1 << _F32_FRACTION - 1
            # Subnormal numbers encode the power in the fraction.
            usual, least = (half, half + half // 2) if round == "nearest" else (1, half + 1)
            is_least = arith.CmpiOp(exponent, _i32(0), "eq").result
            threshold = _select(is_least, _i32(least), _i32(usual))
            up = arith.ExtUIOp(arith.CmpiOp(fraction, threshold, "uge").result, i32).result
            code = arith.MinSIOp(arith.AddiOp(exponent, up).result, _i32(254)).result
        legal = arith.CmpiOp(bits, _i32(0x7F800000), "ult").result  # not negative, Inf or NaN
        minus_zero = arith.CmpiOp(bits, _i32(-(1 << 31)), "eq").result
        code = _select(legal, code, _select(minus_zero, _i32(0), _i32(255)))
        return arith.TruncIOp(code, i8).result


SMALL_FLOATS: Mapping[Attribute, SmallFloat | PowerOfTwo] = {
    Float8E4M3FNType(): SmallFloat(4, 3, 7, largest=0x7E, nan=0x7F),
    Float8E4M3FNUZType(): SmallFloat(4, 3, 8, largest=0x7F, nan=0x80),
    Float8E5M2Type(): SmallFloat(5, 2, 15, largest=0x7B, nan=0x7E, infinity=0x7C),
    Float8E5M2FNUZType(): SmallFloat(5, 2, 16, largest=0x7F, nan=0x80),
    Float8E8M0FNUType(): PowerOfTwo(),
    Float6E2M3FNType(): SmallFloat(2, 3, 1, largest=0x1F),
    Float6E3M2FNType(): SmallFloat(3, 2, 3, largest=0x1F),
    Float4E2M1FNType(): SmallFloat(2, 1, 1, largest=0x7),
}
