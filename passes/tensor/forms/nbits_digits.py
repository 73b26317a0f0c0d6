"""
Products of floats with weights of a few bits: numbers become three digits, which are bytes.

The numbers of a part of a block become integers of 24 bits with a common scale 2^e, the least for which the
greatest one fits; their bytes are digits of base 256. Sums of the products of a digit with codes are exact,
and so is, modulo 2^32, what the three sums make together: with codes of at most 4 bits around the middle one
it fits 32 bits. A number is off by at most 2^-23 of the greatest magnitude in its part, half of a last place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, math, vector
from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import SSAValue

from stepwell.dialects.arith import DotBytesOp, SelectOp
from stepwell.dialects.graph.nbits_products import LEAST_BLOCK
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.linalg_ext import MatmulNbitsOp
from stepwell.dialects.tensor_ir.pieces import broadcast
from stepwell.dialects.tensor_ir.structured import tensor_shape
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.dialects.tensor_ir.transfers import read, vector_type, write
from stepwell.dialects.vector import MultiReductionOp
from stepwell.passes.tensor.forms.nbits_groups import Carried, RowGroup, by_groups
from stepwell.passes.tensor.forms.nbits_registers import as_floats, converted, fma
from stepwell.passes.tensor.forms.tree_loops import element, inserted
from stepwell.runtime.meaning.packed_codes import BYTES_IN_ELEMENT

_DIGITS, _DIGIT_BITS = 3, 8
_GREATEST = float((1 << 23) - 1)
_FRACTION_BITS, _EXPONENT = 23, 0x7F800000
_ROOM = (_DIGITS * _DIGIT_BITS - 2) << _FRACTION_BITS
"""Of the exponents of the greatest number and of the scale, the difference."""
_ONE_TWICE = 254 << _FRACTION_BITS
"""The sum of the exponents of a power of two and of its inverse."""


def nbits_by_digits(op: MatmulNbitsOp, sizes: Mapping[str, int], emit: IRBuilder) -> SSAValue:
    """
    `scf.for` over rows and parts of blocks, which become digits, then over panels and groups of rows.

    ```mlir
    %e = vector.multi_reduction <maxsi>, %exponents, … [0]        // of a part of a row
    %numbers = arith.fptosi …                                     // times 2^-e, rounded
    %bytes = arith.trunci …                                       // for each digit
    scf.for %panel … {                                            // parallel
      scf.for %row … {
        %total = scf.for %block … {
          %0, %1, %2 = scf.for %element … {
            arith.dot_bytes %codes, %digit_0, …                   // for each four codes of the element
            arith.dot_bytes %digit_1, %codes, …
            arith.dot_bytes %digit_2, %codes, …
          }
          %sum = …                                                // (%0 · 256 + %1) · 256 + %2
          %number = arith.mulf %sum, %unit                        // 2^e, of the part
          vector.fma %number, %scale, %total_so_far
        }
      }
    }
    ```
    """
    return rows_by_digits(emit, op, sizes, op.init)


def rows_by_digits(emit: IRBuilder, op: MatmulNbitsOp, sizes: Mapping[str, int], y: SSAValue) -> SSAValue:
    """The tensor `y` with the product of each row written; a row with infinity is NaN."""
    digits, tile = _digits(emit, op), (sizes["digit_rows"], sizes["columns"])
    return by_groups(emit, op, y, tile, lambda tile: _RowsOfDigits(op, tile, digits))


@dataclass(frozen=True)
class _Digits:
    """The rows as digits, and numbers for each part of a row."""

    bytes: SSAValue
    """[rows, digits, K / 4]: four bytes an element."""
    units: SSAValue
    """[rows, parts]: the scales, powers of two; NaN for a part with infinity."""
    origins: SSAValue
    """[rows, parts]: the sums of integers times the middle code, negative."""
    sums: SSAValue | None
    """[rows, parts]: those sums times the scale; None without zero points."""


def _part_of(op: MatmulNbitsOp) -> int:
    """The numbers of a part: as many as sums of their products with 4 bits around the middle fit 32 bits."""
    return 2 * LEAST_BLOCK if op.block.value.data % (2 * LEAST_BLOCK) == 0 else LEAST_BLOCK


def _middle(op: MatmulNbitsOp) -> int:
    return 1 << op.bits.value.data - 1


def _digits(emit: IRBuilder, op: MatmulNbitsOp) -> _Digits:
    """All rows as digits."""
    width, rows = _part_of(op), dim_size(emit, op.init, 0)
    steps = tensor_shape(op.scales)[1] * op.block.value.data
    parts = steps // width
    tensors = [emit.empty(i32, [rows, _DIGITS, steps // BYTES_IN_ELEMENT])]
    tensors += [emit.empty(type, [rows, parts]) for type in (f32, i32)]
    if op.zero_points is not None:
        tensors.append(emit.empty(f32, [rows, parts]))

    def one_row(emit: IRBuilder, row: SSAValue, carried: Carried) -> Carried:
        def one_part(emit: IRBuilder, part: SSAValue, carried: Carried) -> Carried:
            return _with_part(emit, op, row, part, carried)

        return emit.loop(0, parts, 1, carried, one_part)

    bytes, units, origins, *sums = emit.loop(0, rows, 1, tensors, one_row)
    return _Digits(bytes, units, origins, sums[0] if sums else None)


def _with_part(
    emit: IRBuilder, op: MatmulNbitsOp, row: SSAValue, part: SSAValue, carried: Carried
) -> list[SSAValue]:
    """The tensors of `_Digits` with a part of a row written."""
    bytes, units, origins, *sums = carried
    first = emit.times(part, _part_of(op))
    floats, integers = (vector_type(type, (LEAST_BLOCK,)) for type in (f32, i32))
    beyond = emit.number(0.0, f32) if op.steps % op.block.value.data else None
    places = [emit.plus(first, at) for at in range(0, _part_of(op), LEAST_BLOCK)]
    x = [read(emit, op.x, [row, emit.materialize(at)], floats, (1,), beyond) for at in places]
    exponent = _greatest_exponent(emit, x)
    unit = emit.value(arith.SubiOp(exponent, emit.number(_ROOM, i32)))
    inverse = emit.value(arith.SubiOp(emit.number(_ONE_TWICE, i32), unit))
    factor = broadcast(emit, emit.value(arith.BitcastOp(inverse, f32)), LEAST_BLOCK)
    total = emit.number(0, integers)
    for at, number in zip(places, x, strict=True):
        whole = _rounded(emit, number, factor)
        total = emit.value(arith.AddiOp(total, whole))
        word = emit.quotient(at, BYTES_IN_ELEMENT)
        bytes = _with_digits(emit, whole, bytes, row, emit.materialize(word))
    scale = _or_nan(emit, exponent, emit.value(arith.BitcastOp(unit, f32)))
    sum = _reduced(emit, "ADD", total, emit.number(0, i32))
    origin = emit.value(arith.MuliOp(sum, emit.number(-_middle(op), i32)))
    made = [bytes, inserted(emit, scale, units, row, part), inserted(emit, origin, origins, row, part)]
    if sums:
        sum = emit.value(arith.MulfOp(emit.value(arith.SIToFPOp(sum, f32)), scale))
        made.append(inserted(emit, sum, sums[0], row, part))
    return made


def _or_nan(emit: IRBuilder, exponent: SSAValue, number: SSAValue) -> SSAValue:
    """A number of a part; NaN if that has infinity or NaN, by the bits of its greatest exponent."""
    is_finite = emit.compare("slt", exponent, emit.number(_EXPONENT, i32))
    return emit.value(SelectOp(is_finite, number, emit.number(float("nan"), f32)))


def _greatest_exponent(emit: IRBuilder, x: Sequence[SSAValue]) -> SSAValue:
    """The bits of the greatest exponent of some vectors, in place; not so small that scales are denormal."""
    bits = vector_type(i32, (LEAST_BLOCK,))
    mask, exponents = emit.number(_EXPONENT, bits), list[SSAValue]()
    for number in x:
        number = emit.value(arith.BitcastOp(number, bits))
        exponents.append(emit.value(arith.AndIOp(number, mask)))
    greatest = exponents[0]
    for other in exponents[1:]:
        greatest = emit.value(arith.MaxSIOp(greatest, other))
    least = _ROOM + (1 << _FRACTION_BITS)
    return _reduced(emit, "MAXSI", greatest, emit.number(least, i32))


def _rounded(emit: IRBuilder, x: SSAValue, factor: SSAValue) -> SSAValue:
    """Numbers times a factor as integers of 24 bits, but for the least of these; larger ones are cut off."""
    x = emit.value(arith.MulfOp(x, factor))
    x = emit.value(arith.MinnumfOp(x, emit.number(_GREATEST, x.type)))
    x = emit.value(arith.MaxnumfOp(x, emit.number(-_GREATEST, x.type)))
    return converted(emit, arith.FPToSIOp, emit.value(math.RoundEvenOp(x)), i32)


def _with_digits(
    emit: IRBuilder, numbers: SSAValue, bytes: SSAValue, row: SSAValue, word: SSAValue
) -> SSAValue:
    """The tensor of bytes with the digits of a vector written, the highest one first."""
    four = vector_type(i32, (LEAST_BLOCK // BYTES_IN_ELEMENT,))
    for digit in range(_DIGITS):
        shifted = numbers
        if low := _DIGIT_BITS * (_DIGITS - 1 - digit):
            shifted = emit.value(arith.ShRUIOp(numbers, emit.number(low, numbers.type)))
        narrow = converted(emit, arith.TruncIOp, shifted, i8)
        word_of_bytes = emit.value(vector.BitcastOp(narrow, four))
        bytes = write(emit, word_of_bytes, bytes, [row, emit.materialize(digit), word], (2,))
    return bytes


def _reduced(emit: IRBuilder, kind: str, source: SSAValue, start: SSAValue) -> SSAValue:
    """The lanes of a vector combined."""
    flag = vector.CombiningKindAttr(vector.CombiningKindFlag[kind])
    return emit.value(MultiReductionOp(flag, source, start, [0]))


@dataclass(frozen=True)
class _RowsOfDigits(RowGroup):
    """Emits sums of integers for each part of a block, and of floats over all parts and blocks."""

    digits: _Digits

    def totals(self, emit: IRBuilder, rows: Sequence[SSAValue], first: int) -> Carried:
        zero = emit.number(0.0, vector_type(f32, (self.tile.columns,)))
        zeros, parts = [zero] * len(rows), self.op.block.value.data // _part_of(self.op)

        def one_block(emit: IRBuilder, block: SSAValue, carried: Carried) -> Carried:
            below, start = self.points(emit, block, first), emit.times(block, parts)
            if below is not None:
                middle = emit.number(float(_middle(self.op)), below.type)
                below = emit.value(arith.SubfOp(middle, below))

            def one_part(emit: IRBuilder, step: Index, carried: Carried) -> Carried:
                part = emit.materialize(emit.plus(start, step))
                return self._with_part(emit, rows, (part, first), below, carried)

            own = one_part(emit, 0, []) if parts == 1 else emit.loop(0, parts, 1, zeros, one_part)
            scale = self.parameter(emit, self.op.scales, block, first)
            return [fma(emit, sum, scale, total) for sum, total in zip(own, carried, strict=True)]

        return emit.loop(0, tensor_shape(self.op.scales)[1], 1, zeros, one_block)

    def _with_part(
        self,
        emit: IRBuilder,
        rows: Sequence[SSAValue],
        at: tuple[SSAValue, int],
        below: SSAValue | None,
        totals: Carried,
    ) -> list[SSAValue]:
        """
        For each row, the sum so far (if any) plus the products of a part. `below` has the distances of the
        zero points below the middle.
        """
        (part, _), made = at, list[SSAValue]()
        for row, whole in zip(rows, self._integers(emit, rows, *at), strict=True):
            unit = self._of_part(emit, self.digits.units, row, part)
            number = emit.value(arith.MulfOp(as_floats(emit, whole), unit))
            if below is not None:
                assert self.digits.sums is not None
                number = fma(emit, self._of_part(emit, self.digits.sums, row, part), below, number)
            made.append(number)
        if not totals:
            return made
        return [emit.value(arith.AddfOp(total, number)) for total, number in zip(totals, made, strict=True)]

    def _of_part(self, emit: IRBuilder, source: SSAValue, row: SSAValue, part: SSAValue) -> SSAValue:
        """A number of a part of a row, in all lanes."""
        return broadcast(emit, element(emit, source, row, part), self.tile.columns)

    def _integers(
        self, emit: IRBuilder, rows: Sequence[SSAValue], part: SSAValue, first: int
    ) -> list[SSAValue]:
        """For each row the sum of a part's products with codes around the middle one."""
        zero = emit.number(0, vector_type(i32, (self.tile.columns,)))
        sums = [[zero, zero, self._of_part(emit, self.digits.origins, row, part)] for row in rows]
        elements = _part_of(self.op) // (self.vectors * BYTES_IN_ELEMENT)
        start = emit.times(part, elements)

        def one_element(emit: IRBuilder, offset: Index, carried: Carried) -> Carried:
            at, flat = emit.plus(start, offset), list(carried)
            codes = self.parameter(emit, self.op.codes, at, first)
            for number in range(self.vectors):
                four = self.four_codes(emit, codes, number)
                place = emit.plus(emit.times(at, self.vectors), number)
                for i, row in enumerate(rows):
                    own = slice(_DIGITS * i, _DIGITS * (i + 1))
                    flat[own] = self._added(emit, row, place, four, flat[own])
            return flat

        flat: Carried = [sum for own in sums for sum in own]
        flat = one_element(emit, 0, flat) if elements == 1 else emit.loop(0, elements, 1, flat, one_element)
        return [self._joined(emit, flat[i : i + _DIGITS]) for i in range(0, len(flat), _DIGITS)]

    def _added(
        self, emit: IRBuilder, row: SSAValue, place: Index, codes: SSAValue, sums: Carried
    ) -> list[SSAValue]:
        """The sum of each digit plus its products with four codes; only the highest digit has a sign."""
        made: list[SSAValue] = []
        for digit, sum in enumerate(sums):
            x = broadcast(emit, element(emit, self.digits.bytes, row, digit, place), self.tile.columns)
            factors = (x, codes) if digit else (codes, x)
            made.append(emit.value(DotBytesOp(*factors, sum)))
        return made

    @staticmethod
    def _joined(emit: IRBuilder, sums: Sequence[SSAValue]) -> SSAValue:
        """The number whose digits are the sums."""
        joined = sums[0]
        for sum in sums[1:]:
            shifted = emit.value(arith.ShLIOp(joined, emit.number(_DIGIT_BITS, joined.type)))
            joined = emit.value(arith.AddiOp(shifted, sum))
        return joined
