"""Tuned constants of kernels that lowerings write themselves, of their threads, and of compiling them."""

from __future__ import annotations

from stepwell.dialects.costs.table import Table, tuned


class PoolCosts(Table):
    """Constants of pools by rows."""

    lanes: int = tuned(16, "lanes")
    """Columns of the result in a vector; narrower targets use several registers."""
    least_columns: int = tuned(4, "columns")
    """Fewer columns of results are computed window by window."""
    least_planes: int = tuned(8, "planes")
    """Planes (channels of samples) that are distributed over threads; with fewer, rows must be."""
    unrolled_rows: int = tuned(16, "rows")
    """Up to so many rows of results are unrolled."""
    kept_vectors: int = tuned(8, "registers")
    """Vectors of input rows that later windows need again: a quarter of the larger targets' registers."""
    most_points: int = tuned(15, "rows")
    """The greatest height of a window, whose reduced rows stay in registers until its result is written."""


class SearchCosts(Table):
    """Constants of `top_k`, `non_max_suppression` and scans."""

    search_block: int = tuned(16, "elements")
    """
    Elements that are compared at once with the k-th so far: a few registers. Larger blocks are skipped less
    often (5 of 1000: blocks of 16 need 0.6 of the time of blocks of 64).
    """
    rank_lanes: int = tuned(8, "lanes")
    """Ranks in a vector: block sizes and numbers of blocks are multiples of it."""
    one_block: int = tuned(256, "elements")
    """Rows of up to this size are one block, searched in each round (5 of 100: 0.75 of the time)."""
    open_block: int = tuned(64, "elements")
    """The size of blocks where the row size is unknown."""
    many: int = tuned(2048, "elements")
    """With this many elements for each of the k or more, the search of `top_k` skips nearly all of them."""
    rank_ops: float = tuned(8.0, "instructions a vector")
    """A vector of ranks made from elements and their positions."""
    round_ops: float = tuned(60.0, "instructions")
    """A round, beside the ranks that it reads: two maxima of a register's lanes, one after the other."""
    compare_ops: float = tuned(3.0, "instructions")
    """An element of a block that is compared with the k-th alone."""
    shift_ops: float = tuned(8.0, "instructions")
    """The shift of an element, with its index, when another one is inserted before it."""
    scanned_bytes: int = tuned(1024, "bytes")
    """Size of a block of columns that one loop scans: half of the registers of the larger targets."""
    kept_block: int = tuned(16, "boxes")
    """Selected boxes that a candidate meets at once: a register of the larger targets."""
    digit_bits: int = tuned(8, "bits")
    """The width of a digit of the candidates' radix sort, which sums 2 to that power counts for each."""


class CellCosts(Table):
    """Constants of recurrent layers."""

    block_bytes: int = tuned(256 << 10, "bytes")
    """The products with the input of a block of steps: a share of the level-2 cache."""


class TreeCosts(Table):
    """Constants of tree ensembles."""

    walks: int = tuned(16, "walks")
    """
    Walks in lock step, of rows or of trees: the loads of each wait for each other (1,000 rows by 100 trees of
    depth 5: 335 us with 16, 380 with 8).
    """
    block_rows: int = tuned(64, "rows")
    """Rows that walk a tree before the next tree, which then replaces it in the level-1 cache."""
    bit_registers: int = tuned(4, "registers")
    """Registers of bit vectors, one for each row: they share loads of a cut (126 us with 4, 192 with 1)."""
    step_cycles: float = tuned(1.9, "cycles")
    """A step of one of many walks."""
    cut_cycles: float = tuned(1.3, "cycles")
    """A comparison of a register of rows, and the clearing of leaves."""
    leaf_cycles: float = tuned(1.2, "cycles")
    """The leaf of a row from its bit vector."""
    column_cycles: float = tuned(1.5, "cycles")
    """The copy of a feature of a row to the lanes of its block."""


class ThreadCosts(Table):
    """Constants of parallel loops and of the pool's waiting."""

    worth: int = tuned(400_000, "additions")
    """
    Work below which a loop stays on one thread: about 10 µs. Waking a second thread costs up to 1 µs when it
    spins and 30 µs when it sleeps.
    """
    start_cycles: float = tuned(3000.0, "cycles")
    """The start and the end of a parallel loop whose threads spin: 1 µs."""
    unknown_trips: int = tuned(16, "iterations")
    """Iterations assumed for a loop of unknown length."""
    memory_cost: int = tuned(2, "additions")
    """The work of a load or store of an element."""
    slow_cost: int = tuned(4, "additions")
    """The work of a division."""
    chunks: int = tuned(16, "chunks")
    """2 to 16 chunks cost the same, and more threads than that find work in every one."""
    few: int = tuned(4, "iterations")
    """With fewer iterations threads share the parallel loops inside, if each of those has enough work."""
    caller_spins: int = tuned(20_000, "spins")
    """Looks of a caller at the workers that it waits for, before it sleeps."""
    spins_a_yield: int = tuned(64, "spins")
    """
    The number of spins between two yields of a waiting thread, about 2 us. A worker may be on its caller's
    own processor, woken there while another program occupied the other one: without yields its spinning uses
    the caller's time slices (shufflenet with both on one processor: 7.9 ms, with yields 4.2, on one thread
    3.8).
    """


class CompilerCosts(Table):
    """Constants of the compiler's own time."""

    least_shared: int = tuned(3, "kernels")
    """Kernels that are worth a function with extents as arguments: each is scheduled to compare it."""

    least_divided: int = tuned(32, "kernels")
    """The fewest kernels of which an idle process schedules half (4 ms each)."""

    large_main: int = tuned(400_000, "characters")
    """From here on, some 700 calls, the speed of `@main`'s code matters less than the time to generate it."""

    worker_pays: int = tuned(20_000, "characters")
    """
    A worker needs about 0.4 s to start and import: below this many characters of uncached kernels, none pays.
    """
    fork_pays: int = tuned(2_000, "characters")
    """The fewest characters of uncached kernels for which a fork of a warm process pays (0.02 s)."""
    nodes_a_worker: int = tuned(20, "nodes")
    """
    A worker starts, before there are kernels, for so many nodes of a model: about ten kernels, 0.5 s of work.
    """
    freed_objects: int = tuned(100_000, "objects")
    """
    The objects of compiled kernels that a process keeps, 10 MB, before it frees their cycles: 0.4 ms for
    1,000 of them, 2 % of a compilation.
    """
    early_cores: int = tuned(1, "cores")
    """
    With more cores than this, a process for kernels starts before the model is read: its imports and its
    sample take a quarter of a second.
    """


CELLS, POOLS, SEARCHES, TREES = CellCosts(), PoolCosts(), SearchCosts(), TreeCosts()
THREADS, COMPILER = ThreadCosts(), CompilerCosts()
