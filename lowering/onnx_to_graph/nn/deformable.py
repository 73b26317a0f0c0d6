"""
`DeformConv` → pixels sampled at shifted positions, one column for each output pixel, and a matrix product.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f32, i64
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import onnx
from stepwell.dialects.types import dims_of
from stepwell.lowering.onnx_to_graph.nn.convolution import group_count, kernel_of, known_filters
from stepwell.lowering.onnx_to_graph.shape_values import renamed
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.lowering.onnx_to_graph.tensor.sampling import neighbours
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.dims import Dim


class DeformConvLowering(OnnxLowering):
    """
    `DeformConv` → a gather of the neighbours of each shifted position, their weighted sums, a product.

    Offsets come as (group, kernel position, axis); an offset group shifts its part of the channels.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.DeformConvOp, rewriter: PatternRewriter) -> None:
        """
        Sample the columns of all output pixels, multiply by the mask, then by the filters, and add the bias.
        """
        # Sampling: the weighted neighbours of each shifted position
        at = Formula(self, rewriter)
        x, w = at.value(op.X), at.value(known_filters(op, op.X, op.W, rewriter))
        kernel_sizes = kernel_of(op, w.ssa)
        batch, channels, *sizes = x.dims
        groups, shifts = group_count(op), group_count(op, "offset_group")
        kernel, what = prod(kernel_sizes), "sizes of input, offsets and mask"
        out = dims_of(op.offset.type)[2:]
        shape = [batch, Dim.of(shifts * kernel * len(sizes)), *out]
        offset = at.value(renamed(op, op.offset, shape, what, rewriter))
        positions, weights = self._neighbours(op, at, offset, sizes, kernel_sizes)
        pixels = x.reshape([batch, shifts, channels // shifts, prod(sizes, start=Dim.of(1))])
        found = pixels.transpose([0, 1, 3, 2]).gather(positions, 2, batch_dims=2).cast(f32)
        # (batch, shifts, kernel, out…, neighbours…, channels): the neighbours are summed up
        taken = range(3 + len(out), positions.rank)
        columns = (found * weights.unsqueeze(weights.rank)).reduce("sum", list(taken))
        if op.mask is not None:
            shape = [batch, Dim.of(shifts * kernel), *out]
            mask = (
                at.value(renamed(op, op.mask, shape, what, rewriter))
                .cast(f32)
                .reshape([batch, shifts, kernel, *out])
            )
            columns = columns * mask.unsqueeze(mask.rank)
        # Product: filters x columns, per group
        columns = columns.transpose([0, 1, columns.rank - 1, *range(2, columns.rank - 1)])
        depth, pixel_count = channels // groups * kernel, prod(out, start=Dim.of(1))
        columns = columns.reshape([batch, groups, depth, pixel_count])
        filters = w.cast(f32).reshape([groups, w.dims[0] // groups, depth])
        result = filters.matmul(columns).reshape([batch, w.dims[0], *out])
        if op.B is not None:
            bias = renamed(op, op.B, [w.dims[0]], "filters and bias", rewriter)
            result = result + at.value(bias).cast(f32).reshape([w.dims[0], *[1] * len(out)])
        rewriter.replace(op, [], [result.cast(x.element).ssa])

    def _neighbours(
        self, op: onnx.DeformConvOp, at: Formula, offset: Value, sizes: list[Dim], kernel: Sequence[int]
    ) -> tuple[Value, Value]:
        """The flat positions and weights of the neighbours: (batch, shifts, kernel, out…, 2 per axis)."""
        offset, count = offset.cast(f32), len(sizes)
        batch, out = offset.dims[0], offset.dims[2:]
        shifts, elements = op.integer("offset_group"), prod(kernel)
        offset = offset.reshape([batch, shifts, elements, count, *out])
        strides = op.integers("strides") if op.has("strides") else [1] * count
        dilations = op.integers("dilations") if op.has("dilations") else [1] * count
        pads = op.integers("pads") if op.has("pads") else [0] * (2 * count)
        flat: Value | None = None
        weights: Value | None = None
        for axis, size in enumerate(sizes):
            inside = at.iota(kernel[axis], f32) * dilations[axis]
            inside = inside.reshape([kernel[axis] if i == axis else 1 for i in range(count)])
            inside = inside.broadcast_to([Dim.of(k) for k in kernel]).reshape([elements, *[1] * count])
            start = at.iota(out[axis], f32) * strides[axis] - pads[axis]
            start = start.reshape([out[axis] if i == axis else 1 for i in range(count)])
            position, weight = neighbours(offset.at(3, axis) + inside + start, size, "linear", "zeros", True)
            trailing = [3 + count + d for d in range(count) if d != axis]
            position, weight = position.unsqueeze(*trailing), weight.unsqueeze(*trailing)
            flat = position if flat is None else flat * at.extent(size, i64) + position
            weights = weight if weights is None else weights * weight
        assert flat is not None and weights is not None
        return flat, weights
