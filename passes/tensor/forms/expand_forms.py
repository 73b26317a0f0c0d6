"""`expand-forms`: ops of `linalg_ext` become loops on scalars and vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects.ir_builder import Constants
from stepwell.dialects.linalg_ext import TreeEnsembleOp
from stepwell.dialects.sched import Schedule, schedule_of
from stepwell.passes.base import FunctionPass
from stepwell.passes.tensor.forms.tree_bits import trees_by_bits
from stepwell.passes.tensor.forms.tree_loops import bad_schedule
from stepwell.passes.tensor.forms.tree_walk import trees_by_walks

Form = Callable[[TreeEnsembleOp, Mapping[str, int], Constants], SSAValue]
"""Emits the loops of an op before it; returns the value of its result."""
FORMS: Mapping[str, Form] = {"walk": trees_by_walks, "bits": trees_by_bits}


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
                schedule = schedule_of(op) or Schedule(form="walk")
                if (form := FORMS.get(schedule.form)) is None:
                    raise bad_schedule(op, f"form must be {' or '.join(FORMS)}, found '{schedule.form}'")
                Rewriter.replace_op(op, [], [form(op, dict(schedule.sizes), constants)])
