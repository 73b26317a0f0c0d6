"""
Pools → `linalg.generic` ops that reduce windows, as `linalg`'s own pooling ops do.

Loops are the dimensions of the result in its layout, then the kernel points; an unread tensor of the kernel's
shape gives the latter their extents. Padding is a tensor of the reduction's identity into which the input is
inserted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.linalg_builder.scalars import Scalars
from stepwell.dialects.linalg_builder.slices import INDICES, cut, paste
from stepwell.dialects.linalg_builder.sums import accumulator, rounded
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    Read,
    empty,
    extent,
    filled,
    generic,
    identity,
    is_returned,
    loop_index,
    projection,
)
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.lowering.graph_to_linalg.forms import has_vector_rows, pool_by_rows
from stepwell.lowering.graph_to_linalg.pool_windows import Windows
from stepwell.runtime.dims import Dim


class PoolLowering(RewritePattern):
    """
    `graph.pool` → a maximum, or a sum followed by a division by the number of cells, or by a root.

    The index of a maximum is found by a second pass over the windows.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PoolOp, rewriter: PatternRewriter) -> None:
        """Emit a maximum, a mean or a p-norm of each window, by the op's kind."""
        windows = Windows.of(op)
        match op.kind.data:
            case "max":
                results = _maximum(op, windows, rewriter)
            case "avg":
                results = [_mean(op, windows, rewriter)]
            case _:
                results = [_norm(op, windows, rewriter)]
        rewriter.replace(op, [], results)


Compute: TypeAlias = Callable[[Windows, SSAValue, Sequence[Dim]], SSAValue]
"""Emits the results of some windows on an input; the offsets are their position in the whole result."""


def _by_parts(op: graph.PoolOp, windows: Windows, compute: Compute, rewriter: PatternRewriter) -> SSAValue:
    """
    The result of a pool: inner windows read the input in place, those that need padding read small copies.

    The whole input is padded instead where users of the result share loops with the pool, or many windows
    need padding.
    """
    type, none = tensor_of(op.outputs[0]), [Dim.of(0)] * len(windows.out)
    full = [windows.out[axis] for axis in windows.axes]
    if not all(n.is_static for n in (*full, *windows.sizes)) or not is_returned(op.outputs[0]):
        return compute(windows, op.x, none)
    inner = [windows.along(axis).without_padding() for axis in range(windows.rank)]
    whole = [(0, n.value) for n in full]
    few = any(4 * (stop - start) < 3 * n for (start, stop), (_, n) in zip(inner, whole, strict=True))
    if inner == whole or few:
        return compute(windows, op.x, none)
    # The inner windows, then for each axis those before and after them.
    parts = [inner]
    for axis, ((start, stop), (_, count)) in enumerate(zip(inner, whole, strict=True)):
        parts += [[*inner[:axis], side, *whole[axis + 1 :]] for side in ((0, start), (stop, count))]
    result = empty(type, rewriter)
    for ranges in parts:
        if all(stop > start for start, stop in ranges):
            offsets = list(none)
            for dim, (start, _) in zip(windows.axes, ranges, strict=True):
                offsets[dim] = Dim.of(start)
            piece = compute(*windows.part(op.x, ranges, rewriter), offsets)
            result = paste(piece, result, offsets, rewriter)
    return result


def _maximum(op: graph.PoolOp, windows: Windows, rewriter: PatternRewriter) -> list[SSAValue]:
    """The maxima of all windows, and their indices if the op has that result."""
    element = tensor_of(op.outputs[0]).element_type
    scalars = Scalars(element)
    lowest = scalars.lowest()

    def greater(s: Sequence[SSAValue]) -> SSAValue:
        # Not `maximum`: a NaN is not chosen, and this is one instruction.
        return scalars.select(scalars.compare("gt", s[0], s[1]), s[0], s[1])

    def compute(windows: Windows, x: SSAValue, _: Sequence[Dim]) -> SSAValue:
        read = windows.read(x, lowest, rewriter)
        return windows.reduce(
            [read], filled(tensor_type(element, windows.out), lowest, rewriter), greater, rewriter
        )

    if op.indices.data == "none":
        if has_vector_rows(op, windows):
            return [pool_by_rows(op, rewriter)]
        return [_by_parts(op, windows, compute, rewriter)]
    y = compute(windows, op.x, ())
    return [y, _indices(op, windows, windows.read(op.x, lowest, rewriter), y, rewriter)]


