"""Ops of `arith` that are ours, in ops that upstream MLIR has: products of packed numbers, and scaling."""

from __future__ import annotations

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import IntegerAttr, IntegerType, ModuleOp, bf16, f32, f64, i1, i16, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects.arith import (
    DotBfloatsOp,
    DotBytesOp,
    DotPairsOp,
    DotShortsOp,
    PackBfloatsOp,
    PairBfloatsOp,
    ScaleOp,
    like,
    vector_form,
)
from stepwell.dialects.ir_builder import IRBuilder, number_attr

_OURS = DotBytesOp | DotShortsOp | DotPairsOp | DotBfloatsOp | PackBfloatsOp | PairBfloatsOp | ScaleOp
_BITS = 32


def expand_arithmetic(module: ModuleOp) -> None:
    """Replace our ops of `arith` in all functions."""
    for op in list(module.walk()):
        if isinstance(op, _OURS):
            shape = op.operands[0].type
            lanes = _Lanes(IRBuilder(InsertPoint.before(op), op.location), shape)
            op.result.replace_all_uses_with(lanes.expanded(op))
            Rewriter.erase_op(op)


class _Lanes:
    """Arithmetic on scalars, or on vectors of one shape."""

    def __init__(self, builder: IRBuilder, type: Attribute):
        self._builder, self._type = builder, type

    def expanded(self, op: Operation) -> SSAValue:
        """The result of an op of ours."""
        match op:
            case DotBytesOp():
                return self._dot(op, [(8 * n, 8, False) for n in range(4)])
            case DotShortsOp():
                return self._dot(op, [(16 * n, 16, True) for n in range(2)])
            case DotPairsOp():
                return self._pairs(op)
            case DotBfloatsOp():
                return self._bfloats(op)
            case PackBfloatsOp():
                rounded = self._value(arith.TruncFOp, [op.value], bf16)
                return self._builder.value(vector.BitcastOp(rounded, op.result.type))
            case PairBfloatsOp():
                halves = [self._value(arith.TruncFOp, [x], bf16) for x in op.operands]
                bits = [self._value(arith.BitcastOp, [x], i16) for x in halves]
                low, high = (self._value(arith.ExtUIOp, [x], i32) for x in bits)
                return self._int(arith.OrIOp, low, self._int(arith.ShLIOp, high, self._number(16)))
            case ScaleOp():
                return self._scaled(op)
            case _:
                raise TypeError(op.name)

    def _dot(self, op: DotBytesOp | DotShortsOp, parts: list[tuple[int, int, bool]]) -> SSAValue:
        """The sum of products of parts: first bit, width, and whether those of `lhs` are signed."""
        total = op.acc
        for first, width, is_signed in parts:
            a = self._part(op.lhs, first, width, is_signed)
            total = self._int(
                arith.AddiOp, total, self._int(arith.MuliOp, a, self._part(op.rhs, first, width))
            )
        return total

    def _pairs(self, op: DotPairsOp) -> SSAValue:
        """Two sums of 16 bits each, of two products of bytes."""
        halves: list[SSAValue] = []
        for half in range(2):
            total = self._part(op.acc, 16 * half, 16, False)
            for first in (16 * half, 16 * half + 8):
                a = self._part(op.lhs, first, 8, False)
                product = self._int(arith.MuliOp, a, self._part(op.rhs, first, 8))
                total = self._int(arith.AddiOp, total, product)
            halves.append(total)
        low = self._int(arith.AndIOp, halves[0], self._number(0xFFFF))
        return self._int(arith.OrIOp, low, self._int(arith.ShLIOp, halves[1], self._number(16)))

    def _bfloats(self, op: DotBfloatsOp) -> SSAValue:
        """Fused products of the upper halves, then of the lower ones."""
        total = op.acc
        for shift in (0, 16):
            a, b = (self._bfloat(value, shift) for value in (op.lhs, op.rhs))
            total = self._value(math.FmaOp, [a, b, total], f32, {"fastmath": arith.FastMathFlagsAttr("none")})
        return total

    def _bfloat(self, value: SSAValue, shift: int) -> SSAValue:
        """A half as a number: its bits are the upper ones of an f32."""
        moved = self._int(arith.ShLIOp, value, self._number(shift)) if shift else value
        upper = self._int(arith.AndIOp, moved, self._number(-1 << 16))
        return self._value(arith.BitcastOp, [upper], f32)

    def _scaled(self, op: ScaleOp) -> SSAValue:
        """
        A product in f64, where the power of 2 is a number for every exponent of f32, rounded once; NaN for an
        exponent that is NaN.
        """
        wide = self._value(arith.ExtFOp, [op.value], f64)
        exponent = self._value(arith.FPToSIOp, [op.exponent], i64)
        for bound, kind in ((-1000, arith.MaxSIOp), (1000, arith.MinSIOp)):
            exponent = self._value(kind, [exponent, self._number(bound, i64)], i64)
        bits = self._value(arith.AddiOp, [exponent, self._number(1023, i64)], i64, _EXACT)
        bits = self._value(arith.ShLIOp, [bits, self._number(52, i64)], i64, _EXACT)
        power = self._value(arith.BitcastOp, [bits], f64)
        product = self._value(arith.MulfOp, [wide, power], f64, _FAST)
        product = self._value(arith.TruncFOp, [product], f32)
        is_nan = self._value(arith.CmpfOp, [op.exponent, op.exponent], i1, _UNORDERED)
        return self._value(arith.SelectOp, [is_nan, op.exponent, product], f32)

    def _part(self, value: SSAValue, first: int, width: int, is_signed: bool = True) -> SSAValue:
        """Bits of each number, with their sign or without."""
        up = _BITS - first - width
        moved = self._int(arith.ShLIOp, value, self._number(up)) if up else value
        shift = arith.ShRSIOp if is_signed else arith.ShRUIOp
        return self._int(shift, moved, self._number(_BITS - width))

    def _number(self, number: int, type: IntegerType = i32) -> SSAValue:
        wanted = like(self._type, type)
        made = arith.ConstantOp.create(
            result_types=[wanted], properties={"value": number_attr(number, wanted)}
        )
        return self._builder.value(made)

    def _int(self, kind: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        return self._value(kind, [a, b], i32, _EXACT if kind in _WRAPPING else {})

    def _value(
        self,
        kind: type[Operation],
        operands: list[SSAValue],
        element: Attribute,
        properties: dict[str, Attribute] | None = None,
    ) -> SSAValue:
        type = like(self._type, element)
        made = vector_form(kind).create(operands=operands, result_types=[type], properties=properties or {})
        return self._builder.value(made)


_WRAPPING = (arith.AddiOp, arith.MuliOp, arith.ShLIOp)
_EXACT: dict[str, Attribute] = {"overflowFlags": arith.IntegerOverflowAttr("none")}
_FAST: dict[str, Attribute] = {"fastmath": arith.FastMathFlagsAttr("none")}
_UNORDERED = _FAST | {"predicate": IntegerAttr(arith.CMPF_COMPARISON_OPERATIONS.index("uno"), i64)}
