"""The elements of a product that a thread computes with its warp, on tensor cores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from stepwell.dialects import gpu
from stepwell.dialects.gpu.tensor_cores import F32_PRODUCTS, SHAPES, TF32
from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched import Schedule
from stepwell.dialects.schedule_device import WARP_THREADS
from stepwell.passes.loop.gpu.nests import split_number
from stepwell.passes.loop.gpu.product_copies import StagedOperand
from stepwell.passes.loop.gpu.product_frame import Frame, Tile
from stepwell.passes.loop.gpu.product_thread import ProductThread, StorePoint
from stepwell.passes.loop.gpu.products import Product
from stepwell.runtime.errors import StepwellError

_SHAPE = SHAPES[TF32]
_LANES_OF_ROW = 4
"""The lanes with elements of one row of a result."""
_INFINITY, _UPPER_BITS = float("inf"), -0x2000


class _Factor(NamedTuple):
    """A number of f32 in parts that tensor cores read."""

    high: SSAValue
    low: SSAValue
    """What `high` lacks, 0 where it is not finite."""
    cross: SSAValue
    """`high` for products with `low`: 0 where it is not finite, since 0 times infinity is NaN."""


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
        half_rows, half_sums = _SHAPE.rows // 2, _SHAPE.sums // 2
        first = at.plus(k, self._part)
        sums = first, at.plus(first, half_sums)
        a = [
            [
                self._factor(at, left.element(at, each, at.plus(self.row, place + part)))
                for each in sums
                for part in (0, half_rows)
            ]
            for place in self._places[0]
        ]
        b = [
            [self._factor(at, right.element(at, each, at.plus(self._read_column, place))) for each in sums]
            for place in self._places[1]
        ]
        for i in range(len(a)):
            for j in range(len(b)):
                positions = self._positions(i, j)
                found = self._product(at, a[i], b[j], [totals[position] for position in positions])
                for position, total in zip(positions, found, strict=True):
                    totals[position] = total
        return totals

    def _positions(self, i: int, j: int) -> list[int]:
        """The places of a fragment's elements among the thread's, which are row by row."""
        rows, columns = (2 * i, 2 * i + 1), (2 * j, 2 * j + 1)
        return [row * len(self.columns) + column for row in rows for column in columns]

    def _factor(self, at: IRBuilder, number: SSAValue) -> _Factor:
        """The parts of a number; the first one alone where the schedule asks for no more digits."""
        if self._split == 1:
            high = at.value(gpu.ToTf32Op(number))
            return _Factor(high, high, high)
        zero, infinity = at.number(0, f32), at.number(_INFINITY, f32)
        rounded = at.value(gpu.ToTf32Op(number))
        # The largest numbers of f32 are rounded to infinity: their lower bits are cut off instead.
        is_infinite = at.compare("oeq", at.value(math.AbsFOp(rounded)), infinity)
        chosen = at.value(arith.SelectOp(is_infinite, number, rounded))
        bits = at.value(arith.BitcastOp(chosen, i32))
        upper = at.value(arith.AndIOp(bits, at.number(_UPPER_BITS, i32)))
        high = at.value(arith.BitcastOp(upper, f32))
        is_finite = at.compare("olt", at.value(math.AbsFOp(high)), infinity)
        rest = at.value(arith.SelectOp(is_finite, at.value(arith.SubfOp(number, high)), zero))
        cross = at.value(arith.SelectOp(is_finite, high, zero))
        return _Factor(high, at.value(gpu.ToTf32Op(rest)), cross)

    def _product(
        self, at: IRBuilder, a: Sequence[_Factor], b: Sequence[_Factor], totals: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """A fragment after a product: of the small parts first, which a large total would cut off."""
        pairs = [([x.high for x in a], [y.high for y in b])]
        if self._split > 1:
            low = [x.low for x in a], [y.cross for y in b]
            pairs = [low, ([x.cross for x in a], [y.low for y in b]), *pairs]
        for first, second in pairs:
            totals = at.insert(gpu.MmaSyncOp(TF32, first, second, totals)).totals
        return totals


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
