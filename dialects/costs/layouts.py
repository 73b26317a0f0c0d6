"""Tuned constants of level 1: layouts, fusion, Winograd's algorithm, attention."""

from __future__ import annotations

from stepwell.dialects.costs.table import Table, tuned


class LayoutCosts(Table):
    """Constants of `convert-layout`, `pack-*`, `decompose-conv-transpose` and `fuse-ops`."""

    result_steps: int = tuned(8, "steps of a sum")
    """The steps of a sum in the time of converting its result to blocks, for few filters."""
    conversion_steps: int = tuned(4, "steps of a sum")
    """The steps of a sum in the time of converting its result, for a matrix product."""
    most_waste: float = tuned(0.1, "of the lanes")
    """The largest share of idle lanes that costs no more than converting to blocks."""
    useful_channels: float = tuned(0.7, "of the channels")
    """Below it a padded block costs more than it saves: 24 channels of 32 are worth it, 20 are not."""
    transposed_points: float = tuned(0.8, "of the points")
    """The share of nonzero points of equal small kernels above which one convolution is faster."""
    panel_padding: float = tuned(0.05, "of the columns")
    """The most padding of the last panel of packed weights."""
    padding_steps: int = tuned(384, "steps of a sum")
    """The fewest steps of a sum that pay for slicing the padding off its results."""
    float_parts: int = tuned(16, "parts")
    """More parts than this cost more than products of integers element by element."""
    dequantized_rows: int = tuned(8, "rows")
    """
    The most rows of a product that dequantizes its weights: a register tile's; more of them would dequantize
    a panel again, or need the whole matrix in memory.
    """


class WinogradCosts(Table):
    """Constants of `winograd-conv` and of its kernels."""

    direct_share: float = tuned(0.95, "of the peak")
    """The speed of a direct 3x3 convolution."""
    product_share: float = tuned(0.8, "of the peak")
    """The speed of the products of transformed tiles."""
    worth: float = tuned(0.85, "of the direct time")
    """The largest share of the direct time that pays for the larger weights."""
    input_steps_2: int = tuned(64, "instructions a tile and vector of channels")
    """Vector instructions that transform a tile of the input for tiles of 2, with memory."""
    result_steps_2: int = tuned(44, "instructions a tile and vector of channels")
    """The same for a tile of results."""
    input_steps_4: int = tuned(216, "instructions a tile and vector of channels")
    """The same for the input of tiles of 4."""
    result_steps_4: int = tuned(152, "instructions a tile and vector of channels")
    """The same for results of tiles of 4."""
    open_size: int = tuned(32, "pixels")
    """The height and width that are assumed for symbolic ones."""
    block_bytes: int = tuned(600 << 10, "bytes")
    """The most bytes of a block of tiles, transformed input and products: a share of the level-2 cache."""
    enough_tiles: int = tuned(24, "tiles")
    """Products of fewer tiles leave registers idle."""
    open_tiles: int = tuned(48, "tiles")
    """The most tiles of a block where the size of feature maps is open: small ones have no more."""
    enough_blocks: int = tuned(4, "blocks")
    """
    Threads share groups of blocks where a sample has this many, else channels of each block. A group has its
    own memory for one block, which stays in the cache from block to block.
    """
    max_groups: int = tuned(8, "groups")
    """The most groups of blocks in a sample."""
    looped_uses: int = tuned(128, "products")
    """
    Products of each transformed element from which its transform is written as loops, a third of the code
    (both, 3x3 of 32 channels at 112x112: 1.15 of the time; 128 at 28x28: 1.01; 256 at 14x14: 1.00).
    """

    def transform_steps(self, tile: int) -> tuple[int, int]:
        """The instructions to transform a tile's input and its result, for a vector of channels."""
        if tile == 2:
            return self.input_steps_2, self.result_steps_2
        return self.input_steps_4, self.result_steps_4