def _indices(
    op: graph.PoolOp, windows: Windows, read: Read, y: SSAValue, rewriter: PatternRewriter
) -> SSAValue:
    """The flat index of each maximum: that of the first equal cell, or 0 without one (every cell is NaN)."""
    type = tensor_of(op.outputs[1])
    scalars, positions = Scalars(tensor_of(op.x).element_type), Scalars(i64)
    sizes = [extent(size, rewriter) for size in windows.sizes]
    steps = [extent(step, rewriter) for step in _steps(op, windows)]
    loops = len(windows.out) + windows.rank

    def first_match(s: Sequence[SSAValue]) -> SSAValue:
        x, best_x, found = s
        cells = [_cell(windows, axis) for axis in range(windows.rank)]
        matches = arith.AndIOp(
            scalars.compare("eq", x, best_x), positions.compare("lt", found, positions.constant(0))
        ).result
        for cell, size in zip(cells, sizes, strict=True):
            # An unsigned comparison excludes negative coordinates too.
            matches = arith.AndIOp(matches, arith.CmpiOp(cell, size, "ult").result).result
        # The flat index of the cell in the whole tensor.
        flat = INDICES.constant(0)
        for coordinate, step in zip([*_sample_and_channel(windows), *cells], steps, strict=True):
            flat = INDICES.add(flat, INDICES.multiply(coordinate, step))
        return positions.select(matches, positions.from_index(flat), found)

    reads = [read, (y, projection(loops, range(len(windows.out))))]
    found = windows.reduce(reads, filled(type, -1, rewriter), first_match, rewriter)
    rank = len(windows.out)
    write = (empty(type, rewriter), identity(rank))
    return generic(
        [(found, identity(rank))],
        write,
        [PARALLEL] * rank,
        lambda s: positions.maximum(s[0], positions.constant(0)),
        rewriter,
    )


def _steps(op: graph.PoolOp, windows: Windows) -> list[Dim]:
    """Distances in elements of neighbours along N, C and each spatial axis, in the index order of the op."""
    plane = Dim.of(1)
    for size in windows.sizes:
        plane = plane * size
    steps: list[Dim] = []
    step = Dim.of(1)
    column_major = op.indices.data == "column"
    for size in windows.sizes if column_major else reversed(windows.sizes):
        steps.append(step)
        step = step * size
    channels = windows.data.logical(dims_of(op.x.type))["C"]
    return [plane * channels, plane, *(steps if column_major else reversed(steps))]


def _sample_and_channel(windows: Windows) -> list[SSAValue]:
    """The indices of the batch sample and of the channel, emitted inside a body."""
    channel = loop_index(windows.data.axis("C"))
    if (block := windows.data.block_axis("C")) is not None:
        channel = INDICES.add(INDICES.scaled(channel, windows.data.block("C")), loop_index(block))
    return [loop_index(windows.data.axis("N")), channel]


def _cell(windows: Windows, axis: int) -> SSAValue:
    """The coordinate of a kernel point's cell in the unpadded input, emitted inside a body."""
    start = INDICES.scaled(loop_index(windows.axes[axis]), windows.strides[axis])
    offset = INDICES.scaled(loop_index(windows.point(axis)), windows.dilations[axis])
    return INDICES.subtract(INDICES.add(start, offset), INDICES.constant(windows.begins[axis]))


def _mean(op: graph.PoolOp, windows: Windows, rewriter: PatternRewriter) -> SSAValue:
    """The means of all windows: sums divided by the number of cells that count."""
    element, with_pads = tensor_of(op.outputs[0]).element_type, bool(op.count_include_pad.value.data)
    if has_vector_rows(op, windows):
        return pool_by_rows(op, rewriter)
    kept = Scalars(accumulator(element))
    counts = None if _all_full(windows, with_pads) else _counts(windows, with_pads, kept, rewriter)

    def compute(part: Windows, x: SSAValue, offsets: Sequence[Dim]) -> SSAValue:
        start = filled(tensor_type(kept.element, part.out), 0, rewriter)
        read, rank = part.read(x, 0, rewriter), len(part.out)
        total = part.reduce([read], start, lambda s: kept.add(s[1], s[0]), rewriter)
        reads = [(total, identity(rank))]
        kernel = windows.kernel if with_pads else part.kernel
        is_full = _all_full(part, with_pads=False) and kernel == part.kernel
        if counts is not None and not is_full:
            first, sizes = [offsets[d] for d in part.axes], [part.out[d] for d in part.axes]
            cells = counts if part is windows else cut(counts, first, sizes, [1] * part.rank, rewriter)
            reads.append((cells, projection(rank, part.axes)))

        def divide(s: Sequence[SSAValue]) -> SSAValue:
            return kept.divide(s[0], s[1] if len(reads) == 2 else kept.constant(prod(kernel)))

        write = (empty(tensor_type(element, part.out), rewriter), identity(rank))
        return generic(reads, write, [PARALLEL] * rank, divide, rewriter)

    return _by_parts(op, windows, compute, rewriter)


