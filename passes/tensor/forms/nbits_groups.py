"""Loops over panels of columns and groups of rows that share unpacked codes of a few bits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.linalg_ext import MatmulNbitsOp
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.tensor_ir.tiles import dim_size
from stepwell.dialects.tensor_ir.transfers import read, vector_type, write
from stepwell.passes.tensor.forms.nbits_registers import as_floats
from stepwell.runtime.meaning.packed_codes import BYTES_IN_ELEMENT, codes_in_element

Carried: TypeAlias = Sequence[SSAValue]
ONE_BYTES = 0x01010101


@dataclass(frozen=True)
class Tile:
    """Some rows of the result, and the columns of a panel that are computed at a time."""

    panel: SSAValue
    count: int
    """The rows."""
    columns: int
    is_last: bool
    """Whether the panel may have columns that the result has not."""


@dataclass(frozen=True)
class RowGroup(ABC):
    """Emits the products of some rows with a panel, `columns` of it at a time."""

    op: MatmulNbitsOp
    tile: Tile

    @abstractmethod
    def totals(self, emit: IRBuilder, rows: Sequence[SSAValue], first: int) -> Carried:
        """For each row the products with columns of the panel, from `first` on, summed over all blocks."""

    @property
    def vectors(self) -> int:
        """The vectors of bytes of an element's codes."""
        return codes_in_element(self.op.bits.value.data) // BYTES_IN_ELEMENT

    def run(self, emit: IRBuilder, row: SSAValue, carried: Carried) -> Carried:
        """The result with the rows from `row` on written."""
        panel, (y,), tile = tensor_shape(self.op.codes)[-1], carried, self.tile
        start = emit.times(tile.panel, panel)
        rows = [emit.materialize(emit.plus(row, i)) for i in range(tile.count)]
        for first in range(0, panel, tile.columns):
            totals = self.totals(emit, rows, first)
            at = emit.materialize(emit.plus(start, first))
            for i, total in zip(rows, totals, strict=True):
                y = write(emit, total, y, [i, at], (1,), in_bounds=not tile.is_last)
        return [y]

    def parameter(self, emit: IRBuilder, source: SSAValue, at: Index, first: int) -> SSAValue:
        """The codes of an element or the parameters of a block, for some columns of the panel."""
        type = vector_type(tensor_element(source), (self.tile.columns,))
        return read(
            emit, source, [self.tile.panel, emit.materialize(at), emit.materialize(first)], type, (2,)
        )

    def points(self, emit: IRBuilder, block: SSAValue, first: int) -> SSAValue | None:
        """The zero points of a block as floats; None where all are the middle code."""
        if self.op.zero_points is None:
            return None
        return as_floats(emit, self.parameter(emit, self.op.zero_points, block, first))

    def four_codes(self, emit: IRBuilder, codes: SSAValue, number: int) -> SSAValue:
        """The bytes of an element that are four of its codes."""
        bits = self.op.bits.value.data
        if number:
            codes = emit.value(arith.ShRUIOp(codes, emit.number(bits * number, codes.type)))
        if self.vectors > 1:
            mask = ((1 << bits) - 1) * ONE_BYTES
            codes = emit.value(arith.AndIOp(codes, emit.number(mask, codes.type)))
        return codes


def by_groups(
    emit: IRBuilder, op: MatmulNbitsOp, y: SSAValue, tile: tuple[int, int], group: Callable[[Tile], RowGroup]
) -> SSAValue:
    """
    The tensor `y` with the product written: panels in parallel, in each groups of rows, then rows alone.

    Args: `tile` are the rows of a group and the columns that it computes at a time; a row alone computes
    those of a panel.
    """
    (most, columns), panel = tile, tensor_shape(op.codes)[-1]
    rows = dim_size(emit, op.init, 0)
    if isinstance(rows, int):
        most = max(1, min(most, rows))
    grouped, last = emit.rounded_down(rows, most), (op.columns - 1) // panel

    def one_panel(emit: IRBuilder, number: SSAValue, carried: Carried, *, is_last: bool = False) -> Carried:
        def of(count: int, columns: int) -> RowGroup:
            return group(Tile(number, count, columns, is_last))

        (y,) = emit.loop(0, grouped, most, carried, of(most, panel if most == 1 else columns).run)
        if grouped == rows:
            return [y]
        return emit.loop(grouped, rows, 1, [y], of(1, panel).run)

    if last:
        (y,) = emit.loop(0, last, 1, [y], one_panel, parallel=True)
    return one_panel(emit, emit.materialize(last), [y], is_last=True)[0]
