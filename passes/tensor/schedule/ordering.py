"""The forms of top-k and of scans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil, log, prod

from xdsl.dialects.builtin import i64

from stepwell.dialects.costs.kernels import SEARCHES
from stepwell.dialects.costs.machine import MACHINE
from stepwell.dialects.linalg_ext.ordering import ScanOp, TopKOp
from stepwell.dialects.tensor_ir.structured import tensor_element
from stepwell.dialects.types import dims_of, element_bytes
from stepwell.passes.tensor.schedule.form_choice import Choice, choices_of
from stepwell.runtime.machine.target import TargetDescription


def top_k_choices(op: TopKOp, target: TargetDescription) -> list[Choice]:
    """The legal forms; first `rounds`, unless a few of very many elements are requested."""
    return choices_of(op, lambda form, sizes: _cycles_of_top_k(op, form, sizes, target))


def _cycles_of_top_k(
    op: TopKOp, form: str, sizes: Mapping[str, int], target: TargetDescription
) -> float | None:
    """
    The estimated cycles. A round reads the maxima of blocks and a block of ranks, which are made before.

    A search compares all elements in vectors; of elements in random order, k · (1 + ln(row / k)) come before
    the k-th so far, each of which is found one by one in its block, and shifts half of the k.
    """
    dims, axis = dims_of(op.input.type), op.axis.value.data
    if not all(dim.is_static for dim in (*dims, op.k)) or not op.k.value:
        return None
    rows = prod(dim.value for i, dim in enumerate(dims) if i != axis)
    row, k, block = op.row.value, op.k.value, sizes.get("block")
    if form == "rounds":
        assert block is not None
        lanes = target.lanes(element_bytes(i64))
        ranks = row * SEARCHES.rank_ops / lanes
        each = ranks + k * ((block + ceil(row / block)) / lanes + SEARCHES.round_ops)
    else:
        found = k * (1 + log(max(1, row / k)))
        compared = row / target.lanes(element_bytes(tensor_element(op.input))) if block else 2 * row
        each = compared + found * ((block or 1) * SEARCHES.compare_ops + k * SEARCHES.shift_ops / 2)
    return rows * each / MACHINE.loads


def scan_choices(op: ScanOp, target: TargetDescription) -> list[Choice]:
    """
    The legal forms; first `rows` along the innermost axis, else `columns`, which fill half of the registers.
    """
    fitting = target.vector_bytes * target.vector_registers // 2 // element_bytes(tensor_element(op.input))
    choices = choices_of(op, lambda form, sizes: _cycles_of_scan(op, form, sizes, target))
    return [
        replace(choice, sizes={name: min(size, fitting) for name, size in choice.sizes.items()})
        for choice in choices
    ]


def _cycles_of_scan(
    op: ScanOp, form: str, sizes: Mapping[str, int], target: TargetDescription
) -> float | None:
    """The estimated cycles: sums that wait for each other along the axis, or loads and stores of vectors."""
    dims, axis = dims_of(op.input.type), op.axis.value.data
    if not all(dim.is_static for dim in dims):
        return None
    steps, inner = dims[axis].value, prod(dim.value for dim in dims[axis + 1 :])
    outer = prod(dim.value for dim in dims[:axis])
    if form == "rows":
        return outer * steps * MACHINE.fma_latency
    lanes = target.lanes(element_bytes(tensor_element(op.input)))
    vectors = ceil(inner / lanes)
    if form == "layers":  # the layer so far is loaded and stored too, in a loop of its own
        return outer * steps * (4 * vectors / MACHINE.loads + MACHINE.start_cycles)
    blocks = ceil(inner / sizes["columns"])
    return outer * steps * max(2 * vectors / MACHINE.loads, blocks * MACHINE.fma_latency)
