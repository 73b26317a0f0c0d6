"""
Pools → `linalg.generic` that reduces windows, as `linalg`'s own pooling ops do.

Loops are the dimensions of the result in its layout, then the kernel points; a tensor of the kernel's shape,
never read, tells how many points there are. Padding is a tensor of the identity with the input inside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.lowering.graph_to_linalg.contraction import accumulator, rounded
from stepwell.lowering.graph_to_linalg.scalars import Scalars
from stepwell.lowering.graph_to_linalg.slices import Indices
from stepwell.lowering.graph_to_linalg.support import (
    PARALLEL,
    REDUCTION,
    Body,
    Read,
    empty,
    extent,
    filled,
    generic,
    identity,
    loop_index,
    projection,
)
from stepwell.lowering.graph_to_linalg.views import bordered
from stepwell.runtime.dims import Dim
from stepwell.runtime.layout import Layout, parse_layout


class PoolLowering(RewritePattern):
    """
    `graph.pool` → a maximum, or a sum and what follows it: a division by the number of cells, or a root.

    The index of a maximum is found by a second pass over the windows.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PoolOp, rewriter: PatternRewriter) -> None:
        windows = _Windows.of(op)
        match op.kind.data:
            case "max":
                results = _maximum(op, windows, rewriter)
            case "avg":
                results = [_mean(op, windows, rewriter)]
            case _:
                results = [_norm(op, windows, rewriter)]
        rewriter.replace(op, [], results)


@dataclass(frozen=True)
class _Windows:
    """How the windows of a pool lie in its input."""

    data: Layout
    out: tuple[Dim, ...]
    sizes: tuple[Dim, ...]
    """Of the spatial axes of the input."""
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    ceil: bool

    @staticmethod
    def of(op: graph.PoolOp) -> _Windows:
        data, pads = parse_layout(op.data_layout.data), tuple(op.pads.get_values())
        extents = data.logical(dims_of(op.x.type))
        rank = len(data.spatial)
        return _Windows(
            data,
            dims_of(op.outputs[0].type),
            tuple(extents[letter] for letter in data.spatial),
            tuple(op.kernel.get_values()),
            tuple(op.strides.get_values()),
            tuple(op.dilations.get_values()),
            pads[:rank],
            pads[rank:],
            bool(op.ceil.value.data),
        )

    @property
    def rank(self) -> int:
        """The number of spatial axes."""
        return len(self.kernel)

    @property
    def axes(self) -> list[int]:
        """The dimension of each spatial axis, which is also its loop."""
        return [self.data.axis(letter) for letter in self.data.spatial]

    def point(self, axis: int) -> int:
        """The loop over the kernel points of a spatial axis."""
        return len(self.out) + axis

    def overhang(self, axis: int) -> int:
        """At most how many cells the last window reaches past the end of the input."""
        first = (self.out[self.axes[axis]] - 1) * self.strides[axis]
        last = first + (self.kernel[axis] - 1) * self.dilations[axis] - self.begins[axis]
        beyond = last + 1 - self.sizes[axis]
        if beyond.is_static:
            return max(0, beyond.value)
        # A window that ceil adds starts inside the input.
        return self.ends[axis] + (self.strides[axis] - 1 if self.ceil else 0)

    def read(self, x: SSAValue, number: float, rewriter: PatternRewriter) -> Read:
        """The input as the windows see it, with `number` around it where they reach past its borders."""
        low, high = [0] * len(self.out), [0] * len(self.out)
        for axis, dim in enumerate(self.axes):
            low[dim], high[dim] = self.begins[axis], self.overhang(axis)
        loops = len(self.out) + self.rank
        indices = [AffineExpr.dimension(i) for i in range(len(self.out))]
        for axis, dim in enumerate(self.axes):
            point = AffineExpr.dimension(self.point(axis)) * self.dilations[axis]
            indices[dim] = indices[dim] * self.strides[axis] + point
        return bordered(x, low, high, number, rewriter), AffineMap(loops, 0, tuple(indices))

    def reduce(
        self, reads: Sequence[Read], init: SSAValue, body: Body, rewriter: PatternRewriter
    ) -> SSAValue:
        """Reduce what `reads` give at each point; `body` takes their scalars, then the result so far."""
        loops = len(self.out) + self.rank
        kernel = empty(tensor_type(f32, self.kernel), rewriter)
        points = projection(loops, [self.point(axis) for axis in range(self.rank)])
        iterators = [PARALLEL] * len(self.out) + [REDUCTION] * self.rank
        write = (init, projection(loops, range(len(self.out))))

        def without_kernel(scalars: Sequence[SSAValue]) -> SSAValue:
            return body([*scalars[:-2], scalars[-1]])

        return generic([*reads, (kernel, points)], write, iterators, without_kernel, rewriter)


