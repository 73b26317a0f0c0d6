"""Results of kernels in the memory of their operands, where the arena is smaller for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from stepwell.lowering.main_to_buffers.live_buffers import LiveBuffer, LiveBuffers
from stepwell.passes.analysis.arena import ArenaPlan, Interval, aligned
from stepwell.runtime.errors import StepwellError

Planner = Callable[[Sequence[Interval], Sequence[int]], ArenaPlan]
"""Offsets for intervals; the numbers of accesses of each say which ones are used most."""


def plan_in_place(live: LiveBuffers, accesses: Sequence[int], planner: Planner) -> ArenaPlan:
    """
    The arena with results over their operands, if sharing makes the arena smaller.

    Args: `accesses` has the number of times that each buffer of the arena is written or read.
    Raises: StepwellError of the planner, where buffers find no room in either way.
    """
    groups = _groups(live)
    if len(groups) == len(live.arena):
        return planner([_interval([buffer]) for buffer in live.arena], accesses)
    number = {id(buffer): index for index, buffer in enumerate(live.arena)}
    sums = [sum(accesses[number[id(buffer)]] for buffer in group) for group in groups]
    try:
        apart = planner([_interval([buffer]) for buffer in live.arena], accesses)
    except StepwellError:
        return _expanded(planner(list(map(_interval, groups)), sums), groups, live)
    shared = _expanded(planner(list(map(_interval, groups)), sums), groups, live)
    saved = apart.total - shared.total
    is_smaller = saved.is_nonnegative and saved != 0
    return replace(shared, sum_of_sizes=apart.sum_of_sizes) if is_smaller else apart


def _groups(live: LiveBuffers) -> list[list[LiveBuffer]]:
    """The buffers of the arena in groups that may be in one memory, each a chain of overwritten operands."""
    group_of = {id(buffer): [buffer] for buffer in live.arena}
    for position, result, operand in live.overwritable:
        group, other = group_of.get(id(live.of[operand])), group_of.get(id(live.of[result]))
        if group is None or other is None or group is other:
            continue
        is_last = group[-1] is live.of[operand] and group[-1].last == position == other[0].first
        if is_last and aligned(group[-1].size) == aligned(other[0].size):
            group += other
            group_of |= {id(buffer): group for buffer in other}
    return list({id(group): group for group in group_of.values()}.values())


def _interval(group: Sequence[LiveBuffer]) -> Interval:
    return Interval(group[0].name, group[0].size, group[0].first, group[-1].last)


def _expanded(plan: ArenaPlan, groups: Sequence[Sequence[LiveBuffer]], live: LiveBuffers) -> ArenaPlan:
    """A plan of groups as one of the buffers in them."""
    pairs = zip(groups, plan.offsets, strict=True)
    offsets = {id(buffer): offset for group, offset in pairs for buffer in group}
    return replace(plan, offsets=tuple(offsets[id(buffer)] for buffer in live.arena))
