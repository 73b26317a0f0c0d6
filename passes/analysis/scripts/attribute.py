"""From a nest with decisions to the attribute that says them."""

from __future__ import annotations

from collections.abc import Sequence

from stepwell.dialects.sched import Schedule
from stepwell.dialects.schedule_levels import Level, filled
from stepwell.passes.analysis.scripts.formula import listed
from stepwell.passes.analysis.scripts.nest import IllegalStepError, Kind, Loop, Nest


def schedule_of_nest(nest: Nest) -> Schedule:
    """The schedule that a nest stands for. Raises: IllegalStepError where no attribute says it."""
    nest.expect_whole()
    built = [loop for loop in nest.loops if not nest.is_body(loop)]
    levels = filled(
        [(loop.dim, loop.step, nest.kind(loop) is Kind.PARALLEL) for loop in built], nest.view.rank
    )
    lanes = next((loop for loop in nest.loops if nest.kind(loop) is Kind.VECTOR), None)
    unroll = [loop.dim for loop in built if nest.kind(loop) is Kind.UNROLLED]
    _expect_one_level(nest, levels)
    if lanes is not None and not nest.view.parallel[lanes.dim]:
        _expect_innermost(nest, lanes, levels, unroll)
    schedule = Schedule.of_levels(levels, None if lanes is None else lanes.dim, unroll)
    if not nest.view.can_tile(schedule):
        raise _not_sliced(nest)
    return schedule


def _expect_one_level(nest: Nest, levels: Sequence[Level]) -> None:
    """Require the loops that are written out to be in the last level. Raises: IllegalStepError."""
    unrolled = [o for o in nest.loops if nest.kind(o) is Kind.UNROLLED and not nest.is_body(o)]
    if len(unrolled) > len(levels[len(levels) - 1].loops()):
        names = listed(loop.name for loop in unrolled)
        raise IllegalStepError(
            f"loops {names} are parts of one loop: one of them is unrolled", None, unrolled[0]
        )


def _expect_innermost(nest: Nest, lanes: Loop, levels: Sequence[Level], unroll: Sequence[int]) -> None:
    """Require the lanes of a sum to be in the innermost loops. Raises: IllegalStepError."""
    tiled = [number for number, level in enumerate(levels) if level.tile[lanes.dim]]
    if tiled and (unroll or tiled[-1] < len(levels) - 1):
        outer = [loop for loop in nest.loops if loop.dim == lanes.dim][-2]
        raise IllegalStepError(
            f"loop {lanes.name} has the lanes of a sum: loop {outer.name} contains no other loop, and none "
            "is unrolled",
            f"reorder what is inside of {outer.name}",
            lanes,
        )


def _not_sliced(nest: Nest) -> IllegalStepError:
    """The refusal of loops that together move an index other than by a stride."""
    for loop in nest.loops:
        if not nest.is_body(loop) and (moved := nest.formula.unsliced(loop.dim)):
            return IllegalStepError(
                f"loop {loop.name} moves an index of {moved} other than by a stride",
                f"leave it to the body: inside({loop.name})",
                loop,
            )
    return IllegalStepError("blocks of these loops together reach no slices of the operands")
