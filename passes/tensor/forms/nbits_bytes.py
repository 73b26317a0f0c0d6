"""Products of rows of bytes with weights of a few bits: sums of integers in a block, then of floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from stepwell.dialects.arith import DotBytesOp, DotPairsOp, DotShortsOp
from stepwell.dialects.costs.layouts import NBITS
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.linalg_ext import MatmulNbitsOp
from stepwell.dialects.tensor_ir.pieces import broadcast
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.dialects.tensor_ir.transfers import read, vector_type, write
from stepwell.dialects.vector import MultiReductionOp
from stepwell.passes.tensor.forms.nbits_registers import as_floats, fma
from stepwell.passes.tensor.forms.tree_loops import element, inserted
from stepwell.runtime.meaning.packed_codes import BYTES_IN_ELEMENT, codes_in_element

Carried: TypeAlias = Sequence[SSAValue]
_ONE_BYTES, _ONE_SHORTS = 0x01010101, 0x00010001


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
    panel = tensor_shape(op.codes)[-1]
    rows, most = dim_size(emit, op.init, 0), sizes["rows"]
    if isinstance(rows, int):
        most = max(1, min(most, rows))
    sums, grouped = _sums(emit, op), emit.rounded_down(rows, most)
    last = (op.columns - 1) // panel

    def one_panel(emit: IRBuilder, number: SSAValue, carried: Carried, *, is_last: bool = False) -> Carried:
        def of(count: int, columns: int) -> _Rows:
            return _Rows(op, sums, number, count, columns, sizes.get("pairs", 0), is_last)

        (y,) = emit.loop(0, grouped, most, carried, of(most, panel if most == 1 else sizes["columns"]).run)
        if grouped == rows:
            return [y]
        return emit.loop(grouped, rows, 1, [y], of(1, panel).run)

    if last:
        (y,) = emit.loop(0, last, 1, [y], one_panel, parallel=True)
    return one_panel(emit, emit.materialize(last), [y], is_last=True)[0]


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
                return [emit.value(DotBytesOp(emit.number(_ONE_BYTES, type), x, carried[0]))]

            (total,) = emit.loop(0, per_block, BYTES_IN_ELEMENT, [emit.number(0, type)], one_vector)
            number = emit.value(MultiReductionOp(kind, total, emit.number(0, i32), [0]))
            number = emit.value(arith.SIToFPOp(number, f32))
            scale = emit.value(arith.MulfOp(element(emit, scales, row, block), emit.number(origin, f32)))
            return [inserted(emit, emit.value(arith.MulfOp(number, scale)), carried[0], row, block)]

        return emit.loop(0, blocks, 1, carried, one_block)

    return emit.loop(0, rows, 1, [emit.empty(f32, [rows, blocks])], one_row)[0]


@dataclass(frozen=True)
class _Rows:
    """Emits the products of some rows with a panel, `columns` of it at a time."""

    op: MatmulNbitsOp
    sums: SSAValue
    panel: SSAValue
    count: int
    columns: int
    pairs: int
    """The sums of two products that are added in 16 bits; 0 for sums of four in 32 bits."""
    is_last: bool
    """Whether the panel may have columns that the result has not."""

    @property
    def _parts(self) -> int:
        """The vectors of bytes of an element's codes."""
        return codes_in_element(self.op.bits.value.data) // BYTES_IN_ELEMENT

    def run(self, emit: IRBuilder, row: SSAValue, carried: Carried) -> Carried:
        """The result with the rows from `row` on written."""
        panel, (y,) = tensor_shape(self.op.codes)[-1], carried
        start = emit.times(self.panel, panel)
        rows = [emit.materialize(emit.plus(row, i)) for i in range(self.count)]
        for first in range(0, panel, self.columns):
            totals = self._totals(emit, rows, first)
            at = emit.materialize(emit.plus(start, first))
            for i, total in zip(rows, totals, strict=True):
                y = write(emit, total, y, [i, at], (1,), in_bounds=not self.is_last)
        return [y]

    def _totals(self, emit: IRBuilder, rows: Sequence[SSAValue], first: int) -> Carried:
        """For each row the products with columns of the panel, from `first` on, summed over all blocks."""
        op, floats = self.op, vector_type(f32, (self.columns,))
        assert op.x_scales is not None
        x_scales, blocks = op.x_scales, tensor_shape(op.scales)[1]

        def one_block(emit: IRBuilder, block: SSAValue, carried: Carried) -> Carried:
            numbers = self._of_block(emit, rows, first, block)
            scale = self._read(emit, op.scales, block, first)
            points = None
            if op.zero_points is not None:
                points = as_floats(emit, self._read(emit, op.zero_points, block, first))
            totals: list[SSAValue] = []
            for row, number, total in zip(rows, numbers, carried, strict=True):
                factor = broadcast(emit, element(emit, x_scales, row, block), self.columns)
                origin = broadcast(emit, element(emit, self.sums, row, block), self.columns)
                if points is not None:
                    origin = emit.value(arith.MulfOp(origin, points))
                own = fma(emit, as_floats(emit, number), factor, origin)
                totals.append(fma(emit, own, scale, total))
            return totals

        return emit.loop(0, blocks, 1, [emit.number(0.0, floats)] * len(rows), one_block)

    def _read(self, emit: IRBuilder, source: SSAValue, place: Index, first: int) -> SSAValue:
        """The codes or parameters of some columns of the panel."""
        type = vector_type(tensor_element(source), (self.columns,))
        at = [self.panel, emit.materialize(place), emit.materialize(first)]
        return read(emit, source, at, type, (2,))

    def _of_block(self, emit: IRBuilder, rows: Sequence[SSAValue], first: int, block: SSAValue) -> Carried:
        """For each row the sum of a block's products, as integers."""
        elements = self.op.block.value.data // (self._parts * BYTES_IN_ELEMENT)
        most = max(1, self.pairs // self._parts) if self.pairs else NBITS.unrolled
        unit = max(n for n in range(1, min(most, elements) + 1) if elements % n == 0)
        start, zero = emit.times(block, elements), emit.number(0, vector_type(i32, (self.columns,)))

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
        codes, bits = self._read(emit, self.op.codes, at, first), self.op.bits.value.data
        dot, made = DotPairsOp if self.pairs else DotBytesOp, list(totals)
        for part in range(self._parts):
            numbers = codes
            if part:
                numbers = emit.value(arith.ShRUIOp(codes, emit.number(bits * part, codes.type)))
            if self._parts > 1:
                mask = ((1 << bits) - 1) * _ONE_BYTES
                numbers = emit.value(arith.AndIOp(numbers, emit.number(mask, codes.type)))
            place = emit.plus(emit.times(at, self._parts), part)
            for i, row in enumerate(rows):
                x = broadcast(emit, element(emit, self.op.in_bytes, row, place), self.columns)
                made[i] = emit.value(dot(numbers, x, made[i]))
        return made
