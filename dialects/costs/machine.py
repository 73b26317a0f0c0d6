"""The cost model of a core: its rates and limits, and the costs that all levels compute from them."""

from __future__ import annotations

from math import ceil

from stepwell.dialects.costs.schedules import TILES
from stepwell.dialects.costs.table import Table, tuned
from stepwell.runtime.machine.target import TargetDescription

LINE = 64
"""The bytes of a cache line."""
_PAGE = 4096


class MachineCosts(Table):
    """Rates of a core, and what its caches and prefetchers can follow."""

    multiply_adds: float = tuned(2.0, "vectors a cycle")
    """Multiply-adds of vectors that begin in a cycle; the same tiles are best for a core with fewer."""
    loads: float = tuned(2.0, "vectors a cycle")
    """Vectors or broadcast elements that are loaded in a cycle."""
    fma_latency: float = tuned(4.5, "cycles")
    """
    An FMA takes 4 cycles: sums that are too few for the units wait for each other (8 sums: 0.92, 12: 0.98).
    """
    l2_rate: float = tuned(32.0, "bytes a cycle")
    """Bytes of a panel that the level-2 cache delivers to the registers."""
    memory_rate: float = tuned(8.0, "bytes a cycle")
    """Bytes from beyond the level-2 cache, as measured on kernels of ResNet-50's shapes."""
    result_cycles: float = tuned(2.0, "cycles a vector")
    """Reading and writing the results of a tile."""
    start_cycles: float = tuned(16.0, "cycles")
    """The start and the end of a tile's loop."""
    streams: int = tuned(16, "rows")
    """Rows in pages of their own that are fetched ahead (28 rows of 8000 bytes: 0.65 of peak, 16: 0.85)."""
    panel_bytes: int = tuned(24 << 10, "bytes")
    """The largest panel that stays in a level-1 cache of 32 KiB next to rows and results."""
    l2_share: float = tuned(0.5, "of the level-2 cache")
    """The share of the level-2 cache that an operand may fill and still be found there."""
    shuffled_stride: int = tuned(4, "elements")
    """The largest stride at which elements are read as vectors and shuffled, not gathered one by one."""
    least_lanes: int = tuned(4, "lanes")
    """The fewest lanes that are read so."""
    cheap_stride: int = tuned(2, "elements")
    """Up to this stride a shuffled read costs `shuffled_read`, with larger ones `gathered_read`."""
    shuffled_read: float = tuned(1.15, "contiguous reads")
    """
    The cost of a vector of every second element (3 to 64 channels at 224x224, stride 2, lanes along rows:
    3x3 0.89 of the time in blocks, 7x7 1.16).
    """
    gathered_read: float = tuned(4.0, "contiguous reads")
    """The cost of a vector whose elements are farther apart."""
    small_vector: int = tuned(8, "lanes")
    """Lanes of a register (32 bytes) of which half a vector takes as long as a whole one."""


MACHINE = MachineCosts()


def tile_cycles(
    rows: int, vectors: int, steps: int, *, vector_bytes: int, conversions: int, share: float | None
) -> float:
    """
    The cycles of a register tile of `rows` x `vectors` sums: the sum's steps, then reading and writing them.

    Args: `conversions` are the instructions that widen a vector that is read; `share` is the calibrated speed
    of the tile, relative to the fastest one, which replaces the estimate.
    """
    sums = rows * vectors
    after = MACHINE.result_cycles * sums + MACHINE.start_cycles
    if share:
        return steps * sums / MACHINE.multiply_adds / share + after
    stream = vectors * vector_bytes / MACHINE.l2_rate
    busy = (sums + vectors * conversions) / MACHINE.multiply_adds
    return steps * max(busy, (rows + vectors) / MACHINE.loads, stream, MACHINE.fma_latency) + after


def rows_in_cache(stride_bytes: int, target: TargetDescription) -> int:
    """
    The most rows, `stride_bytes` apart, that a tile can read along together from the level-1 cache.

    Each way of the cache has the size of a page, and the set of a line is its offset in the page: of rows
    whose lines share a set no more stay cached than there are ways (28 rows 8 KiB apart, 8 ways: 0.2 of peak,
    8 rows: 0.84).
    """
    most = TILES.max_rows
    if stride_bytes < LINE:
        return most
    ways = max(1, target.l1_bytes // _PAGE)
    sets = [row * stride_bytes % _PAGE // LINE for row in range(most)]
    crowded = (row for row, number in enumerate(sets) if sets[:row].count(number) == ways)
    return min(next(crowded, most), MACHINE.streams if stride_bytes >= _PAGE // 2 else most)


def spread_bytes(rows: int, stride_bytes: int) -> int:
    """
    The bytes of a cache in which a line of each row stays.

    Rows whose stride is a multiple of a large power of two map to few sets (2 x 1024x128x1024: 2.2 times
    slower).
    """
    return rows * max(LINE, stride_bytes & -stride_bytes)


def stays_in_l2(bytes: int, target: TargetDescription) -> bool:
    """Whether data of some size is still in the level-2 cache when it is read again."""
    return bytes <= int(MACHINE.l2_share * target.l2_bytes)


def weight_cycles(bytes: int, target: TargetDescription) -> float:
    """The cycles to read weights from beyond the level-2 cache; 0 for those that stay in it."""
    return 0 if stays_in_l2(bytes, target) else bytes / MACHINE.memory_rate


def vectors_of(elements: int, lanes: int) -> float:
    """
    The cost of `elements` in vectors: the last one counts half if it fills no more than half a register.

    For registers of 32 bytes or less the last one counts fully, since half a register takes as long.
    """
    if lanes <= MACHINE.small_vector:
        return ceil(elements / lanes)
    return elements // lanes + ceil(2 * (elements % lanes) / lanes) / 2


def strided_read(stride: int) -> float:
    """The cost of reading a vector of elements `stride` apart, relative to a contiguous one."""
    if stride == 1:
        return 1
    return MACHINE.shuffled_read if stride <= MACHINE.cheap_stride else MACHINE.gathered_read
