"""The choices of forms for the ops of `linalg_ext`, by estimated cycles: None where sizes are open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, log, prod
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import DYNAMIC_INDEX, i64

from stepwell.dialects.costs.kernels import CELLS, SEARCHES, THREADS, TREES
from stepwell.dialects.costs.layouts import ATTENTION, NBITS, WINOGRAD
from stepwell.dialects.costs.machine import MACHINE
from stepwell.dialects.costs.schedules import ELEMENTWISE
from stepwell.dialects.tensor_ir.gpu_modules import is_for_gpu
from stepwell.dialects.tensor_ir.sizes import size_of
from stepwell.dialects.tensor_ir.structured import tensor_element, tensor_shape
from stepwell.dialects.types import dims_of, element_bytes
from stepwell.passes.tensor.schedule.form_choice import Choice, Choices, by_default
from stepwell.runtime.machine.target import F32_BYTES, TargetDescription

if TYPE_CHECKING:
    from stepwell.dialects.linalg_ext import (
        AttentionOp,
        MatmulNbitsOp,
        PoolOp,
        ResizeOp,
        RnnOp,
        ScanOp,
        TopKOp,
        TreeEnsembleOp,
        WinogradConvOp,
    )

_PASSES = 4
"""The number of times that scores are written or read."""
_LOADS = 3
"""The loads and stores of an element, or of a vector: the index in the table, the neighbour, and the sum."""


def _of_attention(
    op: AttentionOp, form: str, sizes: Mapping[str, int], target: TargetDescription
) -> float | None:
    """Products, exponentials, rescaled sums, and scores that pass the cache."""
    from stepwell.dialects.linalg_ext.attention import whole_vectors

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


def _of_nbits(
    op: MatmulNbitsOp, form: str, sizes: Mapping[str, int], target: TargetDescription
) -> float | None:
    """Weights are unpacked for each row, or once."""
    if not op.rows.is_static:
        return None
    rows = op.rows.value
    vectors = ceil(op.columns / target.f32_lanes) * op.steps
    if form.startswith("digits"):
        return rows * vectors * NBITS.digit_ops / MACHINE.multiply_adds
    if form == "registers" or rows <= sizes.get("few", -1):
        return rows * vectors * NBITS.unpacked_ops / MACHINE.multiply_adds
    return (rows + NBITS.unpacked_ops) * vectors / MACHINE.multiply_adds


def _nbits_choices(op: MatmulNbitsOp, target: TargetDescription) -> Sequence[Choice]:
    """
    First the form for the rows of the op; of bytes, sums in 16 bits on targets without byte products.

    With products of bytes in as many registers as their sums need, numbers become digits.
    """
    panel, strip = tensor_shape(op.codes)[-1], NBITS.strip_registers * target.f32_lanes
    preferred = "short-bytes", "floats-or-short-bytes"
    if target.has_byte_products:
        preferred = ("digits-or-panels", "digits-or-bytes") if target.has_digit_products else ()
    choices = sorted(by_default(_of_nbits)(op, target), key=lambda choice: choice.form not in preferred)
    if panel % strip:
        return choices
    return [
        replace(choice, sizes={**choice.sizes, "columns": strip}) if "columns" in choice.sizes else choice
        for choice in choices
    ]


def _of_pool(op: PoolOp, form: str, sizes: Mapping[str, int], target: TargetDescription) -> float | None:
    """Loads along the rows, then combinations down the columns."""
    (rows, columns), (samples, channels, *_) = op.axes, dims_of(op.x.type)
    if not (planes := samples * channels).is_static:
        return None
    vectors = ceil(columns.count / target.lanes(F32_BYTES))
    reduced = rows.size * vectors * columns.kernel
    combined = rows.count * vectors * rows.kernel
    return planes.value * (reduced / MACHINE.loads + combined / MACHINE.multiply_adds)


def _of_resize(op: ResizeOp, form: str, sizes: Mapping[str, int], target: TargetDescription) -> float | None:
    """
    Loads of the neighbours along each axis.

    Weighted neighbours are vectors along all axes but the last; others are read one by one.
    """
    dims, shape = op.sizes
    if not all(dim.is_static for dim in (*dims, *shape)):
        return None
    lanes = target.lanes(element_bytes(tensor_element(op.input)))
    elements = prod(dim.value for dim in shape)
    if form == "repeat":
        return _LOADS * elements / lanes / MACHINE.loads
    if form == "gather":
        return _LOADS * elements / MACHINE.loads
    from stepwell.dialects.linalg_ext.resize import neighbour_offsets, sampled_axes

    axes, extents, reads = sampled_axes(op, dims, shape), list(dims), 0.0
    for axis in axes if form == "first-axis-first" else axes[::-1]:
        extents[axis] = shape[axis]
        is_alone = op.mode.data == "nearest" or axis == len(shape) - 1
        each = len(neighbour_offsets(op, dims, shape, axis)) / (1 if is_alone else lanes)
        reads += prod(dim.value for dim in extents) * each
    return _LOADS * reads / MACHINE.loads


def _resize_choices(op: ResizeOp, target: TargetDescription) -> Sequence[Choice]:
    """First the fastest form; in the order of the op where sizes are open."""
    return sorted(by_default(_of_resize)(op, target), key=lambda choice: choice.cycles or 0)


def _of_rnn(op: RnnOp, form: str, sizes: Mapping[str, int], target: TargetDescription) -> float | None:
    """Both products, by the loads of weights for few rows; gates in memory; cells."""
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
    from stepwell.dialects.graph.recurrent import FUNCTIONS

    functions = (FUNCTIONS[op.cell.data] + 1) * ceil(hidden / lanes) * ELEMENTWISE.function_ops
    of_step = product(batch.value, hidden) + batch.value * functions / MACHINE.multiply_adds
    directions = dims_of(op.r.type)[0].value
    return directions * (ceil(steps.value / block) * of_block + steps.value * of_step)


def _of_scan(op: ScanOp, form: str, sizes: Mapping[str, int], target: TargetDescription) -> float | None:
    """Sums that wait for each other along the axis, or loads and stores of vectors."""
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


def _scan_choices(op: ScanOp, target: TargetDescription) -> Sequence[Choice]:
    """First `rows` along the innermost axis, else `columns`, which fill half of the registers."""
    fitting = target.vector_bytes * target.vector_registers // 2 // element_bytes(tensor_element(op.input))
    choices = by_default(_of_scan)(op, target)
    return [
        replace(choice, sizes={name: min(size, fitting) for name, size in choice.sizes.items()})
        for choice in choices
    ]


def _of_top_k(op: TopKOp, form: str, sizes: Mapping[str, int], target: TargetDescription) -> float | None:
    """
    A round reads the maxima of blocks and a block of ranks, which are made before.

    A search compares all elements in vectors; of elements in random order, k · (1 + ln(row / k)) come before
    the k-th so far, each of which is found one by one in its block, and shifts half of the k.
    """
    dims, axis = dims_of(op.input.type), op.axis.value.data
    if not all(dim.is_static for dim in (*dims, op.k)) or not op.k.value:
        return None
    rows = prod(dim.value for i, dim in enumerate(dims) if i != axis)
    row, k, block = op.row.value, op.k.value, sizes.get("block")
    if form == "rounds":
        lanes, size = target.lanes(element_bytes(i64)), sizes["block"]
        ranks = row * SEARCHES.rank_ops / lanes
        each = ranks + k * ((size + ceil(row / size)) / lanes + SEARCHES.round_ops)
    else:
        found = k * (1 + log(max(1, row / k)))
        compared = row / target.lanes(element_bytes(tensor_element(op.input))) if block else 2 * row
        each = compared + found * ((block or 1) * SEARCHES.compare_ops + k * SEARCHES.shift_ops / 2)
    return rows * each / MACHINE.loads


def _tree_choices(op: TreeEnsembleOp, target: TargetDescription) -> Sequence[Choice]:
    """
    `bits` first where all comparisons of a tree, on vectors, cost less than a walk to the depth; on a GPU a
    row for each thread.
    """
    if is_for_gpu(op):
        return [Choice("walk", {"rows": 1, "block": 1, "trees": 1})]
    sizes = op.forms()["walk"].defaults()
    rows, trees = tensor_shape(op.x)[0], tensor_shape(op.trees)[0]
    steps = op.depth.value.data * TREES.step_cycles * trees
    walk = Choice("walk", sizes, None if rows == DYNAMIC_INDEX else rows * steps)
    if not op.bit_vectors:
        return [walk]
    bits, is_faster = _by_bits(op, target)
    return [bits, walk] if is_faster else [walk, bits]


def _by_bits(op: TreeEnsembleOp, target: TargetDescription) -> tuple[Choice, bool]:
    """The form `bits`, with the fewest rows that pay, and whether the rows of the op are enough."""
    (rows, columns), trees = tensor_shape(op.x), tensor_shape(op.trees)[0]
    bytes = max(element_bytes(tensor_element(value)) for value in (op.x, op.bit_vectors[1]))
    registers, lanes = TREES.bit_registers, target.lanes(bytes)
    if rows != DYNAMIC_INDEX:
        registers = max(1, min(registers, ceil(rows / lanes)))
    # Cycles for each tree: of a block, and of one row by either form.
    block = registers * TREES.cut_cycles * tensor_shape(op.bit_vectors[0])[0] / trees
    walk = op.depth.value.data * TREES.step_cycles
    own = TREES.leaf_cycles + TREES.column_cycles * columns / trees
    most = registers * lanes
    least = ceil(block / (walk - own)) if walk > own else most + 1
    pays = 0 < least <= most and not 0 <= rows < least
    sizes = {"rows": most, "least": min(max(1, least), most), "trees": TREES.walks}
    cycles = None if rows == DYNAMIC_INDEX else trees * (ceil(rows / most) * block + rows * own)
    return Choice("bits", sizes, cycles), pays


def _of_winograd(
    op: WinogradConvOp, form: str, sizes: Mapping[str, int], target: TargetDescription
) -> float | None:
    """
    The cycles of each block's steps on all cores, and of its memory traffic where it is not cached.

    With `groups`, the busiest thread computes some groups, each with memory of its own. Without them, the
    blocks follow each other in the same memory; each of the three steps starts threads, which divide its
    channels and read elements that other cores have written.
    """
    tiles, samples = sizes["tiles"], dims_of(op.x.type)[0]
    if not op.tiles.is_static or not samples.is_static:
        return None
    points, panels, channels, panel = tensor_shape(op.u)
    lanes, results = target.lanes(F32_BYTES), panels * panel
    inputs, outputs = tensor_shape(op.x)[1], ceil(results / lanes)
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


CHOICES: Mapping[str, Choices[Any]] = {
    "AttentionOp": by_default(_of_attention),
    "MatmulNbitsOp": _nbits_choices,
    "PoolOp": by_default(_of_pool),
    "ResizeOp": _resize_choices,
    "RnnOp": by_default(_of_rnn),
    "ScanOp": _scan_choices,
    "TopKOp": by_default(_of_top_k),
    "TreeEnsembleOp": _tree_choices,
    "WinogradConvOp": by_default(_of_winograd),
}
"""By op class: the legal forms of an op with their sizes for a target, first the chosen one."""