def _maximum(op: graph.PoolOp, windows: _Windows, rewriter: PatternRewriter) -> list[SSAValue]:
    type = tensor_of(op.outputs[0])
    scalars = Scalars(type.element_type)
    lowest = scalars.lowest()
    read = windows.read(op.x, lowest, rewriter)

    def greater(s: Sequence[SSAValue]) -> SSAValue:
        # Not `maximum`: a NaN does not win, and this is one instruction.
        return scalars.select(scalars.compare("gt", s[0], s[1]), s[0], s[1])

    y = windows.reduce([read], filled(type, lowest, rewriter), greater, rewriter)
    if op.indices.data == "none":
        return [y]
    return [y, _indices(op, windows, read, y, rewriter)]


def _indices(
    op: graph.PoolOp, windows: _Windows, read: Read, y: SSAValue, rewriter: PatternRewriter
) -> SSAValue:
    """Where each maximum was: of the first cell that has it, 0 when there is none (every cell is NaN)."""
    type = tensor_of(op.outputs[1])
    scalars, places = Scalars(tensor_of(op.x).element_type), Scalars(i64)
    sizes = [extent(size, rewriter) for size in windows.sizes]
    steps = [extent(step, rewriter) for step in _steps(op, windows)]
    loops = len(windows.out) + windows.rank

    def first_match(s: Sequence[SSAValue]) -> SSAValue:
        x, best_x, found = s
        cells = [_cell(windows, axis) for axis in range(windows.rank)]
        matches = arith.AndIOp(
            scalars.compare("eq", x, best_x), places.compare("lt", found, places.constant(0))
        ).result
        for cell, size in zip(cells, sizes, strict=True):
            # Unsigned: not negative either.
            matches = arith.AndIOp(matches, arith.CmpiOp(cell, size, "ult").result).result
        flat = Indices.constant(0)
        for coordinate, step in zip([*_image(windows), *cells], steps, strict=True):
            flat = Indices.add(flat, Indices.multiply(coordinate, step))
        return places.select(matches, places.from_index(flat), found)

    reads = [read, (y, projection(loops, range(len(windows.out))))]
    found = windows.reduce(reads, filled(type, -1, rewriter), first_match, rewriter)
    rank = len(windows.out)
    write = (empty(type, rewriter), identity(rank))
    return generic(
        [(found, identity(rank))],
        write,
        [PARALLEL] * rank,
        lambda s: places.maximum(s[0], places.constant(0)),
        rewriter,
    )


def _steps(op: graph.PoolOp, windows: _Windows) -> list[Dim]:
    """How far apart neighbours along N, C and each spatial axis are in the whole tensor."""
    image = Dim.of(1)
    for size in windows.sizes:
        image = image * size
    steps: list[Dim] = []
    step = Dim.of(1)
    column_major = op.indices.data == "column"
    for size in windows.sizes if column_major else reversed(windows.sizes):
        steps.append(step)
        step = step * size
    channels = windows.data.logical(dims_of(op.x.type))["C"]
    return [image * channels, image, *(steps if column_major else reversed(steps))]


def _image(windows: _Windows) -> list[SSAValue]:
    """The indices of the image and of the channel, inside a body."""
    channel = loop_index(windows.data.axis("C"))
    if (block := windows.data.block_axis("C")) is not None:
        channel = Indices.add(Indices.scaled(channel, windows.data.block("C")), loop_index(block))
    return [loop_index(windows.data.axis("N")), channel]


