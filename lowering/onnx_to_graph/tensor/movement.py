"""ONNX operators that move elements: permute, join, cut, pad, repeat → `graph`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.lowering.onnx_to_graph.run_time_numbers import Numbers, pad_at_run_time, slice_at_run_time
from stepwell.lowering.onnx_to_graph.run_time_shapes import RunTimeLowering
from stepwell.lowering.onnx_to_graph.shape_values import ShapeLowering, assume_equal
from stepwell.lowering.onnx_to_graph.support import (
    OnnxLowering,
    element_of,
    normalized_axis,
    rank_of,
    shape_of,
)
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


class TransposeLowering(OnnxLowering):
    """`Transpose` → `graph.transpose`; without `perm` all dimensions are reversed."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.TransposeOp, rewriter: PatternRewriter) -> None:
        """Normalize the permutation; by default it reverses the dimensions."""
        rank = rank_of(op.data, op)
        perm = op.integers("perm") if op.has("perm") else tuple(reversed(range(rank)))
        rewriter.replace(op, graph.TransposeOp(op.data, [normalized_axis(axis, rank, op) for axis in perm]))


class ConcatLowering(OnnxLowering):
    """`Concat` → `graph.concat`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ConcatOp, rewriter: PatternRewriter) -> None:
        """Check at run time that open dimensions of all inputs but the axis are equal."""
        shapes = [shape_of(value, op) for value in op.inputs]
        axis = normalized_axis(op.integer("axis") if op.has("axis") else 1, len(shapes[0]), op)
        for shape in shapes[1:]:
            for i, (first, dim) in enumerate(zip(shapes[0], shape, strict=False)):
                if i != axis:
                    assume_equal(op, first, dim, f"dimension {i} of all inputs must be equal", rewriter)
        rewriter.replace(op, graph.ConcatOp(op.inputs, axis))


class SplitLowering(ShapeLowering):
    """`Split` → `graph.split`, with explicit sizes of equal parts."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SplitOp, rewriter: PatternRewriter) -> None:
        """Determine the sizes, and check that they add up to the dimension."""
        dims = shape_of(op.input, op)
        axis = normalized_axis(op.integer("axis"), len(dims), op)
        sizes = self.sizes(op, "split", op.split, rewriter)
        if sizes is None:
            sizes = self._equal_parts(op, dims[axis])
        whole = sum(sizes, start=Dim.of(0))
        assume_equal(op, whole, dims[axis], f"the sizes must add up to dimension {axis}", rewriter)
        rewriter.replace(op, graph.SplitOp(op.input, axis, sizes))

    def _equal_parts(self, op: onnx.SplitOp, whole: Dim) -> list[Dim]:
        """The sizes of equal parts; with `num_outputs` the last one may be smaller."""
        count = len(op.outputs)
        if not op.has("num_outputs"):
            return [whole // count] * count  # the check of their sum requires an even division
        chunk = whole.ceildiv(op.integer("num_outputs"))
        return [(whole - chunk * i).minimum(chunk).maximum(0) for i in range(count)]


class SliceLowering(RunTimeLowering):
    """`Slice` → `graph.slice` with bounds for all axes, clamped as in Python."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SliceOp, rewriter: PatternRewriter) -> None:
        """Clamp known bounds for each axis, or slice at run time if a parameter is data."""
        dims = shape_of(op.data, op)
        given_values = (op.starts, op.ends, op.axes, op.steps)
        if any(self.is_data(op, value) for value in given_values if value is not None):
            self._slice_at_run_time(op, rewriter)
            return
        starts, ends = self.dims(op, "starts", op.starts), self.dims(op, "ends", op.ends)
        if starts is None or ends is None:
            raise StepwellError("invalid-model", op, "Slice needs starts and ends")
        axes = self.numbers(op, "axes", op.axes) or tuple(range(len(starts)))
        given = None if op.steps is None else self.numbers(op, "steps", op.steps)
        all_starts, all_limits, all_steps = [Dim.of(0)] * len(dims), list(dims), [1] * len(dims)
        for axis, start, end, step in zip(axes, starts, ends, given or [1] * len(axes), strict=True):
            axis = normalized_axis(axis, len(dims), op)
            clamp = _Clamp(op, dims[axis], step, rewriter)
            all_starts[axis], all_limits[axis], all_steps[axis] = clamp(start), clamp(end), step
        rewriter.replace(op, graph.SliceOp(op.data, all_starts, all_limits, all_steps))

    def _slice_at_run_time(self, op: onnx.SliceOp, rewriter: PatternRewriter) -> None:
        """The slice by bounds that are data."""
        assert op.starts is not None and op.ends is not None, "at opset 10 and later"
        numbers = Numbers(self, rewriter)
        starts, ends = numbers.of(op.starts), numbers.of(op.ends)
        count, rank = shape_of(starts.ssa, op)[0], rank_of(op.data, op)
        axes, touched = self.axes(op, op.axes, count.value, rank, numbers)
        steps = numbers.of([1] * count.value) if op.steps is None else numbers.of(op.steps)
        data = numbers.value(op.data)
        sliced = slice_at_run_time(data, starts, ends, axes, steps, touched, numbers)
        rewriter.replace(op, [], [sliced.ssa])


TO_THE_END = 10**8
"""Bounds from here on mean the end of a symbolic dimension, whatever its size."""


class _Clamp:
    """
    Normalizes a bound of a slice: counted from the front, and clamped to the dimension.

    If a symbol decides whether a bound is inside, a run-time check replaces clamping: a dimension whose bound
    is counted from the end is not empty, and a symbolic bound does not exceed a dimension that is a number.
    """

    def __init__(self, op: onnx.OnnxOp, size: Dim, step: int, rewriter: PatternRewriter):
        self._op, self._size, self._rewriter = op, size, rewriter
        self._low, self._high = (Dim.of(0), size) if step > 0 else (Dim.of(-1), size - 1)

    def __call__(self, bound: Dim) -> Dim:
        if bound.is_static and abs(bound.value) >= 2**31 - 1:  # how exporters write "to the end"
            return self._high if bound.value > 0 else self._low
        if bound.is_static and bound.value >= TO_THE_END and not self._size.is_static:
            self._assume(self._size.maximum(bound), bound, "the dimension is larger than the slice expects")
            return self._high
        position = bound
        if (-bound - 1).is_nonnegative:
            position = self._size + bound
        elif not bound.is_nonnegative:  # counted from the end when it is below 0
            position = bound + self._size * (-bound).maximum(Dim.of(0)).minimum(Dim.of(1))
            return position.maximum(self._low).minimum(self._high)
        if (position - self._low).is_nonnegative and (self._high - position).is_nonnegative:
            return position
        if bound in (Dim.of(1), Dim.of(-1)) and not self._size.is_static:
            self._assume(self._size.maximum(1), self._size, "the dimension must not be empty")
            return position
        if self._size.is_static and not position.is_static:
            self._assume(position.maximum(self._size), self._size, "the slice must lie inside")
            return position
        return position.maximum(self._low).minimum(self._high)

    def _assume(self, lhs: Dim, rhs: Dim, what: str) -> None:
        """Insert a run-time check."""
        assume_equal(self._op, lhs, rhs, what, self._rewriter)


class PadLowering(RunTimeLowering):
    """`Pad` → `graph.pad` with pads for all axes."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.PadOp, rewriter: PatternRewriter) -> None:
        """Expand known pads to all axes, or pad at run time if pads or axes are data."""
        rank = rank_of(op.data, op)
        if any(self.is_data(op, value) for value in (op.pads, op.axes) if value is not None):
            self._pad_at_run_time(op, rewriter)
            return
        given = self.dims(op, "paddings" if op.has("paddings") else "pads", op.pads)
        if given is None:
            raise StepwellError("invalid-model", op, "Pad needs pads")
        axes = self.numbers(op, "axes", op.axes) if op.axes is not None else tuple(range(rank))
        pads = [Dim.of(0)] * (2 * rank)
        for i, axis in enumerate(axes or ()):
            axis = normalized_axis(axis, rank, op)
            pads[axis], pads[axis + rank] = given[i], given[i + len(given) // 2]
        mode = op.string("mode")
        value = self._value(op, rewriter) if mode == "constant" else None
        rewriter.replace(op, graph.PadOp(op.data, pads, mode, value))

    def _pad_at_run_time(self, op: onnx.PadOp, rewriter: PatternRewriter) -> None:
        """Padding by amounts that are data."""
        assert op.pads is not None
        numbers = Numbers(self, rewriter)
        pads, mode = numbers.of(op.pads), op.string("mode")
        half = shape_of(pads.ssa, op)[0].value // 2
        axes, touched = self.axes(op, op.axes, half, rank_of(op.data, op), numbers)
        value = self._value(op, rewriter) if mode == "constant" else None
        padded = pad_at_run_time(numbers.value(op.data), pads, axes, touched, mode, value, numbers)
        rewriter.replace(op, [], [padded.ssa])

    def _value(self, op: onnx.PadOp, rewriter: PatternRewriter) -> SSAValue | None:
        """The padding value, from input or attribute; None for 0."""
        if op.constant_value is not None:
            return as_scalar(op.constant_value, op, rewriter)
        if op.has("value") and op.floating("value") != 0:
            return self.scalar(op.floating("value"), element_of(op.data), rewriter)
        return None


def as_scalar(value: SSAValue, op: onnx.OnnxOp, rewriter: PatternRewriter) -> SSAValue:
    """A scalar input as rank 0; models also have it as one element with more dimensions."""
    if rank_of(value, op) == 0:
        return value
    return rewriter.insert(graph.ReshapeOp(value, [])).result


class CenterCropPadLowering(ShapeLowering):
    """`CenterCropPad` → `graph.slice` of dimensions that are too long, `graph.pad` of those too short."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CenterCropPadOp, rewriter: PatternRewriter) -> None:
        """Compute for each axis the centred crop and the centred padding."""
        dims = shape_of(op.input_data, op)
        given = op.integers("axes") if op.has("axes") else tuple(range(len(dims)))
        axes = [normalized_axis(axis, len(dims), op) for axis in given]
        sizes = self.sizes(op, "shape", op.shape, rewriter) or ()
        if len(sizes) != len(axes):
            raise StepwellError(
                "invalid-model", op, f"CenterCropPad: {len(axes)} axes, and a shape of {len(sizes)} numbers"
            )
        wanted = dict(zip(axes, sizes, strict=True))
        starts, limits = [Dim.of(0)] * len(dims), list(dims)
        pads = [Dim.of(0)] * (2 * len(dims))
        for axis, size in wanted.items():
            cut = (dims[axis] - size).maximum(0)
            starts[axis], limits[axis] = cut // 2, cut // 2 + dims[axis].minimum(size)
            added = (size - dims[axis]).maximum(0)
            pads[axis], pads[axis + len(dims)] = added // 2, added - added // 2
        cropped = rewriter.insert(graph.SliceOp(op.input_data, starts, limits, [1] * len(dims))).result
        rewriter.replace(op, graph.PadOp(cropped, pads))


class TileLowering(ShapeLowering):
    """`Tile` → `graph.tile`; opset 1 repeats along one axis."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.TileOp, rewriter: PatternRewriter) -> None:
        """Read the repeats; those of opset 1 are along a single axis."""
        rank = rank_of(op.input, op)
        if op.tiles is None:
            repeats = self.sizes(op, "repeats", op.repeats, rewriter) or ()
        else:
            tiles = self.dims(op, "tiles", op.tiles) or (Dim.of(1),)
            axis = normalized_axis((self.numbers(op, "axis", op.axis) or (0,))[0], rank, op)
            repeats = [tiles[0] if i == axis else Dim.of(1) for i in range(rank)]
        rewriter.replace(op, graph.TileOp(op.input, repeats))


class DepthToSpaceLowering(OnnxLowering):
    """`DepthToSpace` → reshape, transpose, reshape; DCR has the block before the channels, CRD after them."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.DepthToSpaceOp, rewriter: PatternRewriter) -> None:
        """Split the channels into blocks, move these next to height and width, and merge."""
        n, c, h, w = _nchw_dims(op.input, op)
        b = op.integer("blocksize")
        depth = c // (b * b)
        if op.has("mode") and op.string("mode") == "CRD":
            split, perm = [n, depth, b, b, h, w], [0, 1, 4, 2, 5, 3]
        else:
            split, perm = [n, b, b, depth, h, w], [0, 3, 4, 1, 5, 2]
        blocks = rewriter.insert(graph.ReshapeOp(op.input, split)).result
        moved = rewriter.insert(graph.TransposeOp(blocks, perm)).result
        rewriter.replace(op, graph.ReshapeOp(moved, [n, depth, h * b, w * b]))


class SpaceToDepthLowering(OnnxLowering):
    """`SpaceToDepth` → reshape, transpose, reshape; DCR has the block before the channels, CRD after them."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SpaceToDepthOp, rewriter: PatternRewriter) -> None:
        """Split height and width into blocks, move these next to the channels, and merge."""
        n, c, h, w = _nchw_dims(op.input, op)
        b = op.integer("blocksize")
        channels_first = op.has("mode") and op.string("mode") == "CRD"
        for size in (h, w):
            assume_equal(op, size // b * b, size, f"height and width must be multiples of {b}", rewriter)
        blocks = rewriter.insert(graph.ReshapeOp(op.input, [n, c, h // b, b, w // b, b])).result
        moved = rewriter.insert(
            graph.TransposeOp(blocks, [0, 1, 3, 5, 2, 4] if channels_first else [0, 3, 5, 1, 2, 4])
        ).result
        rewriter.replace(op, graph.ReshapeOp(moved, [n, c * b * b, h // b, w // b]))


def _nchw_dims(value: SSAValue, op: onnx.OnnxOp) -> Sequence[Dim]:
    """The four dimensions of a batch of images. Raises: StepwellError `invalid-model` for another rank."""
    if len(dims := shape_of(value, op)) != 4:
        raise StepwellError(
            "invalid-model", op, f"{op.op_type} takes a tensor of rank 4, found rank {len(dims)}"
        )
    return dims
