"""The elements of a product that a thread computes: sums in registers, then the ops that follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import arith, math, scf
from xdsl.ir import SSAValue

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched import STAGES
from stepwell.dialects.tensor_ir.structured import projected_permutation
from stepwell.dialects.types import int_attr
from stepwell.passes.loop.gpu.nests import computed, load_element, split_number
from stepwell.passes.loop.gpu.product_copies import StagedOperand
from stepwell.passes.loop.gpu.product_frame import Frame, clamped, inside_condition, only_where

StorePoint: TypeAlias = Callable[[IRBuilder, Sequence[Index], SSAValue], None]
"""What stores an element of the output, at its indices there."""


class ProductThread:
    """The elements of the output that a thread computes: rows and columns in steps of the thread's grid."""

    def __init__(self, frame: Frame, store: StorePoint, at: IRBuilder, stages: int):
        self.frame, self._store_point, self._at, self._stages = frame, store, at, stages
        self.row, self.column = self.first_element(at)
        tile = frame.tile
        self.rows = [i * tile.inner_grid[0] for i in range(tile.inner_rows)]
        self.columns = [j * tile.inner_grid[1] for j in range(tile.inner_columns)]

    def first_element(self, at: IRBuilder) -> Sequence[Index]:
        """The row and the column of the thread's first element in the tile."""
        return split_number(at, self.frame.thread, self.frame.tile.inner_grid)

    def build(self, start: SSAValue | None) -> None:
        """Compute and store the elements; without a start, sums start from the output."""
        at, frame = self._at, self.frame
        left, right = (
            StagedOperand(frame, operand, at) for operand in (frame.product.left, frame.product.right)
        )

        def step(inside: IRBuilder, begin: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            left.copy(inside, begin)
            right.copy(inside, begin)
            return self.multiply(inside, begin, left, right, sums)

        first = self._initial(start)
        sums = at.loop(*frame.sums(at), frame.tile.sums, first, step)
        loop = at.insertion_point.block.last_op
        if self._stages > 1 and isinstance(loop, scf.ForOp):
            loop.attributes[STAGES] = int_attr(self._stages)
        self._store(sums)

    def _elements(self) -> tuple[list[Index], list[Index]]:
        """
        The rows and the columns of the thread's elements.

        They are computed where they are needed: kept through the loop over sums, they would take a register
        each, and a tile of 128 x 64 spilled one.
        """
        at, frame = self._at, self.frame
        first_row, first_column = at.plus(frame.first_row, self.row), at.plus(frame.first_column, self.column)
        rows = [at.plus(first_row, step) for step in self.rows]
        return rows, [at.plus(first_column, step) for step in self.columns]

    def _initial(self, start: SSAValue | None) -> list[SSAValue]:
        """The values that the sums start from, row by row."""
        if start is not None:
            return [start] * (len(self.rows) * len(self.columns))
        at, frame = self._at, self.frame
        rows, columns = self._elements()
        product, totals, tile = frame.product, frame.totals, frame.tile
        of_rows = [frame.split(at, product.rows, clamped(at, row, totals.rows, tile.rows)) for row in rows]
        of_columns = [
            frame.split(at, product.columns, clamped(at, column, totals.columns, tile.columns))
            for column in columns
        ]
        output, map = frame.nest.outputs[0], frame.nest.output_maps[0]
        return [load_element(at, output, map, frame.point(r, c)) for r in of_rows for c in of_columns]

    def multiply(
        self,
        at: IRBuilder,
        begin: SSAValue,
        left: StagedOperand,
        right: StagedOperand,
        sums: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """
        The loop over the sum's indices in a tile; without the ones past the end, where zeros would change the
        result.
        """
        frame = self.frame
        stop: Index = frame.tile.sums
        if not frame.has_whole_sums() and not frame.product.is_multiply_add:
            stop = at.binary(arith.MinUIOp, at.minus(frame.totals.sums, begin), stop)

        def step(inside: IRBuilder, k: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            a = [left.element(inside, k, inside.plus(self.row, place)) for place in self.rows]
            b = [right.element(inside, k, inside.plus(self.column, place)) for place in self.columns]
            pairs = [(x, y) for x in a for y in b]
            return [self._body(inside, x, y, total) for (x, y), total in zip(pairs, carried, strict=True)]

        return at.loop(0, stop, 1, sums, step)

    def _body(self, at: IRBuilder, a: SSAValue, b: SSAValue, total: SSAValue) -> SSAValue:
        """A step of the reduction for one element of the output."""
        product = self.frame.product
        if product.is_multiply_add:
            return at.value(math.FmaOp(a, b, total))
        first, second = (a, b) if product.left == 0 else (b, a)
        return computed(at, product.nest, [first, second, total], self.frame.point())[0]

    def _store(self, sums: Sequence[SSAValue]) -> None:
        """Compute the ops of the chain for each element, and store them."""
        at, frame = self._at, self.frame
        rows, columns = self._elements()
        totals, tile, product = frame.totals, frame.tile, frame.product
        loops = projected_permutation(frame.nest.output_maps[0]) or ()
        row_checks = [inside_condition(at, row, totals.rows, tile.rows) for row in rows]
        column_checks = [inside_condition(at, column, totals.columns, tile.columns) for column in columns]
        of_columns = [frame.split(at, product.columns, column) for column in columns]
        for i, row in enumerate(rows):
            of_row = frame.split(at, product.rows, row)
            for j in range(len(columns)):
                checks = row_checks[i], column_checks[j]
                point, value = frame.point(of_row, of_columns[j]), sums[i * len(columns) + j]
                with only_where(at, checks) as inside:
                    self._store_point(inside, [point[loop] for loop in loops], value)
