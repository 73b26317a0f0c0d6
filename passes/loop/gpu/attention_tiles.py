"""Tiles of attention: the queries of a block, the keys of a step, and the threads that share a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from stepwell.dialects.gpu.limits import STATIC_BYTES
from stepwell.dialects.gpu.tensor_cores import TF32
from stepwell.dialects.linalg_ext import GridAttentionOp
from stepwell.dialects.sched import Schedule
from stepwell.dialects.schedule_device import SHUFFLE, WARP_THREADS, OnDevice
from stepwell.dialects.schedule_levels import Level
from stepwell.passes.loop.gpu.product_copies import fragment_row
from stepwell.passes.loop.gpu.tile_choices import Limits
from stepwell.runtime.errors import StepwellError

_LANES, _FRAGMENT_LANES = 8, 4
"""The neighbouring threads that share a query, each with every so many keys; those of a fragment's row."""
_FRAGMENT_SHIFT = 4
"""Elements after rows of multiples of 8: eight rows by four elements are in 32 different banks."""
_F32_BYTES = 4


@dataclass(frozen=True)
class AttentionTile:
    """The queries of a block and of a thread, and the keys that are in memory of the block at once."""

    queries: int
    keys: int
    thread_queries: int
    exchange: str = ""
    """`shuffle` where the threads of a warp exchange values, the fragments of tensor cores where these do."""

    @property
    def has_fragments(self) -> bool:
        """Whether tensor cores multiply."""
        return self.exchange == TF32

    @property
    def lanes(self) -> int:
        """The neighbouring threads that share a query."""
        return _FRAGMENT_LANES if self.has_fragments else _LANES

    @property
    def threads(self) -> int:
        """The threads of a block."""
        return self.queries // self.thread_queries * self.lanes

    def padded(self, elems: int) -> int:
        """The elements of a key or of a value, up to whole fragments or an element for each lane."""
        return -(-elems // _LANES) * _LANES

    def depth_row(self, depth: int) -> int:
        """The elements of memory of a block from one query or key to the next."""
        return self.padded(depth) + (_FRAGMENT_SHIFT if self.has_fragments else 1)

    @property
    def power_row(self) -> int:
        """The elements of memory of a block from the powers of one query to those of the next."""
        return self.keys + _FRAGMENT_SHIFT if self.has_fragments else fragment_row(self.keys)

    def value_row(self, columns: int) -> int:
        """The elements of memory of a block from one value to the next."""
        return fragment_row(self.padded(columns)) if self.has_fragments else self.padded(columns)

    def shared_bytes(self, depth: int, columns: int) -> int:
        """The memory of a block: queries, keys, values, powers, parts of maxima."""
        elems = (self.queries + self.keys) * self.depth_row(depth) + self.keys * self.value_row(columns)
        elems += self.queries * self.power_row
        if not self.exchange:
            elems += self.queries * self.lanes
        return _F32_BYTES * elems + 4 * 16  # each begins at a multiple of 16 bytes

    def registers(self, columns: int) -> int:
        """An estimate of the registers of a thread: sums, scores, rows of both, copies, others."""
        width = self.padded(columns) // self.lanes + self.keys // self.lanes
        copies = -(-self.keys * self.padded(columns) // self.threads)
        return self.thread_queries * (width + 4) + width + copies + 32

    def fits(self, depth: int, columns: int, limits: Limits) -> bool:
        """Whether a target can run the tile, with no more memory than leaves room for other blocks."""
        return (
            self.threads <= limits.threads
            and self.shared_bytes(depth, columns) <= min(limits.shared_bytes, STATIC_BYTES)
            and self.registers(columns) <= limits.registers
        )

    def waste(self, queries: int) -> float:
        """The work of blocks by that of the queries."""
        return -(-queries // self.queries) * self.queries / max(queries, 1)

    def schedule(self, rank: int, products: int) -> Schedule:
        """The schedule: loops of the result's dimensions, then one over keys."""
        skipped = (0,) * (rank - 2)
        bind, queries, keys = "thread", self.thread_queries, self.keys // self.lanes
        if self.exchange:
            bind, queries, keys = "warp", WARP_THREADS // self.lanes * self.thread_queries, self.keys
        levels = [
            Level((*skipped, self.queries, 0, self.keys), bind="block"),
            Level((*skipped, queries, 0, keys), bind=bind),
        ]
        split = products if self.has_fragments else 1
        return Schedule.of_levels(levels, on_device=OnDevice((0, 1, 2), intrinsic=self.exchange, split=split))


_TILES = (
    AttentionTile(64, 32, 4),
    AttentionTile(32, 32, 4),
    AttentionTile(32, 16, 4),
    AttentionTile(16, 16, 2),
    AttentionTile(8, 8, 1),
)
"""Tiles of a block, the largest first; the last one fits 16 KiB whatever the keys and values."""
_WARP_TILES = (
    AttentionTile(64, 32, 2, TF32),
    AttentionTile(32, 32, 2, TF32),
    AttentionTile(32, 16, 2, TF32),
    AttentionTile(16, 16, 2, TF32),
)
"""Tiles of a block whose warps multiply 16 queries each on tensor cores."""
_MOST_WASTE = 1.3
"""The work of tiles that the queries do not fill, by their own."""


def attention_tile(depth: int, columns: int, queries: int | None, limits: Limits) -> AttentionTile | None:
    """The tile of attention on a target; None where none fits."""
    plain = [
        AttentionTile(tile.queries, tile.keys, tile.thread_queries, SHUFFLE if limits.has_shuffles else "")
        for tile in _TILES
    ]
    candidates = [*(_WARP_TILES if limits.has_tensor_cores else ()), *plain]
    fitting = [tile for tile in candidates if tile.fits(depth, columns, limits)]
    fitting = [tile for tile in fitting if tile.has_fragments] or fitting
    if queries is None or not fitting:
        return fitting[0] if fitting else None
    least = min(tile.waste(queries) for tile in fitting)
    return next(tile for tile in fitting if tile.waste(queries) <= _MOST_WASTE * least)


def tile_of(op: GridAttentionOp, schedule: Schedule) -> AttentionTile:
    """The tile of a schedule. Raises: StepwellError `unsupported` for one that is not carried out."""
    outer, inner = (level.tile for level in schedule.levels())
    on_device = schedule.on_device
    found: AttentionTile | None = None
    if len(outer) >= 3 and min(outer[-3], outer[-1], inner[-3], inner[-1]) > 0:
        lanes = _FRAGMENT_LANES if on_device.intrinsic == TF32 else _LANES
        queries = inner[-3]
        if on_device.intrinsic:
            queries = max(1, queries * lanes // WARP_THREADS)
        found = AttentionTile(outer[-3], outer[-1], queries, on_device.intrinsic)
    if found is None or not _is_carried_out(found, outer, schedule):
        message = f"a schedule of blocks and threads for attention: {schedule.attr()}"
        help = "tiles of queries and keys, of 8 keys and more; `choose-gpu-schedules` gives one"
        raise StepwellError("unsupported", op, message, help=help)
    return found


def _is_carried_out(tile: AttentionTile, outer: Sequence[int], schedule: Schedule) -> bool:
    """Whether a grid of attention can have a tile, and has no other tiles than that."""
    is_known = tile.exchange in ("", SHUFFLE, TF32) and tile.keys % _LANES == 0
    is_known = is_known and tile.queries % tile.thread_queries == 0
    if tile.has_fragments:
        is_known = is_known and tile.thread_queries == 2
    return is_known and tile.schedule(len(outer) - 1, schedule.on_device.split) == schedule
