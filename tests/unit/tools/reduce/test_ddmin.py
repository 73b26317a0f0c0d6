"""Delta debugging: the parts of a sequence that keep a property."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hypothesis import given
from hypothesis import strategies as st

from stepwell.tools.reduce.ddmin import minimized


def minimum(units: Sequence[int], needed: set[int]) -> tuple[list[int], int]:
    """The minimized part of units that keeps some of them, and the number of parts that were tried."""
    tried = 0

    def first_kept(parts: Iterable[Sequence[int]]) -> Sequence[int] | None:
        nonlocal tried
        for part in parts:
            tried += 1
            if needed <= {*part}:
                return part
        return None

    return minimized(units, first_kept), tried


@given(st.integers(0, 60), st.sets(st.integers(0, 59), max_size=4))
def test_what_is_needed_is_kept_in_order_and_nothing_else(size: int, needed: set[int]) -> None:
    needed = {unit for unit in needed if unit < size}
    assert minimum(range(size), needed)[0] == sorted(needed)


def test_one_unit_of_many_is_found_in_a_logarithm_of_tries() -> None:
    assert minimum(range(1024), {700})[1] <= 2 * 10 + 1


def test_parts_that_need_two_distant_units() -> None:
    kept, tried = minimum(range(500), {3, 490})
    assert kept == [3, 490]
    assert tried < 120
