"""
ONNX operators that write elements at computed positions: `Col2Im`, `MaxUnpool`, `TensorScatter` → scatters.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import i64
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.shape_values import ShapeLowering, assume_equal, defined_sizes
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, normalized_axis, rank_of
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.dims import Dim


class MaxUnpoolLowering(ShapeLowering):
    """`MaxUnpool` → values scattered into zeros; a larger output shape adds more zeros at the high ends."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MaxUnpoolOp, rewriter: PatternRewriter) -> None:
        """Scatter the values into zeros of the unpooled size, then append zeros up to `output_shape`."""
        at = Formula(self, rewriter)
        x, indices = at.value(op.X), at.value(op.I)
        kernel, count = op.integers("kernel_shape"), x.rank - 2
        strides = op.integers("strides") if op.has("strides") else [1] * count
        pads = op.integers("pads") if op.has("pads") else [0] * (2 * count)
        sizes = [
            (size - 1) * stride + k - low - high
            for size, stride, k, low, high in zip(
                x.dims[2:], strides, kernel, pads[:count], pads[count:], strict=True
            )
        ]
        shape = [*x.dims[:2], *sizes]
        elems, total = prod(x.dims, start=Dim.of(1)), prod(shape, start=Dim.of(1))
        zeros = at.full(0, [total], x.element)
        positions, values = indices.reshape([elems]), x.reshape([elems])
        result = at.op(graph.ScatterElementsOp(zeros.ssa, positions.ssa, values.ssa, 0)).reshape(shape)
        wanted = self.sizes(op, "output_shape", op.output_shape, rewriter)
        if wanted is not None:
            for axis, dim in enumerate(wanted):
                result = _filled_up(result, axis, dim)
        rewriter.replace(op, [], [result.ssa])


def _filled_up(x: Value, axis: int, wanted: Dim) -> Value:
    """A tensor with zeros appended along an axis, up to a size."""
    size = x.dims[axis]
    if size.proves_equal(wanted):
        return x
    (more,) = defined_sizes([wanted - size], x.formula.rewriter)
    filling = x.formula.full(0, [more if i == axis else d for i, d in enumerate(x.dims)], x.element)
    whole = x.formula.concat([x, filling], axis)
    return whole.reshape([wanted if i == axis else d for i, d in enumerate(whole.dims)])


class TensorScatterLowering(OnnxLowering):
    """
    `TensorScatter` → each row of the batch written from its own position on, modulo the length if circular.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.TensorScatterOp, rewriter: PatternRewriter) -> None:
        """Compute the row's positions along the axis, and scatter the update into the cache."""
        at = Formula(self, rewriter)
        cache, update = at.value(op.past_cache), at.value(op.update)
        axis = normalized_axis(op.integer("axis"), rank_of(op.past_cache, op), op)
        position = at.iota(update.dims[axis], i64).unsqueeze(*(i for i in range(update.rank) if i != axis))
        if op.write_indices is not None:
            first = at.value(op.write_indices).cast(i64)
            assume_equal(op, first.dims[0], update.dims[0], "a position a row", rewriter)
            position = position + first.reshape([update.dims[0], *[1] * (update.rank - 1)])
        if op.has("mode") and op.string("mode") == "circular":
            position = position % at.extent(cache.dims[axis], i64)
        position = position.broadcast_to(update.dims)
        rewriter.replace(op, graph.ScatterElementsOp(cache.ssa, position.ssa, update.ssa, axis))


class Col2ImLowering(ShapeLowering):
    """
    `Col2Im` → the elements of all blocks added at their positions in the padded image, which is then cropped.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.Col2ImOp, rewriter: PatternRewriter) -> None:
        """Add up all blocks in the padded image by one scatter, then crop the padding."""
        # Sizes: padded image, and number of blocks along each axis
        at = Formula(self, rewriter)
        x = at.value(op.input)
        image = self.sizes(op, "image_shape", op.image_shape, rewriter) or ()
        block = self.sizes(op, "block_shape", op.block_shape, rewriter) or ()
        count = len(image)
        strides = op.integers("strides") if op.has("strides") else [1] * count
        dilations = op.integers("dilations") if op.has("dilations") else [1] * count
        pads = op.integers("pads") if op.has("pads") else [0] * (2 * count)
        padded = [
            size + low + high for size, low, high in zip(image, pads[:count], pads[count:], strict=True)
        ]
        blocks = defined_sizes(
            [
                (size - (k - 1) * dilation - 1) // stride + 1
                for size, k, dilation, stride in zip(padded, block, dilations, strides, strict=True)
            ],
            rewriter,
        )
        # Scatter: elements of all blocks are added at their flat positions
        positions = self._positions(at, padded, block, blocks, strides, dilations)
        elements, columns = prod(block, start=Dim.of(1)), prod(blocks, start=Dim.of(1))
        assume_equal(op, x.dims[2], columns, "there must be a column for each block", rewriter)
        (channels,) = defined_sizes([x.dims[1] // elements], rewriter)
        assume_equal(op, x.dims[1], channels * elements, "a column must hold whole blocks", rewriter)
        rows = x.dims[0] * channels
        values = x.reshape([rows, elements * columns])
        positions = positions.reshape([1, elements * columns]).broadcast_to(values.dims)
        zeros = at.full(0, [rows, prod(padded, start=Dim.of(1))], x.element)
        added = graph.ScatterElementsOp(zeros.ssa, positions.ssa, values.ssa, 1, combine="add")
        result = at.op(added).reshape([x.dims[0], channels, *padded])
        for axis, (low, size) in enumerate(zip(pads[:count], image, strict=True), start=2):
            result = result.slice(axis, low, low + size)
        rewriter.replace(op, [], [result.reshape([x.dims[0], channels, *image]).ssa])

    def _positions(
        self,
        at: Formula,
        padded: Sequence[Dim],
        block: Sequence[Dim],
        blocks: Sequence[Dim],
        strides: Sequence[int],
        dilations: Sequence[int],
    ) -> Value:
        """The flat position in the image of each element of each block: [block…, blocks…]."""
        count, flat = len(block), at.number(0, i64)
        for axis in range(count):
            inside = at.iota(block[axis], i64) * dilations[axis]
            start = at.iota(blocks[axis], i64) * strides[axis]
            others = [d for d in range(2 * count) if d not in (axis, count + axis)]
            position = (inside.unsqueeze(1) + start.unsqueeze(0)).unsqueeze(*others)
            flat = flat * at.extent(padded[axis], i64) + position
        return flat
