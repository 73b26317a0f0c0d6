"""The interface between compiled code and the runtime: numbers that artifacts on disk rely on."""

from __future__ import annotations

import numpy as np

from stepwell.lowering.backends.program_bytes import decoded, encoded
from stepwell.runtime.abi import ARENA_ALIGNMENT, CTX_BYTES, WORDS_PER_TIMED_CALL, CtxField, Status


def test_the_context_and_the_arena() -> None:
    fields = {field.name: field.value for field in CtxField}
    assert fields == {
        "PARALLEL_FOR": 0, "POOL": 1, "HOST": 2, "ALLOCATE": 3, "WEIGHTS": 4, "ERROR": 5, "ERROR_VALUES": 6,
        "CLOCK": 8, "TIMES": 9,
    }  # fmt: skip
    assert (CTX_BYTES, ARENA_ALIGNMENT, WORDS_PER_TIMED_CALL) == (80, 64, 7)
    assert (Status.HOST_FAILED, Status.OUT_OF_MEMORY) == (-1, -2)


def test_a_program_of_the_reference_backend() -> None:
    """Eight bytes with the length of the JSON, the JSON, the arrays."""
    text = b'{"steps":[],"arrays":[{"dtype":"int16","shape":[2]}]}'
    code = bytes([len(text), 0, 0, 0, 0, 0, 0, 0]) + text + b"\x01\x00\x02\x00"
    assert encoded({"steps": []}, [np.array([1, 2], np.int16)]) == code
    assert decoded(code)[1][0].tolist() == [1, 2]
