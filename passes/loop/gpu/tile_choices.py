"""Tiles of kernels for a GPU, chosen by shape and target alone; every target has a tile that fits."""

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
"""The registers of a thread on a target that does not give their number."""
_FEW_THREADS = 32


class Limits(NamedTuple):
    """The limits of a target, which no schedule may exceed."""

    threads: int
    shared_bytes: int
    registers: int
    """The most registers of a thread."""
    has_shuffles: bool = False
    """Whether the threads of a warp exchange values; there is no code for this on other kinds of targets."""
    has_tensor_cores: bool = False
    """Whether TF32 products are faster: three of them replace one of f32, so they need 3.5 times its rate."""
    has_async_copies: bool = False
    """Whether copies to memory of a block run asynchronously, without its threads."""
    multiprocessors: int = 0
    """The number of blocks that keep the device busy; 0 if it is not known."""
    kind: str = ""
    """The kind of the target."""
    has_subgroups: bool = False
    """Whether the threads of a subgroup can add up values."""

    @staticmethod
    def of(target: Target, *, in_tf32: bool = False) -> Limits:
        """
        The limits of a target.

        Args: `in_tf32` is whether one TF32 product replaces an f32 product.
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
        """The number of threads of a block: the greatest power of two up to `wanted` and the limit."""
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
    """Whether the sum can be split into parts."""


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
    """The number of parts of the sum, which different blocks compute."""

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
        """An estimate of a thread's registers: sums, factors, copies with two indices each, and others."""
        copies = -(-self.sums * (self.rows + self.columns) // self.threads) + 1
        if self.has_warps:
            # The sums of the tile and of all tiles; three parts of each fragment's elements.
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
        """The work of all tiles, divided by the work of the product."""
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
"""Below this number of rows, columns or sums, fragments are mostly empty."""
_ROWS_OF_ELEMENT = 4
"""The rows, or the columns, of a warp's tile for each element of a thread in a step of 8 sums."""
_ENOUGH_BLOCKS = 128
"""The blocks that keep the multiprocessors of a large GPU busy."""
_MOST_WASTE = 1.3
"""The greatest work of tiles for a product, divided by the work of the product."""
_FEWEST = 4
"""Below this number of rows or columns, no element is read often enough to be copied."""


def product_tile(shape: Shape, limits: Limits) -> ProductTile | None:
    """The tile of a product on a target; None if each thread should read its operands itself."""
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
"""The steps of a block that pay for a second kernel, which adds partial sums; not measured on a GPU."""


def _parts(tile: ProductTile, shape: Shape, limits: Limits) -> int:
    """
    The number of parts of the sum: enough to give every multiprocessor of the target a block.

    Each part has 16 steps or more. Grids of open size are not split.
    """
    if None in (shape.rows, shape.columns, shape.sums, shape.batches) or not shape.adds_up:
        return 1
    blocks, steps = tile.blocks(shape), -(-(shape.sums or 0) // tile.sums)
    most = max(1, min(limits.multiprocessors // max(blocks, 1), steps // _STEPS_OF_PART))
    # With zeros after the last step all parts have equal length; other ops need a number that divides the
    # steps.
    return most if shape.is_multiply_add else max(n for n in range(1, most + 1) if steps % n == 0)


_LEAST_BYTES = 8
"""Smaller copies take as many instructions as loads by the threads."""
_MOST_STAGES = 4
"""More tiles would hide a longer latency than a device's memory has; not measured on a GPU."""


def _staged(tile: ProductTile, shape: Shape, limits: Limits) -> Iterator[ProductTile]:
    """
    The variants of a tile: with copies of the next steps during products of the current one, then without.

    The copies run 2 or 3 steps ahead on targets with asynchronous copies, if each copies 8 bytes or more of
    both operands, if there are enough steps, and if a multiprocessor has memory for the tiles of two blocks.
    These numbers were not measured on a GPU.
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
"""The most elements that a thread loads, computes and stores at once."""
_LEAST_OF_VECTORS = 1 << 14
"""Below this number of elements each thread has one, to keep the device busy; not measured on a GPU."""


def elementwise_threads(limits: Limits, extents: Sequence[int | None]) -> int:
    """The threads of a block of elementwise ops: whole warps, a single one for a small result."""
    most = limits.threads_for(_ELEMENTWISE_THREADS)
    if None in extents:
        return most
    total = prod(extent or 0 for extent in extents)
    return max(1, min(most, -(-total // _FEW_THREADS) * _FEW_THREADS))


def elementwise_lanes(element_bytes: int, extents: Sequence[int | None]) -> int:
    """
    The neighbouring elements that a thread of elementwise ops loads and stores at once; 1 for small results.

    Args: `element_bytes` is the size of the widest elements.
    """
    if None not in extents and prod(extent or 0 for extent in extents) < _LEAST_OF_VECTORS:
        return 1
    return max(1, min(_MOST_LANES, WIDEST_BYTES // max(element_bytes, 1)))


_MOST_OUTPUTS = 4
"""The most neighbouring outputs of a thread: more would leave too few threads; not measured on a GPU."""


def window_outputs(row: int, loads: Callable[[int], int]) -> int:
    """
    The number of neighbouring outputs of a row of windows that a thread computes: the one with the fewest
    loads.

    Args: `loads(count)` is the number of a row's elements that the windows of `count` outputs read together.
    """
    counts = range(1, max(1, min(_MOST_OUTPUTS, row)) + 1)
    return min(counts, key=lambda count: (-(-row // count) * loads(count), -count))


_SQUARE = 32
"""Rows and columns of a transposed square: a warp reads and writes whole rows of 32 elements."""


def transpose_threads(limits: Limits, extents: tuple[int | None, int | None], element_bytes: int) -> int:
    """
    The threads of a block that transposes a square of 32 by 32 elements; 0 where this does not pay.

    Args: `extents` are the extents of the loops along which the operand and the output are dense.
    """
    if any(extent is not None and extent < _SQUARE for extent in extents):
        return 0
    threads = limits.threads_for(_ELEMENTWISE_THREADS)
    has_memory = _SQUARE * (_SQUARE + 1) * element_bytes <= limits.shared_bytes
    return threads if threads >= _SQUARE and has_memory else 0


def square_rows(threads: int) -> tuple[int, int]:
    """The side of a square, and the number of its elements for each of some threads."""
    return _SQUARE, _SQUARE * _SQUARE // threads


_ROW_THREADS = 256
_SHORT_ROW = 32
"""Below this number of columns a thread computes a row by itself."""


def row_threads(limits: Limits, columns: int | None) -> int:
    """The threads of a block for a row, a power of two; each has at least one column."""
    most = limits.threads_for(_ROW_THREADS)
    while most > 1 and most * _BYTES > limits.shared_bytes:
        most //= 2
    if columns is None:
        return most
    return 1 if columns < _SHORT_ROW else min(most, 1 << (columns.bit_length() - 1))


_BYTES = 8
"""The most bytes of a total."""


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) else default
