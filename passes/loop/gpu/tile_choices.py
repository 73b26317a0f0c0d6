"""Tiles of kernels by shape and target alone: arithmetic on extents that no target can be too small for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import NamedTuple

from stepwell.dialects.gpu.async_copies import has_async_copies
from stepwell.dialects.gpu.tensor_cores import has_tf32
from stepwell.dialects.schedule_device import WARP_THREADS
from stepwell.passes.loop.gpu.product_copies import WIDEST_BYTES, copied_elems, tile_shape
from stepwell.runtime.machine.named_target import Target
from stepwell.runtime.targets.webgpu import SUBGROUPS

_REGISTER_FILE = 1 << 16
"""The registers that the threads of a block share on NVIDIA's GPUs, and about as many elsewhere."""
_FAST_TF32 = ("sm_80", "sm_90", "sm_90a", "sm_100", "sm_100a")
"""Architectures whose tensor cores have 7 times the rate of f32 and more, by their data sheets."""
_KNOWN_REGISTERS = 128
"""The registers of a thread where a target does not say it."""
_FEW_THREADS = 32


class Limits(NamedTuple):
    """The limits of a target that a schedule must keep."""

    threads: int
    shared_bytes: int
    registers: int
    """The most registers of a thread."""
    has_shuffles: bool = False
    """Whether the threads of a warp exchange values; other kinds' languages have no word for it here."""
    has_tensor_cores: bool = False
    """Whether products of TF32 are sooner: three of them for one of f32 take 3.5 times its rate."""
    has_async_copies: bool = False
    """Whether memory of a block is filled beside its threads."""
    multiprocessors: int = 0
    """The blocks that keep the device busy; 0 where that is not known."""
    kind: str = ""
    """The kind of the target."""
    has_subgroups: bool = False
    """Whether the threads of a subgroup of some size add up values."""

    @staticmethod
    def of(target: Target, *, in_tf32: bool = False) -> Limits:
        """
        The limits of a target.

        Args: `in_tf32` is whether one product of TF32 is enough for one of f32.
        """
        attrs = target.attrs
        along = attrs.get("max-block")
        threads = _number(attrs.get("max-threads"), _FEW_THREADS)
        if isinstance(along, tuple):
            threads = min(threads, int(along[0]))
        shared = _number(attrs.get("shared-memory"), 0)
        registers = _number(attrs.get("registers"), 0) or _KNOWN_REGISTERS
        is_fast = has_tf32(target) if in_tf32 else str(attrs.get("arch")) in _FAST_TF32
        units = _number(attrs.get("multiprocessors"), 0)
        has_async = target.kind == "cuda" and has_async_copies(target)
        has_subgroups = target.kind == "webgpu" and target.has_feature(SUBGROUPS)
        is_cuda = target.kind == "cuda"
        return Limits(
            threads, shared, registers, is_cuda, is_fast, has_async, units, target.kind, has_subgroups
        )

    def threads_for(self, wanted: int) -> int:
        """At most so many threads of a block, a power of two."""
        return 1 << (min(wanted, self.threads).bit_length() - 1)


class Shape(NamedTuple):
    """The sizes of a product, None for unknown ones, and the layout of both operands."""

    rows: int | None
    columns: int | None
    sums: int | None
    batches: int | None
    left_bytes: int
    """The bytes of an element of the operand with the rows."""
    right_bytes: int
    left_sums_first: bool
    """Whether that operand is dense along the sums."""
    right_sums_first: bool
    is_multiply_add: bool = False
    """Whether the op adds products of f32."""
    left_neighbours: int = 1
    """The elements of that operand that may be copied together (`neighbours`)."""
    right_neighbours: int = 1
    adds_up: bool = False
    """Whether parts of the sums may be added up by themselves."""


