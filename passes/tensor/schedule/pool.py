"""The sizes of pools along rows."""

from __future__ import annotations

from math import ceil

from stepwell.dialects.costs.machine import MACHINE
from stepwell.dialects.linalg_ext.pool import PoolOp
from stepwell.dialects.types import dims_of
from stepwell.passes.tensor.schedule.form_choice import Choice
from stepwell.runtime.machine.target import F32_BYTES, TargetDescription


def pool_choices(op: PoolOp, target: TargetDescription) -> list[Choice]:
    """The only form, with an estimate: loads along the rows, then combinations down the columns."""
    (rows, columns), (samples, channels, *_) = op.axes, dims_of(op.x.type)
    planes, cycles = samples * channels, None
    if planes.is_static:
        vectors = ceil(columns.count / target.lanes(F32_BYTES))
        reduced = rows.size * vectors * columns.kernel
        combined = rows.count * vectors * rows.kernel
        cycles = planes.value * (reduced / MACHINE.loads + combined / MACHINE.multiply_adds)
    return [Choice(name, form.defaults(), cycles) for name, form in op.forms().items()]
