"""The form of Winograd convolutions: what threads share, and the tiles of a block."""

from __future__ import annotations

from math import ceil, prod

from stepwell.dialects.costs.layouts import WINOGRAD
from stepwell.dialects.costs.machine import MACHINE
from stepwell.dialects.linalg_ext.winograd import WinogradConvOp
from stepwell.dialects.tensor_ir.structured import tensor_shape
from stepwell.dialects.types import dims_of
from stepwell.passes.tensor.schedule.form_choice import Choice
from stepwell.runtime.machine.target import F32_BYTES, TargetDescription


def winograd_choices(op: WinogradConvOp, target: TargetDescription) -> list[Choice]:
    """Both forms; first `blocks`, if a sample has enough of them for threads."""
    cycles = _cycles(op, target)
    return [Choice(name, form.defaults(), cycles) for name, form in op.forms().items()]


def _cycles(op: WinogradConvOp, target: TargetDescription) -> float | None:
    """The estimated cycles on a thread, the same for both forms: transforms, and products of all points."""
    tiles = op.tiles * dims_of(op.x.type)[0]
    if not tiles.is_static:
        return None
    points, panels, channels, panel = tensor_shape(op.u)
    lanes, results = target.lanes(F32_BYTES), panels * panel
    of_input, of_result = WINOGRAD.transform_steps(op.tile.value.data)
    transforms = ceil(channels / lanes) * of_input + ceil(results / lanes) * of_result
    products = prod((points, channels, ceil(results / lanes))) / WINOGRAD.product_share
    return tiles.value * (transforms + products) / MACHINE.multiply_adds
