"""Schedules that were measured, written instead of those of a chooser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation

from stepwell.dialects.linalg_ext import FormsOp, form_of
from stepwell.dialects.sched import SCHEDULE, TUNED, Schedule, ScheduleAttr, schedule_of
from stepwell.dialects.tensor_ir.structured import Structured
from stepwell.passes.context import remark
from stepwell.runtime.errors import StepwellError


def write_tuned(func: FuncOp, kind: str, ops: Sequence[Operation]) -> bool:
    """
    Give the ops of a kernel the schedules of a kind from the attribute `sched.tuned`, if there is one.

    Where these are not possible here, a remark says so, and the attribute is dropped: the choosers decide.
    Args: `kind` is `forms` or `tiles`; `ops` are all ops of the kernel that such schedules are for.
    Returns: whether all ops have what was measured.
    """
    tuned = func.attributes.get(TUNED)
    if any(SCHEDULE in op.attributes for op in ops):
        return False  # some are written in the text, which leaves the others to the choosers
    if isinstance(tuned, StringAttr):
        if (reason := _replayed(func, kind, tuned.data)) is None:
            return any(SCHEDULE in op.attributes for op in func.walk())  # else the script leaves all
    elif isinstance(tuned, DictionaryAttr) and (given := tuned.data.get(kind)) is not None:
        schedules = cast("ArrayAttr[Attribute]", given).data if isinstance(given, ArrayAttr) else ()
        reason = _refusal(ops, schedules)
    else:
        return False
    if reason is not None:
        for op in func.walk():
            op.attributes.pop(SCHEDULE, None)
        func.attributes.pop(TUNED)
        remark(func, f"the tuned schedule is not used: {reason}")
    return reason is None


def _replayed(func: FuncOp, kind: str, text: str) -> str | None:
    """The reason why a kernel cannot have the schedules of a script, which it gets; None where it can."""
    from stepwell.dialects.schedule_script.files import script_of_text  # few kernels have scripts
    from stepwell.passes.analysis.scripts.replay import apply_script
    from stepwell.passes.analysis.scripts.stages import chooses_form

    try:
        apply_script(script_of_text(text), func, lambda stage: chooses_form(stage) != (kind == "forms"))
        reasons = (_misfit(op) for op in func.walk() if SCHEDULE in op.attributes)
        return next((reason for reason in reasons if reason is not None), None)
    except StepwellError as error:
        return error.message


def _refusal(ops: Sequence[Operation], schedules: Sequence[Attribute]) -> str | None:
    """The reason why ops cannot have schedules, which they get; None where they can."""
    if len(schedules) != len(ops):
        return f"it is for {len(schedules)} ops, and there are {len(ops)}"
    for op, schedule in zip(ops, schedules, strict=True):
        if not isinstance(schedule, ScheduleAttr):
            continue
        op.attributes[SCHEDULE] = schedule
        try:
            reason = _misfit(op)
        except StepwellError as error:
            reason = error.message
        if reason is not None:
            return reason
    return None


def _misfit(op: Operation) -> str | None:
    """The reason why an op cannot have its schedule. Raises: StepwellError `bad-schedule` for a form."""
    if isinstance(op, FormsOp):
        form_of(op)
        return None
    schedule, view = schedule_of(op), Structured.of(op)
    if schedule is None or view is None:
        return f"{op.name} takes no schedule"
    return misfit_of_tiles(view, schedule)


def misfit_of_tiles(view: Structured, schedule: Schedule) -> str | None:
    """The reason why a structured op cannot have tiles; None where it can."""
    if schedule.form:
        return f"{view.op.name} takes tiles, and the schedule is the form {schedule.form}"
    if len(schedule.tile) != view.rank:
        return f"an op has {view.rank} loops, and its schedule {len(schedule.tile)} tiles"
    if serial := [d for level in schedule.levels() for d in level.parallel if not view.parallel[d]]:
        return f"loop {serial[0]} is a reduction, its iterations are not independent"
    if not view.can_tile(schedule):
        return "a tiled loop moves an index of an operand other than by a stride"
    return None
