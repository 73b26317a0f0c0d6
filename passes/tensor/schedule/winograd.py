"""The form of Winograd convolutions: what threads share, and the tiles of a block."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from stepwell.dialects.costs.kernels import THREADS
from stepwell.dialects.costs.layouts import WINOGRAD
from stepwell.dialects.costs.machine import MACHINE
from stepwell.dialects.linalg_ext.winograd import WinogradConvOp
from stepwell.dialects.tensor_ir.structured import tensor_shape
from stepwell.dialects.types import dims_of
from stepwell.passes.tensor.schedule.form_choice import Choice, choices_of
from stepwell.runtime.machine.target import F32_BYTES, TargetDescription


def winograd_choices(op: WinogradConvOp, target: TargetDescription) -> list[Choice]:
    """Both forms; first `blocks`, if a sample has enough of them for threads."""
    return choices_of(op, lambda _, sizes: _cycles(op, sizes, target))


def _cycles(op: WinogradConvOp, sizes: Mapping[str, int], target: TargetDescription) -> float | None:
    """
    The estimated cycles on all cores: of the steps of each block, and of its memory where that is not cached.

    With `groups` the busiest thread has some of these, each with memory of its own. Without them the blocks
    follow each other in the same memory; each of the three steps starts threads, which share its channels,
    and reads what the other cores have written.
    """
    tiles, samples = sizes["tiles"], dims_of(op.x.type)[0]
    if not op.tiles.is_static or not samples.is_static:
        return None
    points, panels, channels, panel = tensor_shape(op.u)
    lanes, results = target.lanes(F32_BYTES), panels * panel
    inputs, outputs = ceil(channels / lanes), ceil(results / lanes)
    of_input, of_result = WINOGRAD.transform_steps(op.tile.value.data)
    products = points * channels * outputs / WINOGRAD.product_share
    # The instructions of each step for a tile, and the units that threads share.
    steps = (inputs * of_input, inputs), (products, points * panels), (outputs * of_result, outputs)
    memory = points * (channels + results) * tiles * F32_BYTES / MACHINE.memory_rate
    count, groups = ceil(op.tiles.value / tiles), sizes.get("groups")
    if groups is not None:
        own = ceil(groups / target.cores)
        block = tiles * sum(work for work, _ in steps) / MACHINE.multiply_adds
        return samples.value * own * (ceil(count / groups) * block + memory)
    shared = sum(work * ceil(units / target.cores) / units for work, units in steps)
    starts = len(steps) * THREADS.start_cycles if target.cores > 1 else 0
    block = tiles * shared / MACHINE.multiply_adds + starts + memory * (1 - 1 / target.cores)
    return samples.value * (count * block + memory)
