"""The random generator against the vectors that its authors publish."""

from __future__ import annotations

import numpy as np
import pytest

from stepwell.runtime.meaning.philox import blocks, random_bits

ONES = 0xFFFFFFFF
# Counter, key and block of Random123's kat_vectors, for "philox4x32 10".
VECTORS = [
    ([0, 0, 0, 0], [0, 0], [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
    ([ONES] * 4, [ONES] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
    (
        [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
        [0xA4093822, 0x299F31D0],
        [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
    ),
]


@pytest.mark.parametrize(("counter", "key", "block"), VECTORS)
def test_published_vectors(counter: list[int], key: list[int], block: list[int]) -> None:
    at = np.array([counter[0] | counter[1] << 32], np.uint64)
    words = blocks(at, counter[2] | counter[3] << 32, key[0] | key[1] << 32)
    assert [int(word[0]) for word in words] == block


def test_parts_do_not_depend_on_how_many_are_made() -> None:
    """Counters are made some thousand at a time, and a negative seed is the number of the same bits."""
    many = random_bits(-1, 3, 40_000)
    assert np.array_equal(many, random_bits((1 << 64) - 1, 3, 40_001)[:-1])
    words = blocks(np.array([39_999], np.uint64), 3, -1)
    assert int(many[39_999]) == int(words[0][0]) | int(words[1][0]) << 32
    assert random_bits(0, 0, 0).size == 0
