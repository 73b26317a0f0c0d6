"""Tuned constants of level 2: tiles of products, reductions and elementwise ops, and their vectors."""

from __future__ import annotations

from stepwell.dialects.costs.table import UNKNOWN, Table, tuned


class TileCosts(Table):
    """Constants of register tiles."""

    max_rows: int = tuned(28, "rows")
    """The most rows of a tile."""
    max_vectors: int = tuned(6, "registers")
    """The most registers along the columns of a tile, and the most panels of one."""
    measured_sums: int = tuned(4, "registers")
    """Tiles of fewer sums are a remainder's, whose speed hardly matters: `calibrate` leaves them out."""
    typical_extent: int = tuned(127, "iterations")
    """The extent that stands for unknown ones: long, and no multiple of anything."""
    copy_penalty: float = tuned(0.02, "of the cycles")
    """A copy of a tile's code for a remainder costs compile time and instruction cache: it must win this."""
    tail_lanes: int = tuned(16, "lanes")
    """Lanes of the loop between the full tiles of a dynamic extent and its last single elements."""


class ProductCosts(Table):
    """Constants of sums of products: matrix products and convolutions."""

    enough_rows: int = tuned(4, "rows")
    """A loop over rows shorter than this gives too few independent sums."""
    mostly_inside: float = tuned(0.8, "of the reads")
    """A tile runs along a row loop only if at least this share of its reads is not padding."""
    unrolled_steps: int = tuned(25, "steps")
    """The most steps of a window that are unrolled."""
    unrolled_sums: int = tuned(10, "registers")
    """Sums of an unrolled window (3x3 of 144 at 56x56: 0.94 of peak with 7, 0.75 with 28 in loops)."""
    unrolled_registers: int = tuned(20, "registers")
    """The same with lanes along pixels: rows share elements (3x3 of 192 at 56x56: 203 to 154 us)."""
    widening: int = tuned(2, "instructions")
    """Instructions that widen a vector; those of 16-bit floats take two."""
    near_bytes: int = tuned(512, "bytes")
    """The largest stride of panels and of small matrices, which the prefetcher follows."""
    lone_registers: int = tuned(4, "registers")
    """Registers along a single dot product, which needs several sums in flight."""
    transposing_rows: int = tuned(48, "rows")
    """
    The fewest rows that pay for transposing an operand: the copy costs as much as 4 of them, sums along the
    lanes a quarter of all (256x256x256: 90 GFLOP/s along the sums, 110 transposed; 32 rows: 100 and 98).
    """
    gapless_uses: int = tuned(256, "uses")
    """
    The fewest results that read each element of a feature map of which a 1x1 convolution of stride 2 skips
    three quarters: a copy of the rest has rows of pixels without gaps (1024 to 2048 channels at 14x14: 45
    GFLOP/s with rows of 7 pixels, 97 with one row of 49).
    """
    gathering_rows: int = tuned(4, "rows")
    """
    The same for an operand whose lanes are gathered one by one (512x208x623 ATBT: 48 GFLOP/s, transposed
    109).
    """
    uncached_rows: int = tuned(256, "rows")
    """The same for an operand that does not fit the level-2 cache."""
    widening_columns: int = tuned(64, "columns")
    """Columns that read an element: from here each conversion of one costs as much as a multiply-add."""
    transposed_rows: int = tuned(16, "rows")
    """Rows of a transposed block, all of which are written before the next block."""
    pairing_uses: int = tuned(32, "uses")
    """The fewest results that read each element of an operand packed into pairs, which is read once more."""
    computing_rows: int = tuned(4, "rows")
    """The most rows that read each computed weight: their register tile computes it once for all of them."""
    amx_rows: int = tuned(8, "rows", UNKNOWN)
    """Tile registers are no faster than vectors for fewer rows: reading the weights bounds both."""
    repeated_panels: int = tuned(16, "level-2 caches")
    """
    Panels of at most this size are read again for each row of tiles, if rows come from beyond the level-2
    cache in many pieces: panels are read in order (1x1 of 1024 to 256 channels at 14x14: 77 GFLOP/s with rows
    inside of panels, 94 with panels inside of rows; 1024 to 512: 74, 90; 512 to 128 at 28x28: 79, 97).
    """
    padded_rows: int = tuned(28, "rows")
    """Padding is a small share of the reads of longer rows."""


