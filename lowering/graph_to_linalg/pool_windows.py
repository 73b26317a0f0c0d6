"""Geometry of pooling windows in their input: extents, index maps, padding and sub-ranges of windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.linalg_builder.slices import cut
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    REDUCTION,
    Body,
    Read,
    empty,
    generic,
    projection,
)
from stepwell.dialects.linalg_builder.views import pad_tensor
from stepwell.dialects.tensor_ir.window_axis import WindowAxis
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.layout import Layout, parse_layout


@dataclass(frozen=True)
class Windows:
    """The windows of a pool: kernel, strides, dilations, pads, and the extents of input and output."""

    data: Layout
    out: tuple[Dim, ...]
    sizes: tuple[Dim, ...]
    """Extents of the spatial axes of the input."""
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]
    ceil: bool

    @staticmethod
    def of(op: graph.PoolOp) -> Windows:
        """The windows of a pool, from its attributes and types."""
        data, pads = parse_layout(op.data_layout.data), tuple(op.pads.get_values())
        extents = data.logical(dims_of(op.x.type))
        rank = len(data.spatial)
        return Windows(
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
        """The tensor dimension of each spatial axis, which is also the number of its loop."""
        return [self.data.axis(letter) for letter in self.data.spatial]

    def point(self, axis: int) -> int:
        """The number of the loop over the kernel points of a spatial axis."""
        return len(self.out) + axis

    def overhang(self, axis: int) -> int:
        """An upper bound of the cells by which the last window reaches past the end of the input."""
        first = (self.out[self.axes[axis]] - 1) * self.strides[axis]
        last = first + (self.kernel[axis] - 1) * self.dilations[axis] - self.begins[axis]
        beyond = last + 1 - self.sizes[axis]
        if beyond.is_static:
            return max(0, beyond.value)
        # A window that ceil adds starts inside the input.
        return self.ends[axis] + (self.strides[axis] - 1 if self.ceil else 0)

    def read(self, x: SSAValue, number: float, rewriter: PatternRewriter) -> Read:
        """The input, padded with `number` as far as the windows reach, and its index map."""
        low, high = [0] * len(self.out), [0] * len(self.out)
        for axis, dim in enumerate(self.axes):
            low[dim], high[dim] = self.begins[axis], self.overhang(axis)
        loops = len(self.out) + self.rank
        indices = [AffineExpr.dimension(i) for i in range(len(self.out))]
        for axis, dim in enumerate(self.axes):
            point = AffineExpr.dimension(self.point(axis)) * self.dilations[axis]
            indices[dim] = indices[dim] * self.strides[axis] + point
        return pad_tensor(x, low, high, number, rewriter), AffineMap(loops, 0, tuple(indices))

    def along(self, axis: int) -> WindowAxis:
        """The windows along an axis of known size."""
        size, count = self.sizes[axis].value, self.out[self.axes[axis]].value
        shape = self.kernel[axis], self.strides[axis], self.dilations[axis]
        return WindowAxis(size, count, *shape, self.begins[axis], self.ends[axis])

    def part(
        self, x: SSAValue, ranges: Sequence[tuple[int, int]], rewriter: PatternRewriter
    ) -> tuple[Windows, SSAValue]:
        """
        The windows of a range along each spatial axis, and the block of the input that they cover.

        A single window along an axis has only the kernel points that are inside the input.
        """
        begins, sizes, out, kernel = list(self.begins), list(self.sizes), list(self.out), list(self.kernel)
        offsets, lengths = [Dim.of(0)] * len(self.out), list(dims_of(x.type))
        for axis, (start, stop) in enumerate(ranges):
            low, step, size = (
                start * self.strides[axis] - self.begins[axis],
                self.dilations[axis],
                self.sizes[axis],
            )
            if stop - start == 1:
                seen = [p for p in range(kernel[axis]) if 0 <= low + p * step < size.value]
                low, kernel[axis] = low + min(seen, default=0) * step, len(seen)
            reach = (stop - 1 - start) * self.strides[axis] + (kernel[axis] - 1) * step
            first, last = max(low, 0), min(low + reach + 1, size.value)
            begins[axis], sizes[axis] = first - low, Dim.of(last - first)
            dim = self.axes[axis]
            offsets[dim], lengths[dim], out[dim] = Dim.of(first), sizes[axis], Dim.of(stop - start)
        block = cut(x, offsets, lengths, [1] * len(lengths), rewriter)
        part = replace(self, begins=tuple(begins), sizes=tuple(sizes), out=tuple(out), kernel=tuple(kernel))
        return part, block

    def reduce(
        self, reads: Sequence[Read], init: SSAValue, body: Body, rewriter: PatternRewriter
    ) -> SSAValue:
        """Reduce `reads` over all kernel points; `body` takes their scalars, then the result so far."""
        loops = len(self.out) + self.rank
        kernel = empty(tensor_type(f32, self.kernel), rewriter)
        points = projection(loops, [self.point(axis) for axis in range(self.rank)])
        iterators = [PARALLEL] * len(self.out) + [REDUCTION] * self.rank
        write = (init, projection(loops, range(len(self.out))))

        def without_kernel(scalars: Sequence[SSAValue]) -> SSAValue:
            return body([*scalars[:-2], scalars[-1]])

        return generic([*reads, (kernel, points)], write, iterators, without_kernel, rewriter)
