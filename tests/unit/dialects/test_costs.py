"""The cost functions of a core: caches, vectors, strided reads and register tiles."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stepwell.dialects.costs.machine import (
    MACHINE,
    rows_in_cache,
    stays_in_l2,
    strided_read,
    tile_cycles,
    vectors_of,
    weight_cycles,
)
from stepwell.dialects.costs.schedules import TILES
from stepwell.runtime.machine.target import target_from

TARGET = replace(target_from("x86-64-v3", "x86_64-unknown-linux-gnu"), l1_bytes=32 << 10, l2_bytes=1 << 20)


@pytest.mark.parametrize(
    ("stride_bytes", "rows"), [(32, TILES.max_rows), (64, TILES.max_rows), (2048, 16), (4096, 8), (8000, 16)]
)
def test_rows_that_share_cache_sets_are_few(stride_bytes: int, rows: int) -> None:
    assert rows_in_cache(stride_bytes, TARGET) == rows


def test_a_larger_first_cache_has_more_ways() -> None:
    assert rows_in_cache(4096, replace(TARGET, l1_bytes=48 << 10)) == 12


def test_half_of_the_second_cache_is_for_an_operand() -> None:
    assert stays_in_l2(512 << 10, TARGET) and not stays_in_l2((512 << 10) + 1, TARGET)
    assert weight_cycles(512 << 10, TARGET) == 0
    assert weight_cycles(800_000, TARGET) == 100_000


def test_half_a_vector_counts_half_where_registers_are_wide() -> None:
    assert [vectors_of(n, 16) for n in (16, 17, 24, 25, 32)] == [1, 1.5, 1.5, 2, 2]
    assert [vectors_of(n, 8) for n in (8, 9, 12)] == [1, 2, 2]


def test_strided_reads_cost_more_the_farther_elements_are_apart() -> None:
    assert [strided_read(n) for n in (1, 2, 3)] == [1, MACHINE.shuffled_read, MACHINE.gathered_read]


@pytest.mark.parametrize(
    ("rows", "vectors", "conversions", "share", "cycles"),
    [
        (14, 2, 0, None, 100 * 14 + 56 + 16),  # multiply-adds
        (2, 1, 0, None, 100 * 4.5 + 4 + 16),  # their latency
        (3, 4, 0, None, 100 * 8 + 24 + 16),  # the panel from the level-2 cache
        (28, 1, 0, None, 100 * 14.5 + 56 + 16),  # loads
        (14, 2, 4, None, 100 * 18 + 56 + 16),  # conversions of what is read
        (14, 2, 0, 0.5, 100 * 28 + 56 + 16),  # half of the calibrated speed
    ],
)
def test_a_tile_takes_what_its_slowest_unit_does(
    rows: int, vectors: int, conversions: int, share: float | None, cycles: float
) -> None:
    taken = tile_cycles(rows, vectors, 100, vector_bytes=64, conversions=conversions, share=share)
    assert taken == cycles
