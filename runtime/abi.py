"""
The binary interface between compiled code and the runtime: a kernel's arguments, and the fields of its
context.

A kernel, and the model's `main` likewise, is `i32 k(ptr args, ptr dims, ptr ctx)`: `args` points to data
pointers (inputs, then outputs, then scratch), `dims` to the values of the distinct symbols as i64 in
signature order, `ctx` to the struct below. It returns 0, or the row of the run-time error table, with details
in `ctx`.
"""

from enum import IntEnum

WORD_BYTES = 8
WORDS_PER_TIME = 2
"""Number of i64 in a time as the C library writes it: seconds, nanoseconds."""
WORDS_PER_TIMED_CALL = 3 * WORDS_PER_TIME + 1
"""
Number of i64 for a timed call: its last begin and end, the sum of its times, and the number of its runs.
"""


class CtxField(IntEnum):
    """Offsets into the context struct, in 8-byte words."""

    PARALLEL_FOR = 0
    """
    `void parallel_for(ptr ctx, ptr body, ptr arg, i64 chunks)`; `body` is `void body(ptr arg, i64 begin, i64
    end)`.
    """
    POOL = 1
    """The thread pool's state; null runs everything on the calling thread."""
    HOST = 2
    """`i32 host(ptr ctx, i64 callee, ptr words, i64 n)`: calls back into Python (runtime/host.py)."""
    ALLOCATE = 3
    """
    `ptr allocate(ptr ctx, i64 slot, i64 bytes)`: memory whose size depends on data, null when there is none.
    """
    WEIGHTS = 4
    """Pointer to a table of pointers, one a weight, in the order of `main`'s globals."""
    ERROR = 5
    """i32 code, i32 row of the location table."""
    ERROR_VALUES = 6
    """Two i64 that the error's message shows."""
    CLOCK = 8
    """`i32 clock_gettime(i32 clock, ptr time)` of the C library; null unless the code records its times."""
    TIMES = 9
    """The memory for these times: `WORDS_PER_TIMED_CALL` i64 for each timed call of `main`."""


class Status(IntEnum):
    """The return codes of `main` besides 0 and the rows of the run-time error table, which count from 1."""

    HOST_FAILED = -1
    """A host call raised; its frame has the exception."""
    OUT_OF_MEMORY = -2
    """Memory whose size depends on data could not be allocated."""


CTX_BYTES = 10 * WORD_BYTES
ARENA_ALIGNMENT = 64
"""Bytes: arena buffers and packed weights start on a cache line, which is also the widest vector."""


class EntryStatus(IntEnum):
    """The statuses of an exported model's functions in C, besides 0 and the rows of its table."""

    HOST_FAILED = Status.HOST_FAILED
    NO_MEMORY = Status.OUT_OF_MEMORY
    BAD_ARGUMENT = -3
    SMALL_WORKSPACE = -4
    BAD_ALIGNMENT = -5
    WRONG_CPU = -6
    NO_WEIGHTS = -7
    STATE_FULL = -8


ENTRY_MESSAGES: dict[EntryStatus, str] = {
    EntryStatus.HOST_FAILED: "host-failed: the function for host calls is missing, or reported a failure",
    EntryStatus.NO_MEMORY: "out-of-memory: `allocate` is missing, or gave no memory aligned to 64 bytes",
    EntryStatus.BAD_ARGUMENT: "bad-argument: a pointer is null, or a size is negative or too large",
    EntryStatus.SMALL_WORKSPACE: "small-workspace: the workspace has fewer bytes than the call needs",
    EntryStatus.BAD_ALIGNMENT: "bad-alignment: workspace or weights do not begin at a multiple of 64",
    EntryStatus.WRONG_CPU: "wrong-cpu: this CPU lacks features that the code uses",
    EntryStatus.NO_WEIGHTS: "no-weights: the weights are missing, or are not those of the model",
    EntryStatus.STATE_FULL: "state-full: growing states have no room for so many more positions",
}
"""The messages of these statuses."""
FAILED_CHECK = -(1 << 16)
"""
Of `workspace_bytes`, for sizes that contradict an assumption of the code: from here down, a number for each
row of the table.
"""
MAX_ENTRY_SIZE = 1 << 31
"""The largest size that a caller in C may pass for a symbol."""


class CallField(IntEnum):
    """The members of the struct of a call in C, in order: pointers, but for `VALUES`, two i64."""

    WORKSPACE = 0
    WORKSPACE_BYTES = 1
    """Of type size_t."""
    POOL = 2
    ALLOCATE = 3
    """`void *allocate(void *user, int64_t slot, int64_t bytes)`."""
    HOST = 4
    """`int32_t host(void *user, int64_t callee, int64_t *words, int64_t n)`."""
    USER = 5
    VALUES = 6
    WEIGHTS = 7
    MEMORIES = 8
    """An array with a pointer for each memory pool, of a function that has pools."""

    def offset(self, pointer_bytes: int) -> int:
        """Bytes from the begin of the struct, for pointers of a size."""
        if self < CallField.VALUES:
            return self * pointer_bytes
        words = -(-CallField.VALUES * pointer_bytes // WORD_BYTES)
        after = 0 if self == CallField.VALUES else 2 * WORD_BYTES + (self - CallField.WEIGHTS) * pointer_bytes
        return WORD_BYTES * words + after


KERNEL_PREFIX = "k_"
"""The beginning of the names of kernels, after which comes the hash of their content."""
PARALLEL_FOR = "stepwell_1_parallel_for"
"""The link name of `parallel_for` in exported files, with the number of their ABI."""
