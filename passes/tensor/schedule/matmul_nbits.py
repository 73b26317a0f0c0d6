"""The form of products with weights of a few bits: by the number of rows."""

from __future__ import annotations

from math import ceil

from stepwell.dialects.costs.layouts import NBITS
from stepwell.dialects.costs.machine import MACHINE
from stepwell.dialects.linalg_ext import MatmulNbitsOp
from stepwell.passes.tensor.schedule.form_choice import Choice
from stepwell.runtime.machine.target import TargetDescription


def nbits_choices(op: MatmulNbitsOp, target: TargetDescription) -> list[Choice]:
    """All forms, first the one for the rows of the op; both bodies where their number is open."""
    choices = [
        Choice(name, form.defaults(), _cycles(op, name, form.defaults().get("few"), target))
        for name, form in op.forms().items()
        if form.refusal is None
    ]
    if op.x_scales is not None and not target.has_byte_products:
        choices.reverse()
    return choices


def _cycles(op: MatmulNbitsOp, form: str, few: int | None, target: TargetDescription) -> float | None:
    """The estimated cycles: weights are unpacked for each row, or once."""
    if not op.rows.is_static:
        return None
    rows = op.rows.value
    vectors = ceil(op.columns / target.f32_lanes) * op.steps
    if form == "registers" or (few is not None and rows <= few):
        return rows * vectors * NBITS.unpacked_ops / MACHINE.multiply_adds
    return (rows + NBITS.unpacked_ops) * vectors / MACHINE.multiply_adds