class AttentionCosts(Table):
    """Constants of attention: the sizes from which a kernel pays, blocks, softmax."""

    fewest_queries: int = tuned(8, "queries")
    """Fewer queries leave most lanes empty: separate products are faster, as in a decoder's step."""
    fewest_scores: int = tuned(512, "scores")
    """
    With fewer scores there is little to do (16 queries on 16 keys: 0.95 of the speed of separate products,
    on 32: 1.01, on 64: 1.06).
    """
    scores_bytes: int = tuned(256 << 10, "bytes")
    """The most bytes of scores of a block, a share of the level-2 cache."""
    most_queries: int = tuned(96, "queries")
    """The most queries of a block whose scores fit."""
    least_queries: int = tuned(32, "queries")
    """
    Smaller blocks would read keys and values too often: where scores exceed the cache, keys come in blocks
    too. If the number of queries is open, all blocks have this size, since the last is computed in full.
    """
    enough_items: int = tuned(4, "blocks")
    """Fewer blocks leave threads without work."""
    max_groups: int = tuned(8, "groups")
    """
    Groups of blocks that are distributed over threads; a group has its own memory for one block, which stays
    cached.
    """
    softmax_lanes: int = tuned(16, "columns")
    """
    Columns in a vector; the last vector can have half as many. Narrow targets use vectors of a register.
    """
    softmax_chains: int = tuned(4, "chains")
    """Independent chains of maxima and sums: in a chain each op waits some cycles for the one before it."""


class NbitsCosts(Table):
    """Constants of products with weights of a few bits."""

    panel_registers: int = tuned(6, "registers")
    """The registers of a panel of columns: a number of the row, once broadcast, meets all of them."""
    digit_registers: int = tuned(4, "registers")
    """
    The same where products of bytes take three sums for each of them (2048x2048 on Zen 4, 1 row: 83 us with 6
    registers, 70 with 4).
    """
    chains: int = tuned(1, "chains")
    """
    The sums of a column, each of which waits some cycles for its next product (896x4864 on AVX2, 1 row: 191
    us in one chain, 151 in two).
    """
    few_rows: int = tuned(4, "rows")
    """
    The most rows whose weights become floats again for each row: more of them share panels in memory. For
    2048x2048 on AVX2, 4 rows: 1.76 ms by panels, 0.71 row by row; 5 rows, a tile of products: 0.79 and 0.87.
    """
    panel_steps: int = tuned(1024, "steps of a sum")
    """
    The most steps of columns in memory: a share of the level-2 cache. For 128x2048x2048 on AVX2: 13.4 ms with
    512 steps, 12.7 with 1024, 12.7 for the product of floats.
    """
    parts: int = tuned(3, "parts")
    """
    The parts of a panel if rows share unpacked codes: each row has sums for a part at a time. Floats of a
    part are read in the order of memory (128x2048x2048 on AVX2: 16.5 ms by panels, 12.7 by parts).
    """
    strip_registers: int = tuned(2, "registers")
    """The same in vector registers, where the target is known."""
    byte_rows: int = tuned(4, "rows")
    """The rows of bytes that share unpacked codes."""
    digit_rows: int = tuned(2, "rows")
    """The rows of floats as three digits that share unpacked codes: a row has three sums for each column."""
    unrolled: int = tuned(4, "elements")
    """The elements of codes that are written out where four products of bytes are added in 32 bits."""
    unpacked_ops: int = tuned(3, "instructions")
    """Of a vector of codes, for estimates: mask, conversion, and product or scale."""
    digit_ops: float = tuned(0.8, "products of f32")
    """For estimates: three products of bytes for four steps, and their share of sums that become floats."""
    groups: int = tuned(16, "groups")
    """The groups of panels that threads share; each has its own memory for a panel."""

    def registers(self, *, with_digits: bool) -> int:
        """The registers of a panel of columns, by whether numbers become digits."""
        return self.digit_registers if with_digits else self.panel_registers


LAYOUTS, WINOGRAD, ATTENTION, NBITS = LayoutCosts(), WinogradCosts(), AttentionCosts(), NbitsCosts()
