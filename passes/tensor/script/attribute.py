"""From a nest with decisions to the attribute that says them."""

from __future__ import annotations

from stepwell.dialects.sched import Schedule
from stepwell.passes.tensor.script.nest import IllegalStepError, Kind, Nest


def schedule_of_nest(nest: Nest) -> Schedule:
    """The schedule that a nest stands for. Raises: IllegalStepError where no attribute says it."""
    nest.expect_whole()
    tile = [0] * nest.view.rank
    built = [loop for loop in nest.loops if not nest.kind(loop).is_body]
    for loop in built:
        if tile[loop.dim]:
            raise IllegalStepError(
                f"{nest.formula.loops[loop.dim]} is two loops in a row",
                f"unroll {loop.name}, vectorize it, or leave it inside",
                loop,
            )
        tile[loop.dim] = loop.step
    lanes = [loop.dim for loop in nest.loops if nest.kind(loop) is Kind.VECTOR]
    parallel = tuple(loop.dim for loop in built if nest.kind(loop) is Kind.PARALLEL)
    order = tuple(loop.dim for loop in built)
    schedule = Schedule(tuple(tile), order, parallel, lanes[0] if lanes else None)
    if not nest.view.can_tile(schedule):
        raise _not_sliced(nest)
    return schedule


def _not_sliced(nest: Nest) -> IllegalStepError:
    """The refusal of loops that together move an index other than by a stride."""
    for loop in nest.loops:
        if not nest.kind(loop).is_body and (moved := nest.formula.unsliced(loop.dim)):
            return IllegalStepError(
                f"loop {loop.name} moves an index of {moved} other than by a stride",
                f"leave it to the body: inside({loop.name})",
                loop,
            )
    return IllegalStepError("blocks of these loops together reach no slices of the operands")
