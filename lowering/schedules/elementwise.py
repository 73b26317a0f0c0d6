"""Schedules of elementwise ops: vectors along the last dimension of results, parallel loops outside."""

from __future__ import annotations

from xdsl.dialects.linalg import ops as linalg

from stepwell.dialects.sched import Schedule
from stepwell.lowering.schedules.register_tile import register_file
from stepwell.passes.tensor.structured import Structured, projected_permutation
from stepwell.passes.tensor.vectorize import has_vector_form
from stepwell.runtime.target import TargetDescription


def schedule_elementwise(view: Structured, target: TargetDescription) -> Schedule | None:
    """
    The schedule of an op whose loops are all parallel.

    A tile is some registers along the last dimension of the result, or a few short rows of it; the dimensions
    outside are parallel loops. A body that has no form on vectors gets the loops alone.
    """
    if not all(view.parallel) or not view.rank:
        return None
    out = projected_permutation(view.init_maps[0])
    if out is None or len(out) != view.rank:
        return None
    registers = register_file(view, target)
    vectors = all(
        isinstance(op, linalg.IndexOp | linalg.YieldOp) or has_vector_form(op) for op in view.body.ops
    )
    # Some independent registers hide latencies; long bodies with all of them would spill on 16 registers.
    budget = registers.lanes * (4 if registers.count >= 32 else 2)
    tile = [0] * view.rank
    left = budget
    for dim in reversed(out):
        extent = view.extents[dim]
        if dim == out[-1] and not vectors:
            continue
        step = _row_step(extent, budget, registers.lanes) if dim == out[-1] else _step(extent, left)
        tile[dim] = 0 if step == extent else step
        left //= step
    loops = tuple(d for d in out if tile[d])
    if not view.can_slice(set(loops)):
        return None
    return Schedule(tuple(tile), parallel=loops, vectorize=out[-1] if vectors else None)


def _row_step(extent: int | None, budget: int, lanes: int) -> int:
    """The step along the lanes: all of a short row, else registers that leave no rest, if any do."""
    if extent is None:
        return budget
    if extent <= budget:
        return max(1, extent)
    whole = [step for step in range(budget, 0, -lanes) if extent % step == 0]
    return whole[0] if whole else budget


def _step(extent: int | None, left: int) -> int:
    """The step of an outer dimension: several rows when they are short, none left over."""
    if extent is None or left <= 1:
        return 1
    return max(step for step in range(1, max(1, min(extent, left)) + 1) if extent % step == 0)