@dataclass(frozen=True)
class ProductTile:
    """A block's tile of a product, and the part of it that a thread computes."""

    rows: int
    columns: int
    sums: int
    thread_rows: int
    thread_columns: int
    stages: int = 1
    has_warps: bool = False
    """Whether tensor cores multiply; then the part is for a warp instead of a thread."""
    is_wide: bool = False
    """Whether neighbouring elements are copied together."""
    parts: int = 1
    """The parts of the sums, which blocks of their own add up."""

    @property
    def threads(self) -> int:
        """The threads of a block."""
        parts = self.rows // self.thread_rows * (self.columns // self.thread_columns)
        return parts * (WARP_THREADS if self.has_warps else 1)

    def shared_bytes(self, shape: Shape) -> int:
        """The memory of a block."""
        sizes = (
            prod(tile_shape(self.sums, width, first, together, self.has_warps)) * nbytes
            for width, first, together, nbytes in zip(
                (self.rows, self.columns),
                (shape.left_sums_first, shape.right_sums_first),
                self.together(shape),
                (shape.left_bytes, shape.right_bytes),
                strict=True,
            )
        )
        # Each operand begins at a multiple of 16 bytes.
        return sum(-(-self.stages * size // 16) * 16 for size in sizes)

    def together(self, shape: Shape) -> tuple[int, int]:
        """The neighbouring elements of both operands that a thread copies."""
        if not self.is_wide:
            return 1, 1
        extents = (
            self.sums if shape.left_sums_first else self.rows,
            self.sums if shape.right_sums_first else self.columns,
        )
        both = shape.left_neighbours, shape.right_neighbours
        left, right = (copied_elems(each, extent) for each, extent in zip(both, extents, strict=True))
        return left, right

    def registers(self) -> int:
        """An estimate of the registers of a thread: sums, factors, copies with two indices each, others."""
        copies = -(-self.sums * (self.rows + self.columns) // self.threads) + 1
        if self.has_warps:
            # Sums of the tile and of all; of each fragment's elements three parts.
            sums = 2 * self.thread_rows * self.thread_columns // WARP_THREADS
            parts = 3 * (self.thread_rows + self.thread_columns) // _ROWS_OF_ELEMENT
            return sums + parts + 3 * copies + 24
        factors = self.thread_rows + self.thread_columns
        return self.thread_rows * self.thread_columns + factors + 3 * copies + 24

    def fits(self, shape: Shape, limits: Limits) -> bool:
        """Whether a target can run the tile."""
        registers = min(limits.registers, _REGISTER_FILE // max(self.threads, 1))
        return (
            self.threads <= limits.threads
            and self.shared_bytes(shape) <= limits.shared_bytes
            and self.registers() <= registers
        )

    def blocks(self, shape: Shape) -> int:
        """The blocks of the grid; sizes that are not known count as one tile."""
        rows, columns = shape.rows or self.rows, shape.columns or self.columns
        return -(-rows // self.rows) * -(-columns // self.columns) * (shape.batches or 1)

    def waste(self, shape: Shape) -> float:
        """The work of the tiles by that of the product."""
        rows, columns = shape.rows or self.rows, shape.columns or self.columns
        padded = -(-rows // self.rows) * self.rows * -(-columns // self.columns) * self.columns
        return padded / max(rows * columns, 1)


_TILES = (
    ProductTile(128, 128, 8, 8, 8),
    ProductTile(64, 128, 8, 4, 8),
    ProductTile(64, 64, 16, 4, 4),
    ProductTile(32, 64, 16, 4, 2),
    ProductTile(32, 32, 16, 2, 2),
    ProductTile(16, 32, 16, 2, 1),
    ProductTile(16, 16, 16, 1, 1),
    ProductTile(8, 32, 16, 1, 1),
    ProductTile(8, 8, 8, 1, 1),
    ProductTile(4, 8, 8, 1, 1),
)
"""Tiles of a block, the largest first: each element of a larger one is read less often."""
_WARP_TILES = (
    ProductTile(128, 64, 16, 32, 32, has_warps=True),
    ProductTile(64, 64, 16, 32, 16, has_warps=True),
    ProductTile(32, 64, 16, 16, 16, has_warps=True),
    ProductTile(32, 32, 16, 16, 16, has_warps=True),
    ProductTile(16, 32, 16, 16, 8, has_warps=True),
    ProductTile(16, 16, 16, 16, 8, has_warps=True),
)
"""Tiles of a block whose warps multiply on tensor cores."""
_LEAST_OF_FRAGMENTS = 16
"""Rows, columns and sums below which fragments are mostly empty."""
_ROWS_OF_ELEMENT = 4
"""The rows, or the columns, of a warp's tile for each element of a thread in a step of 8 sums."""
_ENOUGH_BLOCKS = 128
"""The blocks that keep the multiprocessors of a large GPU busy."""
_MOST_WASTE = 1.3
"""The work of tiles that a product does not fill, by its own."""
_FEWEST = 4
"""Rows and columns below which no element is read often enough to be copied."""


def product_tile(shape: Shape, limits: Limits) -> ProductTile | None:
    """The tile of a product on a target; None where each thread reads its operands itself."""
    sizes = (shape.rows, shape.columns, shape.sums)
    if any(size is not None and size < _FEWEST for size in sizes):
        return None
    has_fragments = all(size is None or size >= _LEAST_OF_FRAGMENTS for size in sizes)
    fitting: list[ProductTile] = []
    if limits.has_tensor_cores and shape.is_multiply_add and has_fragments:
        fitting = [tile for tile in _WARP_TILES if tile.fits(shape, limits)]
    fitting = fitting or [tile for tile in _TILES if tile.fits(shape, limits)]
    if not fitting:
        return None
    least = min(tile.waste(shape) for tile in fitting)
    good = [tile for tile in fitting if tile.waste(shape) <= _MOST_WASTE * least]
    chosen = next((tile for tile in good if tile.blocks(shape) >= _ENOUGH_BLOCKS), None)
    if chosen is None:
        chosen = max(good, key=lambda tile: min(tile.blocks(shape), _ENOUGH_BLOCKS))
    staged = next(tile for tile in _staged(chosen, shape, limits) if tile.fits(shape, limits))
    return replace(staged, parts=_parts(staged, shape, limits))


_STEPS_OF_PART = 16
"""The steps of a block that are worth a kernel which reads the partial sums; no GPU has measured it."""


def _parts(tile: ProductTile, shape: Shape, limits: Limits) -> int:
    """
    The parts of the sums, as many as the grid lacks blocks for the multiprocessors of the target.

    Each has 16 steps or more. Grids of open size are not split.
    """
    if None in (shape.rows, shape.columns, shape.sums, shape.batches) or not shape.adds_up:
        return 1
    blocks, steps = tile.blocks(shape), -(-(shape.sums or 0) // tile.sums)
    most = max(1, min(limits.multiprocessors // max(blocks, 1), steps // _STEPS_OF_PART))
    # Zeros beyond the last sum make all parts as long; other ops get parts of as many steps.
    return most if shape.is_multiply_add else max(n for n in range(1, most + 1) if steps % n == 0)


_LEAST_BYTES = 8
"""Smaller copies are as many instructions as loads of the threads are."""
_MOST_STAGES = 4
"""More tiles would hide a longer wait than memory of a device has; no GPU has measured it."""


def _staged(tile: ProductTile, shape: Shape, limits: Limits) -> Iterator[ProductTile]:
    """
    The tile with copies of the next sums during products of these, then without.

    The copies run 2 or 3 steps ahead where the GPU makes them itself, 8 bytes or more of both operands at
    once, where there are as many steps, and a multiprocessor has memory for the tiles of two blocks. No GPU
    has measured these numbers.
    """
    wide = replace(tile, is_wide=True)
    sizes = zip(wide.together(shape), (shape.left_bytes, shape.right_bytes), strict=True)
    if limits.has_async_copies and all(count * nbytes >= _LEAST_BYTES for count, nbytes in sizes):
        for stages in range(_MOST_STAGES, 2, -1):
            found = replace(wide, stages=stages)
            has_steps = shape.sums is None or -(-shape.sums // tile.sums) >= stages
            if has_steps and 2 * found.shared_bytes(shape) <= limits.shared_bytes:
                yield found
    if shape.sums is None or shape.sums > tile.sums:
        yield replace(tile, stages=2)
    yield tile


_ELEMENTWISE_THREADS = 256
_MOST_LANES = 8
"""The elements of a load or store of a thread: it computes each of them."""
_LEAST_OF_VECTORS = 1 << 14
"""Elements below which threads have one each: fewer would not keep a device busy; no GPU has measured it."""


def elementwise_threads(limits: Limits, extents: Sequence[int | None]) -> int:
    """The threads of a block of elementwise ops: whole warps, one for a small result."""
    most = limits.threads_for(_ELEMENTWISE_THREADS)
    if None in extents:
        return most
    total = prod(extent or 0 for extent in extents)
    return max(1, min(most, -(-total // _FEW_THREADS) * _FEW_THREADS))


def elementwise_lanes(element_bytes: int, extents: Sequence[int | None]) -> int:
    """
    The neighbouring elements that a thread of elementwise ops loads and stores at once; 1 for small results.

    Args: `element_bytes` are those of the widest elements.
    """
    if None not in extents and prod(extent or 0 for extent in extents) < _LEAST_OF_VECTORS:
        return 1
    return max(1, min(_MOST_LANES, WIDEST_BYTES // max(element_bytes, 1)))


_MOST_OUTPUTS = 4
"""Neighbouring outputs of a thread: more would leave fewer threads; no GPU has measured it."""


def window_outputs(row: int, loads: Callable[[int], int]) -> int:
    """
    The neighbouring outputs of a row of windows that a thread computes: those with the fewest loads in all.

    Args: `loads` has the elements of a row that the windows of so many outputs have together.
    """
    counts = range(1, max(1, min(_MOST_OUTPUTS, row)) + 1)
    return min(counts, key=lambda count: (-(-row // count) * loads(count), -count))


_SQUARE = 32
"""Rows and columns of a transposed square: a warp reads and writes whole rows of 32 elements."""


def transpose_threads(limits: Limits, extents: tuple[int | None, int | None], element_bytes: int) -> int:
    """
    The threads of a block that transposes a square of 32 by 32 elements; 0 where it is not worth it.

    Args: `extents` are those of the loops along which the operand and the output are dense.
    """
    if any(extent is not None and extent < _SQUARE for extent in extents):
        return 0
    threads = limits.threads_for(_ELEMENTWISE_THREADS)
    has_memory = _SQUARE * (_SQUARE + 1) * element_bytes <= limits.shared_bytes
    return threads if threads >= _SQUARE and has_memory else 0


def square_rows(threads: int) -> tuple[int, int]:
    """The size of a square, and the rows of it that each of some threads has an element of."""
    return _SQUARE, _SQUARE * _SQUARE // threads


_ROW_THREADS = 256
_SHORT_ROW = 32
"""Columns below which a thread computes a row by itself."""


def row_threads(limits: Limits, columns: int | None) -> int:
    """The threads of a block for a row, a power of two: a thread has a column at least."""
    most = limits.threads_for(_ROW_THREADS)
    while most > 1 and most * _BYTES > limits.shared_bytes:
        most //= 2
    if columns is None:
        return most
    return 1 if columns < _SHORT_ROW else min(most, 1 << (columns.bit_length() - 1))


_BYTES = 8
"""The bytes of a total, at most."""


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) else default
