"""Random schedules of the structured ops of twelve kernels: legal ones, and some that are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.sched import SCHEDULE, Schedule
from stepwell.dialects.schedule_levels import filled
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes import run_pipeline
from tests.support.kernels import (
    accumulate,
    depthwise,
    elementwise,
    matmul,
    padded,
    pool,
    product,
    softmax,
    transpose,
)

_TILES = (0, 0, 1, 2, 3, 4, 5, 8, 16, 300, (1 << 31) - 1)
KERNELS = {
    "matmul": matmul(5, 2, 8, 3),
    "matmul, rows at run time": matmul("M", 2, 8, 3),
    "product": product("m, n, k", "m, k", "k, n", "m, n", m=5, n=9, k=4),
    "depthwise": depthwise(1, 3, 4, 8, 2, 1),
    "pool": pool(1, 2, 3, 8, 2, 2),
    "padded windows": padded(3, 4, 8, 1),
    "softmax": softmax(3, 10),
    "softmax, at run time": softmax("N", "C"),
    "sum of leading loops": accumulate("i, j, k", "i, j, k", "k", i=3, j=4, k=9),
    "sum of trailing loops": accumulate("i, j, k", "i, j, k", "i", i=3, j=4, k=9),
    "elementwise": elementwise("i, j", "i, j", "j", i=5, j=9),
    "transpose": transpose(5, 9),
}


def _schedule(draw: Callable[..., Any], op: Structured) -> Schedule:
    """Tiles that divide, do not, and are larger; any order with some parallel loops first; any lanes."""
    tile = tuple(draw(st.sampled_from(_TILES)) for _ in range(op.rank))
    tiled = draw(st.permutations([d for d, size in enumerate(tile) if size]))
    shared = [d for d in tiled if op.parallel[d] and draw(st.booleans())]
    order = (*shared, *(d for d in tiled if d not in shared))
    return Schedule(tile, order, tuple(shared), draw(st.sampled_from([None, *range(op.rank)])))


def _levels(draw: Callable[..., Any], op: Structured) -> Schedule:
    """Up to three loops of each, in any order that keeps the blocks of a loop outside of its steps."""
    waiting = [sorted(draw(st.sets(st.sampled_from(_TILES[2:]), max_size=3))) for _ in range(op.rank)]
    nest: list[tuple[int, int]] = []
    for dim in draw(st.permutations([d for d, steps in enumerate(waiting) for _ in steps])):
        nest.append((dim, waiting[dim].pop()))
    first = draw(st.integers(0, len(nest)))
    dims = [dim for dim, _ in nest[first : first + draw(st.integers(0, 2))]]
    may_share = len(set(dims)) == len(dims) and all(op.parallel[dim] for dim in dims)
    shared = range(first, first + len(dims)) if may_share else ()
    levels = filled([(dim, step, at in shared) for at, (dim, step) in enumerate(nest)], op.rank)
    serial = levels[-1].loops()[len(levels[-1].parallel) :]
    unroll = serial[draw(st.integers(0, len(serial))) :]
    return Schedule.of_levels(levels, draw(st.sampled_from([None, *range(op.rank)])), unroll)


def kernel_with_schedules(draw: Callable[..., Any], ctx: StepwellContext) -> ModuleOp:
    """A kernel some of whose ops have a random schedule."""
    module = parse_module(ctx, KERNELS[draw(st.sampled_from(list(KERNELS)))])
    run_pipeline(module, draw(st.sampled_from(["generalize-copies", "collapse-loops"])), ctx)
    for op in module.walk():
        if (view := Structured.of(op)) is not None and draw(st.booleans()):
            op.attributes[SCHEDULE] = draw(st.sampled_from([_schedule, _levels]))(draw, view).attr()
    return module
