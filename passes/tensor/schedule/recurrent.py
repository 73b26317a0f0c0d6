"""The form of recurrent layers: the products with the input of all steps at once, or of blocks of steps."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from stepwell.dialects.costs.kernels import CELLS
from stepwell.dialects.costs.machine import MACHINE
from stepwell.dialects.costs.schedules import ELEMENTWISE
from stepwell.dialects.graph.recurrent import FUNCTIONS
from stepwell.dialects.linalg_ext.recurrent import RnnOp
from stepwell.dialects.tensor_ir.sizes import size_of
from stepwell.dialects.types import dims_of
from stepwell.passes.tensor.schedule.form_choice import Choice, choices_of
from stepwell.runtime.machine.target import F32_BYTES, TargetDescription


def rnn_choices(op: RnnOp, target: TargetDescription) -> list[Choice]:
    """Both forms; first `whole`, whose product has the most rows."""
    return choices_of(op, lambda _, sizes: _cycles(op, sizes, target))


def _cycles(op: RnnOp, sizes: Mapping[str, int], target: TargetDescription) -> float | None:
    """The estimated cycles: both products, by the loads of weights for few rows, gates in memory, cells."""
    steps, batch, width = (size_of(op.x, position) for position in range(3))
    if any(dim is None or not dim.is_static for dim in (steps, batch, width)):
        return None
    assert steps is not None and batch is not None and width is not None
    lanes, gates = target.lanes(F32_BYTES), op.gates
    vectors, block = ceil(gates / lanes), sizes.get("steps", steps.value)
    hidden = dims_of(op.r.type)[2].value

    def product(rows: int, depth: int) -> float:
        return depth * vectors * max(rows / MACHINE.multiply_adds, 1 / MACHINE.loads)

    bytes = block * batch.value * gates * F32_BYTES
    passed = 2 * bytes / MACHINE.memory_rate if bytes > CELLS.block_bytes else 0
    of_block = product(block * batch.value, width.value) + passed
    functions = (FUNCTIONS[op.cell.data] + 1) * ceil(hidden / lanes) * ELEMENTWISE.function_ops
    of_step = product(batch.value, hidden) + batch.value * functions / MACHINE.multiply_adds
    directions = dims_of(op.r.type)[0].value
    return directions * (ceil(steps.value / block) * of_block + steps.value * of_step)
