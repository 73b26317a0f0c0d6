"""The schedules of a kernel as a `sched.script` for a database, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.sched import SCHEDULE, Schedule, ScheduleAttr
from stepwell.dialects.schedule_script import PrefetchOp, ScriptOp, StageOp, scripts_of
from stepwell.dialects.schedule_script.files import script_of_text
from stepwell.passes import run_pipeline
from stepwell.passes.analysis.scripts.replay import Replay, apply_script
from stepwell.passes.analysis.scripts.stages import chooses_form, stages_by_op, stages_of
from stepwell.passes.analysis.scripts.steps import changes_kernel, is_rewrite
from stepwell.runtime.errors import StepwellError
from stepwell.tools.records.apply import script_of
from stepwell.tools.records.record import MAX_SCRIPT_CHARS

_TO_SCRIPT = "schedule-to-script"
_NAME, _KERNEL = "tuned", "kernel"


def kernel_in(module: ModuleOp) -> FuncOp:
    """The only kernel of a module."""
    (kernel,) = [op for op in module.ops if isinstance(op, FuncOp)]
    return kernel


def apply_part(text: str, module: ModuleOp, *, forms: bool) -> None:
    """
    Give the kernel of a module what a script decides: about forms, or about loops.

    Raises: StepwellError `syntax`, `invalid-ir`, `bad-schedule`, `illegal-schedule`.
    """
    apply_script(script_of_text(text), kernel_in(module), lambda stage: chooses_form(stage) != forms)


def steps_of(module: ModuleOp, ctx: StepwellContext) -> list[Operation]:
    """
    The steps that decide the schedules of the kernel of a module.

    Stages have names of kinds, as `linalg.generic.0`, and inputs numbers, as `%0`.
    """
    names = stages_of(kernel_in(module))
    kinds = {op: name for name, op in stages_by_op(kernel_in(module)).items()}
    copy = ModuleOp([kernel_in(module).clone()])
    inputs: dict[str, int] = {}
    for value in kernel_in(copy).args:
        value.name_hint = name = f"input{value.index}"
        inputs[name] = value.index
    run_pipeline(copy, _TO_SCRIPT, ctx)
    steps: list[Operation] = []
    for script in scripts_of(copy):
        for step in script.steps:
            step.detach()
            if isinstance(step, StageOp):
                kind = kinds[names[step.stage.data]]
                step.properties.update(StageOp(kind).properties)
                step.result.name_hint = kind.rpartition(".")[0].rpartition(".")[2]
            if isinstance(step, PrefetchOp):
                step.properties["tensor"] = StringAttr(f"%{inputs[step.tensor.data]}")
            steps.append(step)
    return steps


def rewrites_of(text: str) -> list[Operation]:
    """The steps of a script that change the kernel, after the steps that name their stages and loops."""
    steps = script_of_text(text).clone().steps
    needed: set[Operation] = set()
    for step in reversed(steps):
        if is_rewrite(step) or step in needed:
            needed |= {step, *(v.owner for v in step.operands if isinstance(v.owner, Operation))}
    for step in reversed(steps):
        step.detach()
        if step not in needed:
            step.erase()
    return [step for step in steps if step in needed]


def decided(script: ScriptOp, module: ModuleOp) -> Mapping[Operation, Schedule] | None:
    """
    The schedules of loops by a script, by the ops of an unchanged kernel; None for a script that changes it.

    Raises: StepwellError `illegal-schedule`.
    """
    if changes_kernel(script):
        return None
    found = Replay(script, kernel_in(module)).decisions(chooses_form)
    attributes = {op: given.get(SCHEDULE) for op, given in found.items()}
    return {op: attr.get() for op, attr in attributes.items() if isinstance(attr, ScheduleAttr)}


def script_text(steps: Sequence[Operation], before: ModuleOp, after: ModuleOp, lists: DictionaryAttr) -> str:
    """
    The text of the script of some steps; the lists of schedules, where no script says the same.

    Args: `before` is the kernel without schedules of loops, which gets them; `after` the kernel with them.
    Raises: StepwellError `bad-schedule` where steps change the kernel or fetch ahead, which no lists say.
    """
    script = ScriptOp(_NAME, _KERNEL, steps)
    text = str(script)
    if len(text) <= MAX_SCRIPT_CHARS and _says(text, before, after):
        return text
    if changes_kernel(script) or any(isinstance(step, PrefetchOp) for step in steps):
        raise StepwellError(
            "bad-schedule", None, "the steps change the kernel, and no script can describe its schedules"
        )
    return script_of(lists)


def _says(text: str, before: ModuleOp, after: ModuleOp) -> bool:
    """Whether a script gives a kernel the schedules, and prefetches, that another one has."""
    try:
        apply_part(text, before, forms=False)
    except StepwellError:
        return False
    found, wanted = ([op.attributes.get(SCHEDULE) for op in each.walk()] for each in (before, after))
    return found == wanted and kernel_in(before).arg_attrs == kernel_in(after).arg_attrs
