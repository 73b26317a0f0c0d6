"""The elements of a product that a thread computes with its warp, on tensor cores."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from stepwell.dialects.gpu.tensor_cores import F32_PRODUCTS, MATRIX_COLUMNS, MATRIX_ROWS, SHAPES, TF32
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched import Schedule
from stepwell.dialects.schedule_device import WARP_THREADS
from stepwell.passes.loop.gpu.fragments import Factor, factor_of, fragment_totals, load_matrices
from stepwell.passes.loop.gpu.nests import split_number
from stepwell.passes.loop.gpu.product_copies import StagedOperand
from stepwell.passes.loop.gpu.product_frame import Frame, Tile
from stepwell.passes.loop.gpu.product_thread import ProductThread, StorePoint
from stepwell.passes.loop.gpu.products import Product
from stepwell.runtime.errors import StepwellError

_SHAPE = SHAPES[TF32]
_LANES_OF_ROW = 4
"""The lanes with elements of one row of a result."""


class WarpThread(ProductThread):
    """A thread whose warp multiplies fragments: its elements are pairs in rows of 8 in 16 x 8 fragments."""

    def __init__(self, frame: Frame, store: StorePoint, at: IRBuilder, stages: int, split: int):
        super().__init__(frame, store, at, stages)
        self._split = split
        tile = frame.tile
        half = _SHAPE.rows // 2
        self._places = [
            range(0, total, step)
            for total, step in ((tile.inner_rows, _SHAPE.rows), (tile.inner_columns, _SHAPE.columns))
        ]
        self.rows = [row + part for row in self._places[0] for part in (0, half)]
        self.columns = [column + part for column in self._places[1] for part in (0, 1)]

    def first_element(self, at: IRBuilder) -> Sequence[Index]:
        """The row and the column of the lane's first element: lane / 4, and twice the lane modulo 4."""
        tile, thread = self.frame.tile, self.frame.thread
        warp, lane = at.quotient(thread, WARP_THREADS), at.remainder(thread, WARP_THREADS)
        down, across = split_number(at, warp, tile.inner_grid)
        first_row, first_column = at.times(down, tile.inner_rows), at.times(across, tile.inner_columns)
        self._group, self._part = at.quotient(lane, _LANES_OF_ROW), at.remainder(lane, _LANES_OF_ROW)
        self._read_column = at.plus(first_column, self._group)
        # The rows of matrices whose addresses the lane has: of the left operand, and of the right one.
        self._matrix_row = (
            at.plus(first_row, at.remainder(lane, _SHAPE.rows)),
            at.times(at.quotient(lane, _SHAPE.rows), MATRIX_COLUMNS),
        )
        self._matrix_column = (
            at.plus(first_column, at.remainder(lane, MATRIX_ROWS)),
            at.times(at.quotient(lane, MATRIX_ROWS), MATRIX_COLUMNS),
        )
        return at.plus(first_row, self._group), at.plus(first_column, at.times(self._part, 2))

    def multiply(
        self,
        at: IRBuilder,
        begin: SSAValue,
        left: StagedOperand,
        right: StagedOperand,
        sums: Sequence[SSAValue],
    ) -> Sequence[SSAValue]:
        """
        The sums after those of a tile.

        Tensor cores cut sums off. So they add up a tile alone, and its totals are added with rounding.
        """
        zeros = [at.number(0, f32)] * len(sums)

        def step(inside: IRBuilder, k: SSAValue, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            return self._fragments(inside, k, left, right, list(carried))

        totals = at.loop(0, self.frame.tile.sums, _SHAPE.sums, zeros, step)
        return [at.value(arith.AddfOp(a, b)) for a, b in zip(sums, totals, strict=True)]

    def _fragments(
        self, at: IRBuilder, k: SSAValue, left: StagedOperand, right: StagedOperand, totals: list[SSAValue]
    ) -> list[SSAValue]:
        """The totals after the products of all fragments of a step."""
        a = [self._left(at, left, k, place) for place in self._places[0]]
        b = [self._right(at, right, k, place) for place in self._places[1]]
        for i in range(len(a)):
            for j in range(len(b)):
                positions = self._positions(i, j)
                known = [totals[position] for position in positions]
                found = fragment_totals(at, a[i], b[j], known, self._split)
                for position, total in zip(positions, found, strict=True):
                    totals[position] = total
        return totals

    def _left(self, at: IRBuilder, left: StagedOperand, k: SSAValue, place: int) -> list[Factor]:
        """The fragment of sixteen rows at some sums."""
        if left.takes_ldmatrix:
            row, column = self._matrix_row
            indices = at.plus(row, place), at.plus(column, k)
            values = load_matrices(at, left.memory, indices, _SHAPE.left)
        else:
            rows = [at.plus(self.row, place + part) for part in (0, _SHAPE.rows // 2)]
            values = [left.element(at, each, row) for each in self._sums(at, k) for row in rows]
        return [factor_of(at, value, self._split) for value in values]

    def _right(self, at: IRBuilder, right: StagedOperand, k: SSAValue, place: int) -> list[Factor]:
        """The fragment of eight columns at some sums."""
        if right.takes_ldmatrix:
            row, column = self._matrix_column
            indices = at.plus(row, place), at.plus(column, k)
            values = load_matrices(at, right.memory, indices, _SHAPE.right)
        else:
            own = at.plus(self._read_column, place)
            values = [right.element(at, each, own) for each in self._sums(at, k)]
        return [factor_of(at, value, self._split) for value in values]

    def _sums(self, at: IRBuilder, k: SSAValue) -> tuple[Index, Index]:
        """The sums of a fragment that the thread has elements of."""
        first = at.plus(k, self._part)
        return first, at.plus(first, _SHAPE.sums // 2)

    def _positions(self, i: int, j: int) -> list[int]:
        """The places of a fragment's elements among the thread's, which are row by row."""
        rows, columns = (2 * i, 2 * i + 1), (2 * j, 2 * j + 1)
        return [row * len(self.columns) + column for row in rows for column in columns]


def expect_fragments(product: Product, schedule: Schedule) -> None:
    """Require what tensor cores multiply: products of f32 in whole fragments. Raises: StepwellError."""
    op, tile, inner = product.nest.op, Tile.of(schedule, product), schedule.levels()[-1].tile
    if not product.is_multiply_add:
        message = f'intrinsic = "{TF32}" for an op that is no product of f32'
        raise StepwellError("unsupported", op, message, help="leave the intrinsic out")
    sizes = tile.inner_rows, tile.inner_columns, tile.sums
    steps = _SHAPE.rows, _SHAPE.columns, _SHAPE.sums
    is_tiled = all(size and size % step == 0 for size, step in zip(sizes, steps, strict=True))
    if not is_tiled or any(inner[loop] for loop in product.sums):
        message = f"tiles of warps of {sizes[0]} x {sizes[1]} elements, and of blocks of {sizes[2]} sums"
        help = "rows are multiples of 16, columns and sums of 8; the tile of a warp has no sums"
        raise StepwellError("unsupported", op, f"{message}, for {TF32}", help=help)
    if schedule.on_device.split not in (1, F32_PRODUCTS):
        message = f"split = {schedule.on_device.split} of {TF32}"
        raise StepwellError(
            "unsupported", op, message, help=f"1 for the digits of TF32, {F32_PRODUCTS} for f32"
        )
