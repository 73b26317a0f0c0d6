"""The position of a thread in a product's grid: sizes, its tile of the output, indices of loops."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple

from xdsl.dialects import arith, scf
from xdsl.ir import Block, SSAValue

from stepwell.dialects.ir_builder import Index, IRBuilder
from stepwell.dialects.sched import Schedule
from stepwell.dialects.schedule_device import block_threads
from stepwell.passes.loop.gpu.mapped_loops import open_grid
from stepwell.passes.loop.gpu.nests import Nest, product_of, split_number
from stepwell.passes.loop.gpu.products import Product


class Tile(NamedTuple):
    """
    The tile sizes of a product: rows, columns and sums of a block; rows and columns of a thread or warp.
    """

    rows: int
    columns: int
    sums: int
    inner_rows: int
    inner_columns: int

    @staticmethod
    def of(schedule: Schedule, product: Product) -> Tile:
        """The tile sizes of a schedule, which are on the last loop of each role."""
        outer, inner = schedule.levels()
        rows, columns, sums = (loops[-1] for loops in product.roles)
        return Tile(
            outer.tile[rows], outer.tile[columns], outer.tile[sums], inner.tile[rows], inner.tile[columns]
        )

    @property
    def inner_grid(self) -> tuple[int, int]:
        """The threads or warps along rows and columns."""
        return self.rows // self.inner_rows, self.columns // self.inner_columns


class Totals(NamedTuple):
    """The numbers of rows, columns and sums of a whole product."""

    rows: Index
    columns: Index
    sums: Index


@dataclass
class Frame:
    """The sizes and the indices of a thread in a product's grid."""

    product: Product
    tile: Tile
    threads: int
    extents: Sequence[Index]
    totals: Totals
    batch: dict[int, Index]
    """The indices of the batch's loops."""
    thread: SSAValue
    first_row: Index
    first_column: Index
    has_fragments: bool
    """Whether tensor cores multiply."""
    copy_bytes: int
    """The most bytes of neighbouring elements that a thread copies together."""
    parts: int
    """The number of parts of the sum; a block adds up one."""
    part: Index
    share: Index
    """The length of a part, in whole tiles; products of multiply-adds get zeros past the end of the sum."""

    @property
    def nest(self) -> Nest:
        """The op."""
        return self.product.nest

    @staticmethod
    def open(before: IRBuilder, product: Product, schedule: Schedule) -> tuple[Frame, IRBuilder]:
        """The loops of blocks and threads; returns a builder inside of them, without their end."""
        nest, tile = product.nest, Tile.of(schedule, product)
        threads = block_threads(schedule.levels())
        extents = [nest.extent(before, loop) for loop in range(len(nest.parallel))]

        def total(loops: Sequence[int]) -> Index:
            return product_of(before, [extents[loop] for loop in loops])

        totals = Totals(*(total(loops) for loops in product.roles))
        blocks = before.ceildiv(totals.rows, tile.rows), before.ceildiv(totals.columns, tile.columns)
        batches, parts = total(product.batch), schedule.on_device.split_k
        grid = before.times(before.times(before.times(batches, blocks[0]), blocks[1]), parts)
        share = before.times(before.ceildiv(before.ceildiv(totals.sums, tile.sums), parts), tile.sums)
        outer, at = open_grid(before, grid, threads)
        part, batch, row, column = split_number(at, outer.args[0], [parts, batches, *blocks])
        indices = split_number(at, batch, [extents[loop] for loop in product.batch])
        first_row, first_column = at.times(row, tile.rows), at.times(column, tile.columns)
        thread = at.insertion_point.block.args[0]
        by_loop = dict(zip(product.batch, indices, strict=True))
        frame = Frame(
            product, tile, threads, extents, totals, by_loop, thread, first_row, first_column,
            bool(schedule.on_device.intrinsic), schedule.on_device.copy_bytes,
            parts, part, share if parts > 1 else totals.sums,
        )  # fmt: skip
        return frame, at

    def split(self, build: IRBuilder, loops: Sequence[int], number: Index) -> dict[int, Index]:
        """The indices of loops from the number of an iteration."""
        return dict(
            zip(loops, split_number(build, number, [self.extents[loop] for loop in loops]), strict=True)
        )

    def point(self, *parts: dict[int, Index]) -> list[Index]:
        """The indices of all loops: 0 for those that do not matter."""
        known = dict(self.batch)
        for part in parts:
            known |= part
        return [known.get(loop, 0) for loop in range(len(self.nest.parallel))]

    def sums(self, at: IRBuilder) -> tuple[Index, Index]:
        """
        The range of a block's sum: its first index, and the one after its last.

        Where adding zeros is harmless, all blocks have equally many steps: threads that copy tiles ahead rely
        on it.
        """
        if self.parts == 1:
            return 0, self.totals.sums
        first = at.times(self.part, self.share)
        end = at.plus(first, self.share)
        if self.product.is_multiply_add:
            return first, end
        return first, at.binary(arith.MinUIOp, at.materialize(end), at.materialize(self.totals.sums))

    def has_whole_sums(self) -> bool:
        """Whether all tiles have as many sums."""
        if not isinstance(self.totals.sums, int) or not isinstance(self.share, int):
            return False
        return self.totals.sums % self.tile.sums == 0 and self.share * self.parts == self.totals.sums


def clamped(at: IRBuilder, number: Index, total: Index, tile: int, beyond: int = 1) -> Index:
    """
    A number below a total, for loads whose results no thread uses.

    Args: `beyond` are the elements from the number on that are loaded.
    """
    if isinstance(total, int) and total % tile == 0:
        return number
    return at.binary(arith.MinUIOp, number, at.materialize(at.minus(total, beyond)))


def inside_condition(at: IRBuilder, number: Index, total: Index, tile: int) -> SSAValue | None:
    """Whether a row or column exists; None when the tiles have no others."""
    if isinstance(total, int) and total % tile == 0:
        return None
    return at.compare("ult", at.materialize(number), at.materialize(total))


@contextmanager
def only_where(at: IRBuilder, checks: Iterable[SSAValue | None]) -> Generator[IRBuilder]:
    """
    A builder of ops that threads run where all checks hold, in an `scf.if`.

    Args: `checks` are conditions, as `inside_condition` makes them; without one there is no `scf.if`.
    """
    found = [check for check in checks if check is not None]
    if not found:
        yield at
        return
    condition, *others = found
    for check in others:
        condition = at.value(arith.AndIOp(condition, check))
    at.insert(scf.IfOp(condition, [], [branch := Block()]))
    inside = at.inside(branch)
    yield inside
    inside.insert(scf.YieldOp())
