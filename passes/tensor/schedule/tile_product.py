"""Schedules of products for tile registers: blocks of two by two tiles of sums, each computed at once."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.linalg.ops import FillOp

from stepwell.dialects.amx import TILE_ROWS, TILE_WORDS
from stepwell.dialects.costs.schedules import PRODUCTS
from stepwell.dialects.sched import Schedule
from stepwell.dialects.tensor_ir.amx_product import TileLoops
from stepwell.dialects.tensor_ir.groups import Member
from stepwell.dialects.tensor_ir.register_file import sum_kind
from stepwell.dialects.tensor_ir.structured import Structured, single_dim
from stepwell.runtime.machine.target import TargetDescription

# Two tiles each way: the four products of a step then read each operand once.
_ROWS, _COLUMNS = 2 * TILE_ROWS, 2 * TILE_WORDS


@dataclass(frozen=True)
class TileBlock:
    """Rows and columns of a block of sums."""

    rows: int
    columns: int

    @staticmethod
    def of(rows: int | None, columns: int) -> TileBlock:
        """The block of a product with so many rows (None: known at run time only) and columns."""
        return TileBlock(min(rows or _ROWS, _ROWS), min(columns, _COLUMNS))


def tile_block(view: Structured, target: TargetDescription, rows: int, columns: int) -> TileBlock | None:
    """
    The block of a sum of products of bytes that tile registers compute at once; None when they cannot.

    Blocks are those that `convert-linalg-to-amx` converts: of the others, every element would be computed
    alone. All loops that are summed over are whole in a block, and so of known length.

    Args: `rows` and `columns` are loops.
    """
    if not target.has_tile_products or sum_kind(view) != "bytes":
        return None
    extent, width = view.extents[rows], view.extents[columns]
    if (extent is not None and extent < PRODUCTS.amx_rows) or width is None:
        return None
    block = TileBlock.of(extent, width)
    sizes = [1 if parallel else n for n, parallel in zip(view.extents, view.parallel, strict=True)]
    sizes[rows], sizes[columns] = block.rows, block.columns
    known = [n for n in sizes if n is not None]
    if len(known) < view.rank:
        return None
    loops = TileLoops.of(view.body, view.maps, view.parallel, known)
    return block if loops is not None and (loops.rows, loops.columns) == (rows, columns) else None


def is_tile_product(view: Structured, schedule: Schedule, target: TargetDescription) -> bool:
    """Whether a schedule leaves an op to tile registers: its tiles are computed at once, without vectors."""
    sums = [d for d, parallel in enumerate(view.parallel) if not parallel]
    is_left_whole = schedule.vectorize is None and not any(schedule.tile[d] for d in sums)
    return target.has_tile_products and is_left_whole and bool(sums) and sum_kind(view) == "bytes"


def schedule_after_tiles(member: Member, anchor: Structured) -> Schedule | None:
    """
    The schedule of an elementwise op on a block of tile sums: vectors along each row, row by row.

    A block does not fit the vector registers: it stays in the level-1 cache.
    """
    view, lanes = member.view, single_dim(anchor.init_maps[0].results[-1])
    if lanes not in member.loop_of or not all(view.parallel) or isinstance(view.op, FillOp):
        return None
    along = member.loop_of.index(lanes)
    steps = [0 if d == along or view.extents[d] == 1 else 1 for d in range(view.rank)]
    cut = {d for d, step in enumerate(steps) if step}
    if not view.can_slice(cut):
        return None
    return Schedule(tuple(steps), vectorize=along)
