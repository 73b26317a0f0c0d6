"""
Memory pools: an arena in several memories of fixed sizes, such as a small fast one and a larger one.

Buffers with the most accesses per byte come first, each in the first memory with room at the offset that
`passes/analysis/arena.py` would choose; where not all fit, the largest come first.
Source: TVM's unified static memory planning (USMP), whose pools these are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from stepwell.passes.analysis.arena import ArenaPlan, Interval, Placed, aligned
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

_SPEC = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=([0-9]+)")
_SHOWN = 3


class MemoryPool(NamedTuple):
    """A memory of the caller's."""

    name: str
    bytes: int

    def __str__(self) -> str:
        return f"{self.name}={self.bytes}"


def pools_of(specs: Sequence[str]) -> tuple[MemoryPool, ...]:
    """
    The memory pools that texts such as `tcm=4096` describe.

    Raises: StepwellError `bad-option` for a text of another form, a repeated name, or a size of 0 bytes.
    """
    found = [_SPEC.fullmatch(spec) for spec in specs]
    pools = [MemoryPool(match[1], int(match[2])) for match in found if match is not None]
    names = {pool.name for pool in pools}
    if len(names) < len(specs) or not all(pool.bytes for pool in pools):
        message = f"memory pools are names with bytes, each name once, found {','.join(specs) or 'none'}"
        raise StepwellError("bad-option", None, message, help="--memory-pools tcm=4096,sram=65536")
    return tuple(pools)


def plan_pools(
    buffers: Sequence[Interval], accesses: Sequence[int], pools: Sequence[MemoryPool]
) -> ArenaPlan:
    """
    Offsets of buffers in an arena whose parts are the pools, as much of each as is used.

    Args: `accesses` is the number of times that each buffer is read or written as a whole.
    Raises: StepwellError `too-large` where the pools are too small, `bad-option` for open sizes.
    """
    if is_open := [buffer for buffer in buffers if not buffer.size.is_static]:
        message = f"memory pools have fixed sizes, and {is_open[0].name} takes {is_open[0].size} bytes"
        raise StepwellError("bad-option", None, message, help="fix the sizes: --input-shape NAME=1x…")

    def size(index: int) -> int:
        return buffers[index].size.value

    keys: list[Callable[[int], tuple[int, int]]] = [
        lambda index: (-accesses[index], -size(index)),
        lambda index: (-size(index), -accesses[index]),
    ]
    for key in keys:
        order = sorted(range(len(buffers)), key=lambda index: (key(index), buffers[index].first))
        if (places := _placed(buffers, order, pools)) is not None:
            return _plan(buffers, places, pools)
    raise _too_large(buffers, pools)


def _placed(
    buffers: Sequence[Interval], order: Sequence[int], pools: Sequence[MemoryPool]
) -> Mapping[int, tuple[int, int]] | None:
    """The pool and offset of each buffer, placed in an order; None where one finds no room."""
    tables = [Placed(len(buffers)) for _ in pools]
    places: dict[int, tuple[int, int]] = {}
    for index in order:
        need = aligned(buffers[index].size).value
        for number, (pool, table) in enumerate(zip(pools, tables, strict=True)):
            begin = table.lowest_gap(buffers[index], need)
            if begin + need <= pool.bytes:
                table.add(begin, begin + need, buffers[index])
                places[index] = number, begin
                break
        else:
            return None
    return places


def _plan(
    buffers: Sequence[Interval], places: Mapping[int, tuple[int, int]], pools: Sequence[MemoryPool]
) -> ArenaPlan:
    used = [0] * len(pools)
    for index, (number, begin) in places.items():
        used[number] = max(used[number], begin + aligned(buffers[index].size).value)
    begins = [sum(used[:number]) for number in range(len(pools))]
    offsets = (Dim.of(begins[places[index][0]] + places[index][1]) for index in range(len(buffers)))
    sizes = sum((aligned(buffer.size) for buffer in buffers), Dim.of(0))
    return ArenaPlan(tuple(offsets), tuple(map(Dim.of, used)), sizes)


def _too_large(buffers: Sequence[Interval], pools: Sequence[MemoryPool]) -> StepwellError:
    """The error with the bytes that the last pool would need, and the largest buffers."""
    order = sorted(range(len(buffers)), key=lambda index: (-buffers[index].size.value, buffers[index].first))
    last = pools[-1]
    endless = [*pools[:-1], MemoryPool(last.name, sum(aligned(each.size).value for each in buffers))]
    places = _placed(buffers, order, endless) or {}
    end, number = [aligned(each.size).value for each in buffers], len(pools) - 1
    ends = [begin + end[index] for index, (pool, begin) in places.items() if pool == number]
    message = f"{last.name} needs {max(ends, default=0):,} bytes, {last.bytes:,} are there"
    largest = [f"{buffers[index].name} takes {buffers[index].size.value:,} bytes" for index in order[:_SHOWN]]
    help = "smaller inputs, `--memory low` for a model with large scratch, or a larger pool"
    return StepwellError("too-large", None, message, note=largest, help=help)
