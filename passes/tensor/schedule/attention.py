"""The form of attention: all scores of a block of queries at once, or a block of keys after the other."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil

from stepwell.dialects.costs.layouts import ATTENTION
from stepwell.dialects.costs.machine import MACHINE
from stepwell.dialects.costs.schedules import ELEMENTWISE
from stepwell.dialects.linalg_ext.attention import AttentionOp, whole_vectors
from stepwell.dialects.tensor_ir.structured import tensor_shape
from stepwell.passes.tensor.schedule.form_choice import Choice, choices_of
from stepwell.runtime.machine.target import F32_BYTES, TargetDescription

_PASSES = 4
"""The number of times that scores are written or read."""


def attention_choices(op: AttentionOp, target: TargetDescription) -> list[Choice]:
    """Both forms; first `softmax`, unless the scores of a block of queries by all keys pass the cache."""
    return choices_of(op, lambda _, sizes: _cycles(op, sizes, target))


def _cycles(op: AttentionOp, sizes: Mapping[str, int], target: TargetDescription) -> float | None:
    """The estimated cycles: products, exponentials, rescaled sums, and scores that pass the cache."""
    blocks = op.batch * op.queries.ceildiv(sizes["queries"])
    if not blocks.is_static or not op.keys.is_static:
        return None
    lanes, queries, keys = target.lanes(F32_BYTES), sizes["queries"], op.keys.value
    depth, columns = tensor_shape(op.q)[-1], ceil(tensor_shape(op.v)[-1] / lanes)
    vectors, block = ceil(whole_vectors(queries) / lanes), sizes.get("keys", keys)
    products = keys * (depth * vectors + queries * columns)
    powers = keys * vectors * ELEMENTWISE.function_ops
    # A block after the first makes a power for each query, and reads, scales and writes the sums.
    rescaled = (ceil(keys / block) - 1) * (vectors * ELEMENTWISE.function_ops + 3 * queries * columns)
    scores = block * whole_vectors(queries) * F32_BYTES
    passed = ceil(keys / block) * scores * _PASSES if scores > ATTENTION.scores_bytes else 0
    each = (products + powers + rescaled) / MACHINE.multiply_adds + passed / MACHINE.memory_rate
    return blocks.value * each
