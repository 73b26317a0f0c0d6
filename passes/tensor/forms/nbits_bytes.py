"""Products of rows of bytes with weights of a few bits: sums of integers in a block, then of floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from stepwell.dialects.arith import DotBytesOp, DotPairsOp, DotShortsOp
from stepwell.dialects.costs.layouts import NBITS
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.linalg_ext import MatmulNbitsOp
from stepwell.dialects.tensor_ir.pieces import broadcast
from stepwell.dialects.tensor_ir.structured import tensor_shape
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.dialects.tensor_ir.transfers import read, vector_type
from stepwell.dialects.vector import MultiReductionOp
from stepwell.passes.tensor.forms.nbits_groups import ONE_BYTES, Carried, RowGroup, by_groups
from stepwell.passes.tensor.forms.nbits_registers import as_floats, fma
from stepwell.passes.tensor.forms.tree_loops import element, inserted
from stepwell.runtime.meaning.packed_codes import BYTES_IN_ELEMENT

_ONE_SHORTS = 0x00010001


def nbits_of_bytes(op: MatmulNbitsOp, sizes: Mapping[str, int], emit: IRBuilder) -> SSAValue:
    """
    `scf.for` over panels, groups of rows and columns of a panel; a vector has an element of each column.

    ```mlir
    scf.for %panel … {                                     // parallel
      scf.for %row … {
        %total = scf.for %block … {
          %codes = vector.transfer_read %codes[…] : …, vector<16xi32>
          %low = arith.andi %codes, %mask                  // 0x0f0f0f0f, for codes of 4 bits
          %0 = arith.dot_bytes %low, %x, %sum_so_far       // for each row of the group
          …
          vector.fma %block_sum, %scale, %total_so_far
        }
      }
    }
    ```
    With a size `pairs` so many `arith.dot_pairs` add up in 16 bits before an `arith.dot_shorts`.
    """
    return rows_of_bytes(emit, op, sizes, op.init)


def rows_of_bytes(emit: IRBuilder, op: MatmulNbitsOp, sizes: Mapping[str, int], y: SSAValue) -> SSAValue:
    """The tensor `y` with the product of all rows of bytes written."""
    sums, pairs = _sums(emit, op), sizes.get("pairs", 0)
    tile = sizes["rows"], sizes["columns"]
    return by_groups(emit, op, y, tile, lambda tile: _RowsOfBytes(op, tile, sums, pairs))


def _sums(emit: IRBuilder, op: MatmulNbitsOp) -> SSAValue:
    """
    For each row and block the scale times the sum of bytes, negative, times the middle code unless there are
    zero points.
    """
    assert op.x_scales is not None
    scales, type = op.x_scales, vector_type(i32, (BYTES_IN_ELEMENT,))
    per_block = op.block.value.data // BYTES_IN_ELEMENT
    origin = -1.0 if op.zero_points is not None else -float(1 << op.bits.value.data - 1)
    blocks, rows = tensor_shape(scales)[1], dim_size(emit, op.init, 0)
    kind = vector.CombiningKindAttr(vector.CombiningKindFlag.ADD)

    def one_row(emit: IRBuilder, row: SSAValue, carried: Carried) -> Carried:
        def one_block(emit: IRBuilder, block: SSAValue, carried: Carried) -> Carried:
            def one_vector(emit: IRBuilder, step: SSAValue, carried: Carried) -> Carried:
                at = emit.materialize(emit.plus(emit.times(block, per_block), step))
                x = read(emit, op.in_bytes, [row, at], type, (1,))
                return [emit.value(DotBytesOp(emit.number(ONE_BYTES, type), x, carried[0]))]

            (total,) = emit.loop(0, per_block, BYTES_IN_ELEMENT, [emit.number(0, type)], one_vector)
            number = emit.value(MultiReductionOp(kind, total, emit.number(0, i32), [0]))
            number = emit.value(arith.SIToFPOp(number, f32))
            scale = emit.value(arith.MulfOp(element(emit, scales, row, block), emit.number(origin, f32)))
            return [inserted(emit, emit.value(arith.MulfOp(number, scale)), carried[0], row, block)]

        return emit.loop(0, blocks, 1, carried, one_block)

    return emit.loop(0, rows, 1, [emit.empty(f32, [rows, blocks])], one_row)[0]


@dataclass(frozen=True)
class _RowsOfBytes(RowGroup):
    """Emits sums of integers for each block, and of floats over all blocks."""

    sums: SSAValue
    pairs: int
    """The sums of two products that are added in 16 bits; 0 for sums of four in 32 bits."""

    def totals(self, emit: IRBuilder, rows: Sequence[SSAValue], first: int) -> Carried:
        op, columns = self.op, self.tile.columns
        assert op.x_scales is not None
        x_scales, blocks = op.x_scales, tensor_shape(op.scales)[1]

        def one_block(emit: IRBuilder, block: SSAValue, carried: Carried) -> Carried:
            numbers = self._of_block(emit, rows, first, block)
            scale, points = self.parameter(emit, op.scales, block, first), self.points(emit, block, first)
            totals: list[SSAValue] = []
            for row, number, total in zip(rows, numbers, carried, strict=True):
                factor = broadcast(emit, element(emit, x_scales, row, block), columns)
                origin = broadcast(emit, element(emit, self.sums, row, block), columns)
                if points is not None:
                    origin = emit.value(arith.MulfOp(origin, points))
                own = fma(emit, as_floats(emit, number), factor, origin)
                totals.append(fma(emit, own, scale, total))
            return totals

        zero = emit.number(0.0, vector_type(f32, (columns,)))
        return emit.loop(0, blocks, 1, [zero] * len(rows), one_block)

    def _of_block(self, emit: IRBuilder, rows: Sequence[SSAValue], first: int, block: SSAValue) -> Carried:
        """For each row the sum of a block's products, as integers."""
        elements = self.op.block.value.data // (self.vectors * BYTES_IN_ELEMENT)
        most = max(1, self.pairs // self.vectors) if self.pairs else NBITS.unrolled
        unit = max(n for n in range(1, min(most, elements) + 1) if elements % n == 0)
        start, zero = emit.times(block, elements), emit.number(0, vector_type(i32, (self.tile.columns,)))

        def one_unit(emit: IRBuilder, step: Index, carried: Carried) -> Carried:
            totals = [zero] * len(rows) if self.pairs else list(carried)
            for offset in range(unit):
                at = emit.plus(emit.plus(start, step), offset)
                totals = self._with_element(emit, rows, first, at, totals)
            if not self.pairs:
                return totals
            ones = emit.number(_ONE_SHORTS, zero.type)
            return [emit.value(DotShortsOp(new, ones, old)) for new, old in zip(totals, carried, strict=True)]

        if unit == elements:
            return one_unit(emit, 0, [zero] * len(rows))
        return emit.loop(0, elements, unit, [zero] * len(rows), one_unit)

    def _with_element(
        self, emit: IRBuilder, rows: Sequence[SSAValue], first: int, at: Index, totals: Carried
    ) -> list[SSAValue]:
        """The sums so far plus the products of an element's codes, four by four."""
        codes = self.parameter(emit, self.op.codes, at, first)
        dot, made = DotPairsOp if self.pairs else DotBytesOp, list(totals)
        for number in range(self.vectors):
            four = self.four_codes(emit, codes, number)
            place = emit.plus(emit.times(at, self.vectors), number)
            for i, row in enumerate(rows):
                x = broadcast(emit, element(emit, self.op.in_bytes, row, place), self.tile.columns)
                made[i] = emit.value(dot(four, x, made[i]))
        return made
