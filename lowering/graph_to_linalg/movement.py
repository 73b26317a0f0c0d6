"""Operators that move elements → `linalg.generic` with permuted maps, slices, and computed positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import graph, sched
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph.mixed import mixed_dims
from stepwell.dialects.linalg_builder.slices import (
    INDICES,
    collected,
    copied,
    cut,
    index_of,
    index_table,
    layer_of,
    paste,
    with_layer,
)
from stepwell.dialects.linalg_builder.support import (
    PARALLEL,
    Read,
    constant_number,
    counted_loop,
    elementwise,
    empty,
    extent,
    filled,
    generic,
    identity,
    is_returned,
    projection,
)
from stepwell.dialects.linalg_builder.views import join_dims, split_dims
from stepwell.dialects.types import Tensor, dims_of, tensor_of, tensor_type
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


class TransposeLowering(RewritePattern):
    """`graph.transpose` → a copy that reads through a permuted map."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TransposeOp, rewriter: PatternRewriter) -> None:
        """Emit a copy that reads through the inverse of `perm`, so that writes are in order."""
        perm = op.perm.get_values()
        rank = len(perm)
        read = (op.input, projection(rank, [perm.index(i) for i in range(rank)]))
        write = (empty(tensor_of(op.result), rewriter), identity(rank))
        result = generic([read], write, [PARALLEL] * rank, lambda s: s[0], rewriter)
        rewriter.replace(op, [], [result])


class BroadcastLowering(RewritePattern):
    """`graph.broadcast_to`, `graph.full` → a copy whose operand's index map omits the broadcast loops."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.BroadcastToOp | graph.FullOp, rewriter: PatternRewriter) -> None:
        """Emit an elementwise copy to the shape of the result."""
        result = elementwise(tensor_of(op.result), [op.input], lambda s: s[0], op, rewriter)
        rewriter.replace(op, [], [result])


class ConcatLowering(RewritePattern):
    """`graph.concat` → each operand inserted along `axis` after the one before it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ConcatOp, rewriter: PatternRewriter) -> None:
        """Insert the operands into one empty tensor, at offsets that are the sums of their extents."""
        axis = op.axis.value.data
        result, offset = empty(tensor_of(op.result), rewriter), Dim.of(0)
        rank = len(dims_of(op.result.type))
        for value in op.inputs:
            offsets = [offset if i == axis else Dim.of(0) for i in range(rank)]
            result = paste(value, result, offsets, rewriter)
            offset = offset + dims_of(value.type)[axis]
        rewriter.replace(op, [], [result])


class SplitLowering(RewritePattern):
    """`graph.split` → one copied slice for each result."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SplitOp, rewriter: PatternRewriter) -> None:
        """Cut the operand along `axis` at the sums of the piece sizes."""
        axis = op.axis.value.data
        rank = len(dims_of(op.input.type))
        sizes = _known(op, mixed_dims(op.sizes, op.sizes_value), "sizes")
        starts = accumulate(sizes[:-1], initial=Dim.of(0))
        pieces: list[SSAValue] = []
        for piece, start in zip(op.pieces, starts, strict=True):
            offsets = [start if i == axis else Dim.of(0) for i in range(rank)]
            block = cut(op.input, offsets, dims_of(piece.type), [1] * rank, rewriter)
            pieces.append(copied(block, rewriter))
        rewriter.replace(op, [], pieces)


class SliceLowering(RewritePattern):
    """
    `graph.slice` → `tensor.extract_slice`, copied where it is the kernel's result.

    With a negative step: a loop copies slices along that axis in reverse order or, where there are several
    such axes or the axis is the last one, elements are read at computed positions.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.SliceOp, rewriter: PatternRewriter) -> None:
        """Emit a plain slice for positive steps; else slice the other axes, and reverse the rest."""
        starts = _known(op, mixed_dims(op.starts, op.starts_value), "starts")
        _known(op, mixed_dims(op.limits, op.limits_value), "limits")
        steps = op.steps.get_values()
        type = tensor_of(op.result)
        if all(step > 0 for step in steps):
            block = cut(op.input, starts, dims_of(type), steps, rewriter)
            rewriter.replace(op, [], [copied(block, rewriter) if is_returned(op.result) else block])
            return
        # Axes with a negative step stay whole in the forward slice; the second step reads them in reverse.
        down = [step < 0 for step in steps]
        sizes = [
            before if back else after
            for before, after, back in zip(dims_of(op.input.type), dims_of(type), down, strict=True)
        ]
        firsts = [Dim.of(0) if back else start for start, back in zip(starts, down, strict=True)]
        forward = [1 if back else step for step, back in zip(steps, down, strict=True)]
        block = cut(op.input, firsts, sizes, forward, rewriter)
        begins = [extent(start, rewriter) for start in starts]
        if sum(down) == 1 and not down[-1] and is_returned(op.result):
            axis = down.index(True)
            rewriter.replace(
                op, [], [_reversed_layers(block, type, axis, begins[axis], steps[axis], rewriter)]
            )
            return

        def positions(loops: Sequence[SSAValue], _: Sequence[SSAValue]) -> list[SSAValue]:
            moves = [INDICES.multiply(i, INDICES.constant(k)) for i, k in zip(loops, steps, strict=True)]
            reversed_indices = [INDICES.add(begin, move) for begin, move in zip(begins, moves, strict=True)]
            return [
                at if back else loop for at, loop, back in zip(reversed_indices, loops, down, strict=True)
            ]

        rewriter.replace(op, [], [collected(type, block, [], positions, rewriter)])


