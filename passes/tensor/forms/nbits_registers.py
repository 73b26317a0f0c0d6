"""
Products with weights of a few bits, a row after the other: codes become floats in registers.

A code is masked where it is in its element and converted there, so that it is a power of two too large: the
row's number is made as much smaller before. Zero points meet the sum of a block, not each weight:
Σ x (q - z) s = s (Σ x q - z Σ x). Source: section 5 of Frantar et al. 2024, "MARLIN", for the order of codes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.dialects.arith import vector_form
from stepwell.dialects.graph.nbits_products import LEAST_BLOCK
from stepwell.dialects.ir_builder import IRBuilder, dense_attr
from stepwell.dialects.linalg_ext import MatmulNbitsOp
from stepwell.dialects.tensor_ir.pieces import broadcast
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.dialects.tensor_ir.transfers import read, vector_of, vector_type, write
from stepwell.dialects.vector import MultiReductionOp
from stepwell.passes.tensor.forms.tree_loops import element, inserted
from stepwell.runtime.meaning.packed_codes import ELEMENT_BITS, codes_in_element, first_bit

Carried: TypeAlias = Sequence[SSAValue]


def nbits_in_registers(op: MatmulNbitsOp, sizes: Mapping[str, int], emit: IRBuilder) -> SSAValue:
    """
    `scf.for` over rows and panels of columns; a vector has an element of each column of the panel.

    ```mlir
    scf.for %row … {
      %numbers, %sums = …                              // the row's numbers scaled, their sum in each block
      scf.for %panel … {                               // parallel
        %total = scf.for %block … {
          %sum = scf.for %e … {
            %codes = vector.transfer_read %codes[%panel, %e, %c0] : …, vector<32xi32>
            %0 = arith.andi %codes, %mask              // for each code of the element
            %1 = arith.sitofp %0 : vector<32xi32> to vector<32xf32>
            vector.fma %1, %number, %sum_so_far
          }
          vector.fma %sum, %scale, %total_so_far
        }
      }
    }
    ```
    """
    return rows_in_registers(emit, op, sizes["chains"], op.init)


def rows_in_registers(emit: IRBuilder, op: MatmulNbitsOp, chains: int, y: SSAValue) -> SSAValue:
    """The tensor `y` with the product of each row written."""

    def one_row(emit: IRBuilder, row: SSAValue, carried: Carried) -> Carried:
        return [_Row(op, chains, row).run(emit, carried[0])]

    rows = dim_size(emit, op.x, 0)
    if rows == 1:
        return one_row(emit, emit.materialize(0), [y])[0]
    return emit.loop(0, rows, 1, [y], one_row)[0]


@dataclass(frozen=True)
class _Row:
    """Emits the product of one row with all columns."""

    op: MatmulNbitsOp
    chains: int
    row: SSAValue

    @property
    def _bits(self) -> int:
        return self.op.bits.value.data

    @property
    def _block(self) -> int:
        return self.op.block.value.data

    def run(self, emit: IRBuilder, y: SSAValue) -> SSAValue:
        """The tensor `y` with the row written: whole panels, then one that has fewer columns."""
        panel = tensor_shape(self.op.codes)[-1]
        numbers, sums = self._scaled(emit)
        whole, rest = divmod(self.op.columns, panel)

        def one_panel(emit: IRBuilder, number: SSAValue, carried: Carried) -> Carried:
            total = self._total(emit, number, numbers, sums)
            at = [self.row, emit.materialize(emit.times(number, panel))]
            return [write(emit, total, carried[0], at, (1,))]

        if whole:
            (y,) = emit.loop(0, whole, 1, [y], one_panel, parallel=True)
        if rest:
            total = self._total(emit, emit.materialize(whole), numbers, sums)
            at = [self.row, emit.materialize(whole * panel)]
            y = write(emit, total, y, at, (1,), in_bounds=False)
        return y

    def _scaled(self, emit: IRBuilder) -> tuple[SSAValue, SSAValue]:
        """
        The row's numbers, each as much smaller as its code is too large, and what blocks begin their sums at.

        Without zero points that is the sum of the block's numbers times the middle code, negative; with them,
        they are still to be multiplied.
        """
        blocks, type = tensor_shape(self.op.scales)[1], vector_type(f32, (LEAST_BLOCK,))
        zero = emit.number(0.0, type)
        factors = emit.constant(dense_attr(type, [self._factor(k) for k in range(LEAST_BLOCK)]), type)
        origin = -1.0 if self.op.zero_points is not None else -float(1 << self._bits - 1)
        is_whole = self.op.steps % self._block == 0

        def one_block(emit: IRBuilder, block: SSAValue, carried: Carried) -> Carried:
            first = emit.times(block, self._block)

            def one_vector(emit: IRBuilder, step: SSAValue, carried: Carried) -> Carried:
                numbers, total = carried
                at = emit.materialize(emit.plus(first, step))
                beyond = None if is_whole else emit.number(0.0, f32)
                x = read(emit, self.op.x, [self.row, at], type, (1,), beyond)
                scaled = emit.value(arith.MulfOp(x, factors))
                return [write(emit, scaled, numbers, [at], (0,)), emit.value(arith.AddfOp(total, x))]

            numbers, sums = carried
            numbers, total = emit.loop(0, self._block, LEAST_BLOCK, [numbers, zero], one_vector)
            kind = vector.CombiningKindAttr(vector.CombiningKindFlag.ADD)
            total = emit.value(MultiReductionOp(kind, total, emit.number(0.0, f32), [0]))
            total = emit.value(arith.MulfOp(total, emit.number(origin, f32)))
            return [numbers, inserted(emit, total, sums, block)]

        start = [emit.empty(f32, [blocks * self._block]), emit.empty(f32, [blocks])]
        numbers, sums = emit.loop(0, blocks, 1, start, one_block)
        return numbers, sums

    def _factor(self, number: int) -> float:
        """The power of two by which the code of a number in its element is too large, inverted."""
        low = first_bit(number % codes_in_element(self._bits), self._bits)
        # The highest code is shifted down, as its sign would be wrong.
        return 1.0 if low + self._bits == ELEMENT_BITS else 2.0**-low

    def _total(self, emit: IRBuilder, panel: SSAValue, numbers: SSAValue, sums: SSAValue) -> SSAValue:
        """The products of the row with a panel of columns, summed over all blocks."""
        _, blocks, width = tensor_shape(self.op.scales)
        floats = vector_type(f32, (width,))

        def one_block(emit: IRBuilder, block: SSAValue, carried: Carried) -> Carried:
            origin = broadcast(emit, element(emit, sums, block), width)
            if self.op.zero_points is not None:
                points = self._parameter(emit, self.op.zero_points, panel, block)
                origin = emit.value(arith.MulfOp(origin, as_floats(emit, points)))
            total = self._of_block(emit, panel, block, numbers, origin)
            return [fma(emit, total, self._parameter(emit, self.op.scales, panel, block), carried[0])]

        return emit.loop(0, blocks, 1, [emit.number(0.0, floats)], one_block)[0]

    @staticmethod
    def _parameter(emit: IRBuilder, source: SSAValue, panel: SSAValue, block: SSAValue) -> SSAValue:
        """The scales or zero points of a block, a lane for each column."""
        type = vector_type(tensor_element(source), tensor_shape(source)[-1:])
        return read(emit, source, [panel, block, emit.materialize(0)], type, (2,))

    def _of_block(
        self, emit: IRBuilder, panel: SSAValue, block: SSAValue, numbers: SSAValue, origin: SSAValue
    ) -> SSAValue:
        """The sum of a block's products, from `origin` on, in several chains that are added at its end."""
        each = codes_in_element(self._bits)
        per_block, type = self._block // each, vector_type(i32, tensor_shape(self.op.codes)[-1:])
        first = emit.times(block, per_block)

        def one_element(emit: IRBuilder, step: SSAValue, carried: Carried) -> Carried:
            totals, at = list(carried), emit.materialize(emit.plus(first, step))
            codes = read(emit, self.op.codes, [panel, at, emit.materialize(0)], type, (2,))
            start = emit.times(at, each)
            for number in range(each):
                x = element(emit, numbers, emit.materialize(emit.plus(start, number)))
                chain = number % self.chains
                weights = code_at(emit, codes, number, self._bits, in_place=True)
                totals[chain] = fma(emit, weights, broadcast(emit, x, type.get_shape()[0]), totals[chain])
            return totals

        zero = emit.number(0.0, origin.type)
        totals = emit.loop(0, per_block, 1, [origin, *[zero] * (self.chains - 1)], one_element)
        total = totals[0]
        for other in totals[1:]:
            total = emit.value(arith.AddfOp(total, other))
        return total