class RowCosts(Table):
    """Constants of reductions: rows that several ops share, windows, leading dimensions."""

    whole_row: float = tuned(7 / 16, "of the registers")
    """Rows up to this size are computed whole, in registers (softmax 591x197: 97 to 75 us)."""
    together: float = tuned(3 / 4, "of the registers")
    """
    Whole rows are computed several at a time, of so many registers together: others hide the latency of the
    lanes' sum (softmax of 3072 rows of 32, in 16 registers: 3 rows 1.38 times as fast, 4 rows 1.32).
    """
    function_registers: int = tuned(16, "registers")
    """
    The most registers of whole rows together where polynomials are evaluated (of 32, softmax of 1536 rows: of
    128 elements 2 rows 1.31 times as fast as 3, of 96 2 rows 1.07 times as 4).
    """
    most_rows: int = tuned(4, "rows")
    """The most rows at a time: each is a copy of the code (of 16 elements: 4 rows 1.49, 6 rows 1.55)."""
    long_rows: int = tuned(3, "rows")
    """
    The most long rows at a time, for kernels that read rows again and evaluate no polynomial (layer
    normalization of 768: 2 rows 1.10 to 1.15, 3 rows 1.2, 4 rows 1.1; softmax of 1024 0.97, sums alone 0.92).
    """
    registers: int = tuned(4, "registers")
    """Registers of a step along longer rows, or of results."""
    long_row_bytes: int = tuned(1024, "bytes")
    """
    Rows of so many bytes, and `least_rows` of them, are summed in half of the registers: a tile then reads
    more of each page (64 rows of 128 KiB: 325 to 125 us; 64 times 128 of 1 KiB: 137 to 96).
    """
    least_rows: int = tuned(8, "rows")
    """The fewest rows that are summed so."""
    least_tiles: int = tuned(4, "tiles")
    """Fewer tiles would leave threads without work."""


class ElementwiseCosts(Table):
    """Constants of elementwise ops and copies."""

    function_ops: int = tuned(25, "instructions")
    """The instructions of a function that `expand-math` replaces by a polynomial."""
    epilogue_ops: int = tuned(400, "instructions")
    """
    Vector instructions of an op on its anchor's tile; a kernel has some, and copies for remainders. An
    unknown extent counts as so many.
    """
    tile_ops: int = tuned(200, "instructions")
    """Vector instructions of a tile of its own."""
    small_tile_ops: int = tuned(60, "instructions")
    """The same where addresses have 32 bits."""
    registers: int = tuned(4, "registers")
    """Registers of a tile, which hide latencies (of 16: HardSwish 1.13 times as fast as with 2)."""
    function_registers: int = tuned(6, "registers")
    """
    Registers of a tile that evaluates a polynomial (192x256 with 16 registers, to 2: sigmoid 1.3 times as
    fast, exp 1.25; with 32, to 1 or 2: gelu 1.18; logarithms, sines and powers 0.97 to 1.03).
    """
    copy_registers: int = tuned(8, "registers")
    """Registers of a tile that only moves elements (128x12 rows of 64: 1.5 times as fast as with 2)."""
    small_registers: int = tuned(2, "registers")
    """
    Registers of a tile of a small op, and of a fill of rows shorter than a register, each of them a store:
    the time hardly matters, the code is compiled all the same (silero_seq: a tenth of its compilation).
    """
    small_vectors: int = tuned(64, "registers")
    """The most registers of elements of a small op."""
    least_block: int = tuned(4, "elements")
    """The shortest side of a block that is transposed in registers."""
    largest_block: int = tuned(16, "elements")
    """The longest one, and the most lanes of computed reads."""
    most_copies: int = tuned(4, "copies")
    """Repetitions that are stored together, from one load."""


class VectorCosts(Table):
    """Constants of `vectorize` and of the passes on vectors."""

    alternating_reads: int = tuned(3, "elements")
    """Columns that alternate in memory are picked from whole registers, unless they are more."""
    alternating_rows: int = tuned(4, "operands")
    """More operands that alternate along the lanes take more shuffles than stores are saved."""
    computed_reads: int = tuned(64, "elements")
    """Elements at computed positions are read one by one: the most of a tile."""
    mask_lanes: int = tuned(4, "lanes")
    """The fewest lanes of a comparison whose mask is tested at once."""


class BufferCosts(Table):
    """Constants of memory: padded slices, stacks, prefetching."""

    padded_least_bytes: int = tuned(16 << 10, "bytes")
    """Feature maps of at most this size are in the level-1 cache without `pad-by-channel`."""
    padded_most_bytes: int = tuned(256 << 10, "bytes")
    """The largest padded slice: it stays in the level-2 cache next to inputs and results, and on a stack."""
    stack_bytes: int = tuned(16 << 10, "bytes")
    """Larger buffers are parts of scratch: stacks are small, and each thread would touch pages of its own."""
    loop_stack_bytes: int = tuned(256 << 10, "bytes")
    """
    The same for a buffer inside parallel loops: in scratch each iteration would have a buffer of its own,
    none of them in a cache.
    """
    prefetched_bytes: int = tuned(1024, "bytes")
    """Shorter rows are on their way already: processors fetch ahead by themselves."""
    prefetch_share: int = tuned(4, "rows of a level-2 cache")
    """A row, its result and the next row are in the level-2 cache together, and leave room in it."""


TILES, PRODUCTS, ROWS = TileCosts(), ProductCosts(), RowCosts()
ELEMENTWISE, VECTORS, BUFFERS = ElementwiseCosts(), VectorCosts(), BufferCosts()
