"""Register tiles of contractions: how many rows and lanes of results to keep in registers at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil

from stepwell.dialects.tensor_ir.register_file import MAX_REGISTERS_ALONG_LANES, MAX_ROWS, RegisterFile, fits
from stepwell.runtime.machine.target import TargetDescription

# The extent that stands for unknown ones: long, and no multiple of anything.
_TYPICAL_EXTENT = 127
_MAX_PANELS = 6
# An FMA takes 4 cycles: sums that are too few for the units wait for each other (8 sums: 0.92, 12: 0.98).
_FMA_LATENCY = 4.5
# Bytes of a panel that L2 delivers to the registers in a cycle.
_L2_BYTES_A_CYCLE = 32
# Rows in pages of their own that a processor fetches ahead (28 rows of 8000 bytes: 0.65 of peak, 16: 0.85).
_STREAMS = 16
_PAGE, _LINE = 4096, 64
# A copy of the tile's code for a remainder costs compile time and instruction cache; it must win this much.
_COPY_PENALTY = 0.02


@dataclass(frozen=True)
class RegisterTile:
    """The steps of the three loops that are tiled for registers."""

    rows: int
    panels: int
    lanes: int


def rows_in_cache(stride_bytes: int, target: TargetDescription) -> int:
    """
    The most rows, `stride_bytes` apart, that a tile can read along together from the level-1 cache.

    Each way of the cache has the size of a page, and the set of a line is its offset in the page: of rows
    whose lines share a set no more stay cached than there are ways (28 rows 8 KiB apart, 8 ways: 0.2 of peak,
    8 rows: 0.84).
    """
    if stride_bytes < _LINE:
        return MAX_ROWS
    ways = max(1, target.l1_bytes // _PAGE)
    sets = [row * stride_bytes % _PAGE // _LINE for row in range(MAX_ROWS)]
    crowded = (row for row, number in enumerate(sets) if sets[:row].count(number) == ways)
    return min(next(crowded, MAX_ROWS), _STREAMS if stride_bytes >= _PAGE // 2 else MAX_ROWS)


def choose_register_tile(
    rows: int | None,
    panels: int | None,
    lanes: int | None,
    steps: int | None,
    registers: RegisterFile,
    most_rows: int = MAX_ROWS,
) -> RegisterTile:
    """
    The tile with the least estimated cycles.

    Args: the extents of the loops (None: known at run time only). `lanes` is the one along vectors, `panels`
    one that moves the vector operand as well, `rows` moves the other operand, whose elements are broadcast;
    `steps` is the length of the sum; `most_rows` bounds the tile. A tile of m rows and v vectors needs, in
    each step, m * v multiply-adds, v vector loads and m broadcasts, and occupies m * v + v + 1 registers; a
    tile that needs more would spill.
    """
    length = steps or _TYPICAL_EXTENT
    best: tuple[float, int] | None = None
    chosen = RegisterTile(1, 1, min(lanes or registers.lanes, registers.lanes))
    for tile in _candidates(min(rows or most_rows, most_rows), panels, lanes, length, registers):
        parts = [
            list(_parts(extent, step))
            for extent, step in ((rows, tile.rows), (panels, tile.panels), (lanes, tile.lanes))
        ]
        cycles = sum(
            prod_of_counts * _cycles(m, p * ceil(n / registers.lanes), length, registers)
            for (cm, m), (cp, p), (cn, n) in product(*parts)
            if (prod_of_counts := cm * cp * cn)
        )
        copies = len(parts[0]) * len(parts[1]) * len(parts[2])
        vectors = tile.panels * ceil(tile.lanes / registers.lanes)
        score = (cycles * (1 + _COPY_PENALTY * (copies - 1)), -tile.rows * vectors)
        if best is None or score < best:
            best, chosen = score, tile
    return chosen


def _candidates(
    most_rows: int, panels: int | None, lanes: int | None, steps: int, registers: RegisterFile
) -> Iterable[RegisterTile]:
    for n in lane_tiles(lanes, registers.lanes):
        width = ceil(n / registers.lanes)
        for p in range(1, min(panels or _MAX_PANELS, _MAX_PANELS) + 1):
            vectors = p * width
            if p > 1 and n != lanes:
                break  # vectors of several panels are contiguous only when each panel is read whole
            for m in range(1, most_rows + 1):
                if fits(m, vectors, registers) and registers.share(m, vectors, steps) != 0:
                    yield RegisterTile(m, p, n)


def lane_tiles(extent: int | None, lanes: int) -> Sequence[int]:
    """Steps to try along the lanes: whole registers, or all of a short loop."""
    steps = [lanes * k for k in range(1, MAX_REGISTERS_ALONG_LANES + 1)]
    if extent is None:
        return steps
    steps = [step for step in steps if step <= extent]
    if extent <= lanes * MAX_REGISTERS_ALONG_LANES and extent not in steps:
        steps.append(extent)
    return steps


def _parts(extent: int | None, step: int) -> Iterable[tuple[int, int]]:
    """The full tiles of a loop and its remainder, as (count, size) pairs."""
    if extent is None:
        yield _TYPICAL_EXTENT // step, step
        if step > 1:
            yield _TYPICAL_EXTENT % step, 1
        return
    if extent >= step:
        yield extent // step, step
    if extent % step:
        yield 1, extent % step


def _cycles(rows: int, vectors: int, steps: int, registers: RegisterFile) -> float:
    """
    Estimated cycles of one tile: the sum's steps, then reading and writing the results.

    From the measured speed where there is one, else for two multiply-adds and two loads a cycle: the same
    tiles are best for a core with fewer.
    """
    sums = rows * vectors
    if share := registers.share(rows, vectors, steps):
        return steps * sums / 2 / share + 2 * sums + 16
    stream = vectors * registers.bytes / _L2_BYTES_A_CYCLE
    busy = sums + vectors * registers.conversions
    return steps * max(busy / 2, (rows + vectors) / 2, stream, _FMA_LATENCY) + 2 * sums + 16
