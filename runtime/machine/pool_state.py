"""The state that the thread pool's native code and its Python side share."""

from enum import IntEnum


class StateField(IntEnum):
    """Offsets into the pool's shared state, in bytes."""

    STATE = 0
    EPOCH = 4
    """The upper half of the state: what workers sleep on (little endian)."""
    TAKEN = 64
    """
    i64: the number of chunks that the caller took, from the front; the upper half: workers, from the back.
    """
    BODY = 128
    ARG = 136
    CHUNKS = 144
    LIMIT = 152
    """i64: the largest number of workers that may check in."""
    SLEEPERS = 192
    """i32: the number of workers that sleep."""
    STOP = 256
    """i32: not 0 when workers should end."""
    WORKER_SPINS = 264
    """i64: the number of times that a worker looks for work before it sleeps."""
    BUSY = 320
    """i32: 1 while a call owns the pool; any other runs on its own thread."""
    WAITING = 384
    """i32: 1 while the caller sleeps until its workers are done."""

    CHUNK_TIMES = 448
    """In a pool that records chunks: the address of the caller's ring."""
    WAIT = 456
    """In the pool of an exported file: the address of the function by which a thread sleeps, or null."""
    WAKE = 464
    YIELD = 472


class RingField(IntEnum):
    """Offsets into the ring of a thread in a pool that records chunks, in bytes."""

    STATE = 0
    COUNT = 8
    """i64: the number of records that were ever written."""
    CLOCK = 16
    """`i32 clock_gettime(i32 clock, ptr time)` of the C library."""
    RECORDS = 64


class RecordField(IntEnum):
    """Offsets into the record of a chunk, in bytes; times are i64 of seconds and nanoseconds."""

    BODY = 0
    CHUNK = 8
    BEGIN = 16
    END = 32


WORKER, RECORDING_WORKER = "stepwell_worker", "stepwell_recording_worker"
"""The functions that workers run; the second one takes the address of a ring, not of the state."""
RECORD_BYTES = 48
RING_RECORDS = 1 << 16
STATE_BYTES = 512
HANDLE_BYTES = 64
"""The bytes before the state in the pool of an exported file: what a context points to."""
WORKER_SPINS = 16000
"""Half a millisecond: a model's next parallel kernel comes sooner, and waking a sleeper takes 20 us."""
