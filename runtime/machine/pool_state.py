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


STATE_BYTES = 448
WORKER_SPINS = 16000
"""Half a millisecond: a model's next parallel kernel comes sooner, and waking a sleeper takes 20 us."""
