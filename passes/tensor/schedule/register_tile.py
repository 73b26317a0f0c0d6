"""Register tiles of contractions: how many rows and lanes of results to keep in registers at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil

from stepwell.dialects.costs.machine import tile_cycles
from stepwell.dialects.costs.schedules import TILES
from stepwell.dialects.tensor_ir.register_file import RegisterFile, fits


@dataclass(frozen=True)
class RegisterTile:
    """The steps of the three loops that are tiled for registers."""

    rows: int
    panels: int
    lanes: int


def choose_register_tile(
    rows: int | None,
    panels: int | None,
    lanes: int | None,
    steps: int | None,
    registers: RegisterFile,
    most_rows: int | None = None,
) -> RegisterTile:
    """
    The tile with the least estimated cycles.

    Args: the extents of the loops (None: known at run time only). `lanes` is the one along vectors, `panels`
    one that moves the vector operand as well, `rows` moves the other operand, whose elements are broadcast;
    `steps` is the length of the sum; `most_rows` bounds the tile. A tile of m rows and v vectors needs, in
    each step, m * v multiply-adds, v vector loads and m broadcasts, and occupies m * v + v + 1 registers; a
    tile that needs more would spill.
    """
    length = steps or TILES.typical_extent
    most_rows = most_rows or TILES.max_rows
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
        score = (cycles * (1 + TILES.copy_penalty * (copies - 1)), -tile.rows * vectors)
        if best is None or score < best:
            best, chosen = score, tile
    return chosen


def _candidates(
    most_rows: int, panels: int | None, lanes: int | None, steps: int, registers: RegisterFile
) -> Iterable[RegisterTile]:
    for n in lane_tiles(lanes, registers.lanes):
        width = ceil(n / registers.lanes)
        for p in range(1, min(panels or TILES.max_vectors, TILES.max_vectors) + 1):
            vectors = p * width
            if p > 1 and n != lanes:
                break  # vectors of several panels are contiguous only when each panel is read whole
            for m in range(1, most_rows + 1):
                if fits(m, vectors, registers) and registers.share(m, vectors, steps) != 0:
                    yield RegisterTile(m, p, n)


def lane_tiles(extent: int | None, lanes: int) -> Sequence[int]:
    """Steps to try along the lanes: whole registers, or all of a short loop; none of an empty one."""
    steps = [lanes * k for k in range(1, TILES.max_vectors + 1)]
    if extent is None:
        return steps
    steps = [step for step in steps if step <= extent]
    if 0 < extent <= lanes * TILES.max_vectors and extent not in steps:
        steps.append(extent)
    return steps


def _parts(extent: int | None, step: int) -> Iterable[tuple[float, int]]:
    """
    The full tiles of a loop and its remainder, as (count, size) pairs.

    The remainder of an unknown extent is its mean: a typical extent's own would decide by chance.
    """
    if extent is None:
        rest = (step - 1) / 2
        yield (TILES.typical_extent - rest) / step, step
        if step > 1:
            yield rest, 1
        return
    if extent >= step:
        yield extent // step, step
    if extent % step:
        yield 1, extent % step


def _cycles(rows: int, vectors: int, steps: int, registers: RegisterFile) -> float:
    """The cycles of one tile, by its calibrated speed or, without calibration, by the cost model."""
    share, bytes, conversions = registers.share(rows, vectors, steps), registers.bytes, registers.conversions
    return tile_cycles(rows, vectors, steps, vector_bytes=bytes, conversions=conversions, share=share)
