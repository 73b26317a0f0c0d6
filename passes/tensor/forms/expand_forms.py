"""`expand-forms`: ops of `linalg_ext` become loops on scalars and vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects.costs.kernels import TREES
from stepwell.dialects.ir_builder import Constants
from stepwell.dialects.linalg_ext import TreeEnsembleOp
from stepwell.dialects.sched import Schedule, schedule_of
from stepwell.passes.base import FunctionPass
from stepwell.passes.tensor.forms.tree_bits import trees_by_bits
from stepwell.passes.tensor.forms.tree_loops import bad_schedule
from stepwell.passes.tensor.forms.tree_walk import trees_by_walks

_Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Form:
    """A way to compute an op of `linalg_ext`, with its sizes where a schedule says none."""

    expand: Callable[[TreeEnsembleOp, _Sizes, Constants], SSAValue]
    """Emits the loops before the op; returns the result. Raises: StepwellError `bad-schedule`."""
    sizes: _Sizes


FORMS: Mapping[str, Form] = {
    "walk": Form(trees_by_walks, {"rows": TREES.walks, "block": TREES.block_rows, "trees": TREES.walks}),
    "bits": Form(trees_by_bits, {"rows": 32, "least": 1, "trees": TREES.walks}),
}


class ExpandFormsPass(FunctionPass):
    """
    Write the loops of each op of `linalg_ext`, by the `form` of its schedule and with its sizes.

    An op without a schedule has the first form, `walk`. Class: exact.
    """

    name = "expand-forms"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        constants = Constants(func)
        for op in list(func.walk()):
            if isinstance(op, TreeEnsembleOp):
                Rewriter.replace_op(op, [], [_expanded(op, constants)])


def _expanded(op: TreeEnsembleOp, constants: Constants) -> SSAValue:
    """The result of an op by its form. Raises: StepwellError `bad-schedule`."""
    schedule = schedule_of(op) or Schedule(form=next(iter(FORMS)))
    form, given = FORMS.get(schedule.form), dict(schedule.sizes)
    if form is None:
        raise bad_schedule(op, f"form must be {' or '.join(FORMS)}, found '{schedule.form}'")
    if unknown := [name for name in given if name not in form.sizes]:
        message = f"sizes of form {schedule.form} are {', '.join(form.sizes)}, found {unknown[0]}"
        raise bad_schedule(op, message)
    return form.expand(op, {**form.sizes, **given}, constants)