def code_at(emit: IRBuilder, elements: SSAValue, number: int, bits: int, *, in_place: bool) -> SSAValue:
    """
    The floats of a code of each element, by its number there.

    `in_place` they are 2^first bit too large, but for the highest code.
    """
    low, type = first_bit(number, bits), elements.type
    is_last = low + bits == ELEMENT_BITS
    if low and (is_last or not in_place):
        elements = emit.value(arith.ShRUIOp(elements, emit.number(low, type)))
        low = 0
    if not is_last:
        mask = emit.number(((1 << bits) - 1) << low, type)
        elements = emit.value(arith.AndIOp(elements, mask))
    return as_floats(emit, elements)


def as_floats(emit: IRBuilder, integers: SSAValue) -> SSAValue:
    """Vectors of integers as f32: of bytes without a sign, or of i32."""
    type = vector_of(integers)
    op_type = arith.SIToFPOp if type.element_type == i32 else arith.UIToFPOp
    return converted(emit, op_type, integers, f32)


def converted(emit: IRBuilder, op_type: type[Operation], vector: SSAValue, element: Attribute) -> SSAValue:
    """The elements of a vector converted to another type."""
    wanted = vector_type(element, vector_of(vector).get_shape())
    return emit.value(vector_form(op_type).create(operands=[vector], result_types=[wanted]))


def fma(emit: IRBuilder, a: SSAValue, b: SSAValue, total: SSAValue) -> SSAValue:
    """a · b + total, lane by lane."""
    return emit.value(vector.FMAOp.create(operands=[a, b, total], result_types=[total.type]))
