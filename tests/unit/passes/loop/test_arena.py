"""The arena's plan: buffers that live together never overlap, memory is shared, many are no trouble."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

import pytest

from stepwell.passes.analysis.arena import ArenaPlan, Interval, plan_arena
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

N = Dim.symbol("N")


def live_together(a: Interval, b: Interval) -> bool:
    return a.first <= b.last and b.first <= a.last


def check(buffers: Sequence[Interval], plan: ArenaPlan, n: int) -> None:
    """Require that no two living buffers share a byte, for one value of the symbol, and that all fit."""
    placed = [
        (offset.evaluate({"N": n}), offset.evaluate({"N": n}) + buffer.size.evaluate({"N": n}), buffer)
        for offset, buffer in zip(plan.offsets, buffers, strict=True)
    ]
    total = plan.total.evaluate({"N": n})
    assert all(begin % 64 == 0 and end <= total for begin, end, _ in placed)
    for (begin, end, a), (other_begin, other_end, b) in combinations(placed, 2):
        assert not live_together(a, b) or end <= other_begin or other_end <= begin, (a, b)


def random_buffers(seed: int, positions: int) -> list[Interval]:
    rng = random.Random(seed)
    sizes = [Dim.of(rng.randrange(1, 4000)) for _ in range(6)] + [N * 4, N * 64, N * N, N + 100]
    buffers: list[Interval] = []
    for index in range(60):
        first = rng.randrange(positions)
        last = first + rng.choice((0, 1, 2, 3, positions // 2))
        buffers.append(Interval(f"b{index}", rng.choice(sizes), first, last))
    return buffers


@pytest.mark.parametrize("seed", range(20))
def test_random_plans_are_right(seed: int) -> None:
    buffers = random_buffers(seed, positions=(40, 1000)[seed % 2])
    plan = plan_arena(buffers)
    for n in (0, 1, 7, 64):
        check(buffers, plan, n)


def test_what_does_not_live_together_shares() -> None:
    plan = plan_arena([Interval(f"b{i}", Dim.of(1000), i, i + 1) for i in range(10)])
    assert plan.total == 2 * 1024
    plan = plan_arena([Interval(f"b{i}", N * 64, i, i + 1) for i in range(10)])
    assert plan.total == N * 128


def test_a_small_buffer_takes_a_gap_among_large_ones() -> None:
    large = [
        Interval("a", Dim.of(640), 0, 5),
        Interval("b", Dim.of(320), 0, 1),
        Interval("c", Dim.of(320), 0, 5),
    ]
    plan = plan_arena([*large, Interval("d", Dim.of(64), 3, 5)])
    assert plan.offsets[3] == 640 and plan.total == 1280


def test_symbolic_buffers_take_larger_slots_where_they_provably_fit() -> None:
    plan = plan_arena([Interval("a", N * 128, 0, 1), Interval("b", N * 64, 2, 3), Interval("c", N * N, 2, 3)])
    assert plan.offsets[0] == plan.offsets[1] != plan.offsets[2]


@pytest.mark.sample(3)
@pytest.mark.parametrize("size", [Dim.of(256), N * 256])
@pytest.mark.parametrize("together", [True, False])
def test_thousands_of_buffers(size: Dim, together: bool) -> None:
    """A chain of values, and values that all live at the same time."""
    count = 4_000
    buffers = [Interval(str(i), size, i, count if together else i + 1) for i in range(count)]
    plan = plan_arena(buffers)
    assert plan.total == size * (count if together else 2)


def test_a_buffer_that_no_memory_holds() -> None:
    with pytest.raises(StepwellError, match="huge would take"):
        plan_arena([Interval("huge", Dim.of(1 << 80), 0, 1)])