def _all_full(windows: Windows, with_pads: bool) -> bool:
    """Whether all cells of every window count, so that one divisor serves all windows."""
    if with_pads:
        return all(windows.overhang(axis) <= windows.ends[axis] for axis in range(windows.rank))
    return not any(windows.begins) and not any(windows.overhang(axis) for axis in range(windows.rank))


def _counts(windows: Windows, with_pads: bool, scalars: Scalars, rewriter: PatternRewriter) -> SSAValue:
    """The number of cells of each window that count: a tensor over the spatial axes of the result."""
    ends = [
        extent(size + (end if with_pads else 0), rewriter)
        for size, end in zip(windows.sizes, windows.ends, strict=True)
    ]
    type = tensor_type(scalars.element, [windows.out[axis] for axis in windows.axes])

    def product(_: Sequence[SSAValue]) -> SSAValue:
        total = INDICES.constant(1)
        for axis, end in enumerate(ends):
            begin = INDICES.constant(windows.begins[axis])
            start = INDICES.subtract(INDICES.scaled(loop_index(axis), windows.strides[axis]), begin)
            low = INDICES.constant(-windows.begins[axis] if with_pads else 0)
            points = [_points_before(windows, axis, start, bound) for bound in (low, end)]
            total = INDICES.multiply(total, INDICES.subtract(points[1], points[0]))
        return scalars.from_index(total)

    write = (empty(type, rewriter), identity(windows.rank))
    return generic([], write, [PARALLEL] * windows.rank, product, rewriter)


def _points_before(windows: Windows, axis: int, start: SSAValue, bound: SSAValue) -> SSAValue:
    """The number of kernel points, of a window that begins at `start`, whose cells are before `bound`."""
    dilation, distance = windows.dilations[axis], INDICES.subtract(bound, start)
    if dilation > 1:
        distance = arith.CeilDivSIOp(distance, INDICES.constant(dilation)).result
    most = INDICES.constant(windows.kernel[axis])
    return INDICES.minimum(INDICES.maximum(distance, INDICES.constant(0)), most)


def _norm(op: graph.PoolOp, windows: Windows, rewriter: PatternRewriter) -> SSAValue:
    """The p-norms of all windows: the root of the sum of powers."""
    type, p = tensor_of(op.outputs[0]), op.p.value.data
    kept = Scalars(accumulator(type.element_type))
    dims = dims_of(type)
    start = filled(tensor_type(kept.element, dims), 0, rewriter)
    read = windows.read(op.x, 0, rewriter)

    def add_power(s: Sequence[SSAValue]) -> SSAValue:
        return kept.add(s[1], _power(kept, kept.absolute(s[0]), p))

    def root(s: Sequence[SSAValue]) -> SSAValue:
        return math.SqrtOp(s[0]).result if p == 2 else math.PowFOp(s[0], kept.constant(1 / p)).result

    total = windows.reduce([read], start, add_power, rewriter)
    if p == 1:
        return rounded(total, type.element_type, rewriter)
    write = (empty(type, rewriter), identity(len(dims)))
    return generic([(total, identity(len(dims)))], write, [PARALLEL] * len(dims), root, rewriter)


def _power(scalars: Scalars, x: SSAValue, p: int) -> SSAValue:
    """A power with a positive integer exponent, by squaring."""
    if p == 1:
        return x
    half = _power(scalars, scalars.multiply(x, x), p // 2)
    return scalars.multiply(half, x) if p % 2 else half