def _reversed_layers(
    source: SSAValue, type: Tensor, axis: int, begin: SSAValue, step: int, rewriter: PatternRewriter
) -> SSAValue:
    """
    A tensor of a type whose slices along `axis` are those of a source from index `begin` down, by `step`.
    """
    distance = extent(Dim.of(-step), rewriter)

    def layer(index: SSAValue, carried: Sequence[SSAValue]) -> list[SSAValue]:
        moved = rewriter.insert(arith.MuliOp(index, distance)).result
        at = rewriter.insert(arith.SubiOp(begin, moved)).result
        found = copied(layer_of(source, {axis: at}, rewriter), rewriter)
        return [with_layer(found, carried[0], {axis: index}, rewriter)]

    (result,) = counted_loop(extent(dims_of(type)[axis], rewriter), [empty(type, rewriter)], layer, rewriter)
    assert isinstance(result.owner, scf.ForOp)
    result.owner.attributes[sched.PARALLEL] = UnitAttr()
    return result


def _known(op: GraphOp, dims: Sequence[Dim], what: str) -> Sequence[Dim]:
    """
    The dimensions of a shape parameter, required to be known.

    Raises: StepwellError `unsupported` where one depends on data.
    """
    if any(dim.is_unknown for dim in dims):
        raise StepwellError("unsupported", op, f"{op.name}: `{what}` depends on data")
    return dims


class InsertSliceLowering(RewritePattern):
    """`graph.insert_slice` → a copy of the operand with the update inserted."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.InsertSliceOp, rewriter: PatternRewriter) -> None:
        """Copy the operand and insert the update at `offsets`."""
        offsets = _known(op, mixed_dims(op.offsets, op.offsets_value), "offsets")
        rewriter.replace(op, [], [paste(op.update, copied(op.input, rewriter), offsets, rewriter)])


class ReverseLowering(RewritePattern):
    """`graph.reverse` → elements read at indices counted from the end of each reversed axis."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.ReverseOp, rewriter: PatternRewriter) -> None:
        """Read at `extent - 1 - index` along each of `axes`."""
        axes = op.axes.get_values()
        last = {axis: extent(dims_of(op.input.type)[axis] - 1, rewriter) for axis in axes}

        def positions(loops: Sequence[SSAValue], _: Sequence[SSAValue]) -> list[SSAValue]:
            return [INDICES.subtract(last[i], loop) if i in last else loop for i, loop in enumerate(loops)]

        rewriter.replace(op, [], [collected(tensor_of(op.result), op.input, [], positions, rewriter)])


