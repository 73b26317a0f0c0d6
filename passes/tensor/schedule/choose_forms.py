"""`choose-forms`: a schedule for each op of `linalg_ext`: its form, and the sizes of that."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import target_of
from stepwell.dialects.linalg_ext import FormsOp, form_of
from stepwell.dialects.sched import SCHEDULE
from stepwell.dialects.sched_kernel import is_kernel
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import remark
from stepwell.passes.tensor.schedule.form_choice import Choice
from stepwell.passes.tensor.schedule.tuned import write_tuned
from stepwell.runtime.machine.target import TargetDescription, target_from


@dataclass(frozen=True)
class ChooseFormsPass(FunctionPass):
    """
    Give each op of `linalg_ext` in a kernel a form and the sizes of that; ops that have a schedule keep it.

    ```mlir
    %y = linalg_ext.attention %q, %k, %v into %0 scale 0.125 : (tensor<8x49x64xf32>, …)
    // ->
    %y = linalg_ext.attention %q, %k, %v into %0 scale 0.125
      {sched.schedule = #sched.schedule<form = "softmax", sizes = {queries = 49, …}>} : …
    ```
    The choice depends on shapes and the target alone. Remarks name it and the other forms that are legal,
    with an estimate of the cycles of each. Class: exact.
    """

    name = "choose-forms"

    preserves = ("padded-tensors",)  # it writes attributes only

    mcpu: str = ""
    """The target, as `stepwell compile --mcpu` takes it; without it, the one of the compilation."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if is_kernel(func):
            choose_forms(func, target_from(self.mcpu) if self.mcpu else target_of(ctx))


def choose_forms(func: FuncOp, target: TargetDescription) -> bool:
    """Give the ops of a kernel that have forms a schedule; returns whether there are such ops."""
    ops = [op for op in func.walk() if isinstance(op, FormsOp)]
    write_tuned(func, "forms", ops)
    if not ops:
        return False
    from stepwell.passes.tensor.schedule.form_cycles import CHOICES  # few kernels have such ops

    for op in ops:
        chosen, *others = CHOICES[type(op).__name__](op, target)
        if SCHEDULE in op.attributes:
            form, sizes = form_of(op)
            remark(op, f"form {Choice(form, sizes).text} of its schedule; {_listed(chosen, *others)}")
            continue
        op.attributes[SCHEDULE] = chosen.schedule().attr()
        remark(op, f"form {chosen.text}; {_listed(*others)}")
    return True


def _listed(*choices: Choice) -> str:
    """The forms that are legal beside the one of the schedule, as text."""
    if not choices:
        return "no other form is legal"
    return f"also legal: {', '.join(choice.text for choice in choices)}"