def _cell(windows: _Windows, axis: int) -> SSAValue:
    """The coordinate in the input, without padding, that the kernel point sees, inside a body."""
    start = Indices.scaled(loop_index(windows.axes[axis]), windows.strides[axis])
    offset = Indices.scaled(loop_index(windows.point(axis)), windows.dilations[axis])
    return Indices.subtract(Indices.add(start, offset), Indices.constant(windows.begins[axis]))


def _mean(op: graph.PoolOp, windows: _Windows, rewriter: PatternRewriter) -> SSAValue:
    type = tensor_of(op.outputs[0])
    kept = Scalars(accumulator(type.element_type))
    dims = dims_of(type)
    start = filled(tensor_type(kept.element, dims), 0, rewriter)
    read = windows.read(op.x, 0, rewriter)
    total = windows.reduce([read], start, lambda s: kept.add(s[1], s[0]), rewriter)
    reads = [(total, identity(len(dims)))]
    with_pads = bool(op.count_include_pad.value.data)
    if not _all_full(windows, with_pads):
        count = _counts(windows, with_pads, kept, rewriter)
        reads.append((count, projection(len(dims), windows.axes)))

    def divide(s: Sequence[SSAValue]) -> SSAValue:
        cells = s[1] if len(reads) == 2 else kept.constant(prod(windows.kernel))
        return kept.divide(s[0], cells)

    write = (empty(type, rewriter), identity(len(dims)))
    return generic(reads, write, [PARALLEL] * len(dims), divide, rewriter)


def _all_full(windows: _Windows, with_pads: bool) -> bool:
    """Whether every window has all its cells where they count."""
    if with_pads:
        return all(windows.overhang(axis) <= windows.ends[axis] for axis in range(windows.rank))
    return not any(windows.begins) and not any(windows.overhang(axis) for axis in range(windows.rank))


def _counts(windows: _Windows, with_pads: bool, scalars: Scalars, rewriter: PatternRewriter) -> SSAValue:
    """How many cells of each window count: a tensor over the spatial axes of the result."""
    ends = [
        extent(size + (end if with_pads else 0), rewriter)
        for size, end in zip(windows.sizes, windows.ends, strict=True)
    ]
    type = tensor_type(scalars.element, [windows.out[axis] for axis in windows.axes])

    def product(_: Sequence[SSAValue]) -> SSAValue:
        total = Indices.constant(1)
        for axis, end in enumerate(ends):
            begin = Indices.constant(windows.begins[axis])
            start = Indices.subtract(Indices.scaled(loop_index(axis), windows.strides[axis]), begin)
            low = Indices.constant(-windows.begins[axis] if with_pads else 0)
            points = [_points_before(windows, axis, start, bound) for bound in (low, end)]
            total = Indices.multiply(total, Indices.subtract(points[1], points[0]))
        return scalars.from_index(total)

    write = (empty(type, rewriter), identity(windows.rank))
    return generic([], write, [PARALLEL] * windows.rank, product, rewriter)


def _points_before(windows: _Windows, axis: int, start: SSAValue, bound: SSAValue) -> SSAValue:
    """How many kernel points of a window that begins at `start` see cells before `bound`."""
    dilation, distance = windows.dilations[axis], Indices.subtract(bound, start)
    if dilation > 1:
        distance = arith.CeilDivSIOp(distance, Indices.constant(dilation)).result
    most = Indices.constant(windows.kernel[axis])
    return Indices.minimum(Indices.maximum(distance, Indices.constant(0)), most)


def _norm(op: graph.PoolOp, windows: _Windows, rewriter: PatternRewriter) -> SSAValue:
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
    """x to a positive whole power, by squaring."""
    if p == 1:
        return x
    half = _power(scalars, scalars.multiply(x, x), p // 2)
    return scalars.multiply(half, x) if p % 2 else half


PATTERNS: list[RewritePattern] = [PoolLowering()]