class TileLowering(RewritePattern):
    """
    `graph.tile` → a broadcast along a new dimension before each one, or in place of a 1; pairs are joined.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.TileOp, rewriter: PatternRewriter) -> None:
        """Broadcast to [repeat, extent] for each axis, then join each pair of dimensions."""
        repeats = _known(op, mixed_dims(op.repeats, op.repeats_value), "repeats")
        dims = dims_of(op.input.type)
        groups = [[n] if r == 1 else [r] if n == 1 else [r, n] for r, n in zip(repeats, dims, strict=True)]
        ends = list(accumulate(len(group) for group in groups))
        rank = ends[-1] if ends else 0
        positions = [
            AffineExpr.constant(0) if n == 1 else AffineExpr.dimension(end - 1)
            for n, end in zip(dims, ends, strict=True)
        ]
        type = tensor_type(tensor_of(op.input).element_type, [dim for group in groups for dim in group])
        read = (op.input, AffineMap(rank, 0, tuple(positions)))
        write = (empty(type, rewriter), identity(rank))
        result = generic([read], write, [PARALLEL] * rank, lambda s: s[0], rewriter)
        rewriter.replace(op, [], [join_dims(result, groups, rewriter)])


class ReshapeLowering(RewritePattern):
    """A reshape inside a kernel → all dimensions joined into a flat one, which is then split: a view."""

    @op_type_rewrite_pattern
    def match_and_rewrite(
        self, op: graph.ReshapeOp | graph.ExpandDimsOp | graph.SqueezeOp, rewriter: PatternRewriter
    ) -> None:
        """Emit one `tensor.collapse_shape` and one `tensor.expand_shape`."""
        before, after = dims_of(op.input.type), dims_of(op.result.type)
        flat = join_dims(op.input, [before], rewriter)
        rewriter.replace(op, [], [split_dims(flat, [after], rewriter)])


PadPosition: TypeAlias = Callable[[SSAValue, SSAValue], SSAValue]


def _reflected(position: SSAValue, size: SSAValue) -> SSAValue:
    """
    The index of a position in a tensor mirrored at both ends, periodically; 0 for a tensor of one element.
    """
    last = INDICES.maximum(INDICES.subtract(size, INDICES.constant(1)), INDICES.constant(1))
    period = INDICES.multiply(last, INDICES.constant(2))
    inside = INDICES.modulo(position, period)
    return INDICES.clamped(INDICES.minimum(inside, INDICES.subtract(period, inside)), size)


PAD_POSITIONS: dict[str, PadPosition] = {
    "reflect": _reflected,
    "edge": INDICES.clamped,
    "wrap": INDICES.modulo,
}


class PadLowering(RewritePattern):
    """`graph.pad` → the tensor inserted into a filled one, or padding read at indices folded back into it."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: graph.PadOp, rewriter: PatternRewriter) -> None:
        """Crop by negative pads, then fill with a constant or by reflect, edge or wrap."""
        dims = dims_of(op.input.type)
        pads = _known(op, mixed_dims(op.pads, op.pads_value), "pads")
        before, after = pads[: len(dims)], pads[len(dims) :]
        cropped = self._cropped(op, before, after, rewriter)
        low = [pad.maximum(0) for pad in before]
        if op.mode.data == "constant":
            rewriter.replace(op, [], [paste(cropped, self._padding(op, rewriter), low, rewriter)])
            return
        high = [pad.maximum(0) for pad in after]
        rewriter.replace(op, [], [self._folded(op, cropped, low, high, rewriter)])

    def _folded(
        self,
        op: graph.PadOp,
        inner: SSAValue,
        low: Sequence[Dim],
        high: Sequence[Dim],
        rewriter: PatternRewriter,
    ) -> SSAValue:
        """
        The tensor with its padding, which is read at positions folded back into the tensor.

        The blocks before and after it along an axis are as wide as the result along later axes, so that none
        overlap; the folded position of each index along an axis is looked up in a table.
        """
        dims, sizes = dims_of(op.result.type), dims_of(inner.type)
        result = paste(inner, empty(tensor_of(op.result), rewriter), low, rewriter)
        folded = [axis for axis, size in enumerate(sizes) if not dims[axis].proves_equal(size)]
        # For each padded axis a block before the tensor and one after it.
        for axis in folded:
            for start, length in ((Dim.of(0), low[axis]), (low[axis] + sizes[axis], high[axis])):
                if length == 0:
                    continue
                shape = [*sizes[:axis], length, *dims[axis + 1 :]]
                tables: list[Read] = []
                for other in (other for other in folded if other >= axis):
                    first = (start if other == axis else Dim.of(0)) - low[other]
                    entries = self._position_table(op, shape[other], first, sizes[other], rewriter)
                    tables.append((entries, projection(len(dims), [other])))
                block = self._block(op, inner, shape, tables, rewriter)
                offsets = [*low[:axis], start, *[Dim.of(0)] * (len(dims) - axis - 1)]
                result = paste(block, result, offsets, rewriter)
        return result

    def _position_table(
        self, op: graph.PadOp, count: Dim, first: Dim, size: Dim, rewriter: PatternRewriter
    ) -> SSAValue:
        """
        A table of the folded source indices of `count` cells along an axis, the first of which is `first`.
        """
        fold, n, base = PAD_POSITIONS[op.mode.data], extent(size, rewriter), extent(first, rewriter)
        return index_table(count, lambda i: fold(INDICES.add(i, base), n), rewriter)

    def _block(
        self,
        op: graph.PadOp,
        inner: SSAValue,
        shape: Sequence[Dim],
        tables: Sequence[Read],
        rewriter: PatternRewriter,
    ) -> SSAValue:
        """A block of padding: elements read at table entries along the axes that have a table."""

        def positions(loops: Sequence[SSAValue], entries: Sequence[SSAValue]) -> list[SSAValue]:
            at = list(loops)
            for (_, along), entry in zip(tables, entries, strict=True):
                (axis,) = along.used_dims()
                at[axis] = index_of(entry)
            return at

        type = tensor_type(tensor_of(op.result).element_type, shape)
        return collected(type, inner, tables, positions, rewriter)

    def _cropped(
        self, op: graph.PadOp, before: Sequence[Dim], after: Sequence[Dim], rewriter: PatternRewriter
    ) -> SSAValue:
        """The operand without the cells that negative pads remove."""
        starts = [(-pad).maximum(0) for pad in before]
        ends = [(-pad).maximum(0) for pad in after]
        if all(pad == 0 for pad in (*starts, *ends)):
            return op.input
        dims = dims_of(op.input.type)
        sizes = [dim - low - high for dim, low, high in zip(dims, starts, ends, strict=True)]
        return cut(op.input, starts, sizes, [1] * len(dims), rewriter)

    def _padding(self, op: graph.PadOp, rewriter: PatternRewriter) -> SSAValue:
        """A tensor of the result's type filled with the padding value."""
        type = tensor_of(op.result)
        number = 0.0 if op.value is None else constant_number(op.value)
        if number is not None:
            return filled(type, number, rewriter)
        assert op.value is not None
        return elementwise(type, [op.value], lambda s: s[0], op, rewriter)
