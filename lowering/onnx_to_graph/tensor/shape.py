"""ONNX operators about shapes: views, broadcasting, and tensors computed from dimensions → `graph`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

import numpy as np
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.advice import on_open_size
from stepwell.dialects.constants import Constant, array_of
from stepwell.dialects.graph.relations import broadcast
from stepwell.dialects.onnx.types import SparseAttr
from stepwell.dialects.types import WeightAttr
from stepwell.lowering.onnx_to_graph.run_time_axes import squeeze_at_run_time, unsqueeze_at_run_time
from stepwell.lowering.onnx_to_graph.run_time_numbers import Numbers, broadcast_at_run_time
from stepwell.lowering.onnx_to_graph.run_time_shapes import RunTimeLowering
from stepwell.lowering.onnx_to_graph.shape_values import ShapeLowering, assume_equal, defined_sizes, extents
from stepwell.lowering.onnx_to_graph.support import (
    OnnxLowering,
    normalized_axes,
    normalized_axis,
    rank_of,
    shape_of,
)
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array


class ConstantLowering(OnnxLowering):
    """`Constant` in any of its forms → `graph.constant`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ConstantOp, rewriter: PatternRewriter) -> None:
        """Convert the attribute that has the value; strings are left to the host's pattern."""
        value: Attribute | None = op.value
        if isinstance(value, WeightAttr | DenseIntOrFPElementsAttr):
            rewriter.replace(op, graph.ConstantOp(cast(Constant, value)))
        elif isinstance(op.sparse_value, SparseAttr):
            self._replace(op, self._dense(op.sparse_value), rewriter)
        elif op.has("value_float"):
            self._replace(op, np.array(op.floating("value_float"), np.float32), rewriter)
        elif op.has("value_floats"):
            self._replace(op, np.array(op.floats("value_floats"), np.float32), rewriter)
        elif op.has("value_int"):
            self._replace(op, np.array(op.integer("value_int"), np.int64), rewriter)
        elif op.has("value_ints"):
            self._replace(op, np.array(op.integers("value_ints"), np.int64), rewriter)

    def _replace(self, op: onnx.ConstantOp, array: Array, rewriter: PatternRewriter) -> None:
        """Replace the op by a constant array."""
        rewriter.replace(op, [], [self.constant(array, rewriter)])

    def _dense(self, sparse: SparseAttr) -> Array:
        """The dense array of a sparse constant."""
        values, indices = array_of(sparse.values, self.weights), array_of(sparse.indices, self.weights)
        dense = np.zeros(sparse.type.get_shape(), values.dtype)
        if indices.ndim == 1:
            dense.reshape(-1)[indices.astype(np.int64)] = values
        else:
            dense[tuple(indices.astype(np.int64).T)] = values
        return dense


class ReshapeLowering(ShapeLowering):
    """`Reshape` → `graph.reshape`, 0 and -1 resolved."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ReshapeOp, rewriter: PatternRewriter) -> None:
        """Resolve 0 and -1 now or at run time, and check that the number of elements is the same."""
        wanted = self.sizes(op, "shape", op.shape, rewriter, signed=True)
        if wanted is None:
            raise StepwellError("invalid-model", op, "Reshape needs a shape")
        keeps_zero = op.has("allowzero") and op.integer("allowzero") == 1
        dims = shape_of(op.data, op)
        if all(dim.is_nonnegative or dim == -1 for dim in wanted):
            shape = resolved_shape(op, dims, wanted, keeps_zero)
        else:
            shape = shape_at_run_time(op, dims, wanted, keeps_zero, rewriter)
        before, after = prod(dims, start=Dim.of(1)), prod(shape, start=Dim.of(1))
        assume_equal(op, before, after, "both shapes must have as many elements", rewriter)
        rewriter.replace(op, graph.ReshapeOp(op.data, shape))


def resolved_shape(
    op: onnx.OnnxOp, dims: Sequence[Dim], wanted: Sequence[Dim], keeps_zero: bool
) -> list[Dim]:
    """
    The shape requested by a reshape: 0 means the operand's dimension at that position, -1 the remaining size.

    Raises: StepwellError `invalid-model` for a 0 without dimension to copy, or an impossible -1.
    """
    shape = list(wanted)
    for i, dim in enumerate(shape):
        if dim == 0 and not keeps_zero:
            if i >= len(dims):
                raise StepwellError("invalid-model", op, f"{op.op_type}: no dimension {i} that 0 could copy")
            shape[i] = dims[i]
    if Dim.of(-1) not in shape:
        return shape
    if shape.count(Dim.of(-1)) > 1:
        raise StepwellError("invalid-model", op, f"{op.op_type}: at most one dimension may be -1")
    at = shape.index(Dim.of(-1))
    total, rest = (
        prod(dims, start=Dim.of(1)),
        prod((d for i, d in enumerate(shape) if i != at), start=Dim.of(1)),
    )
    if rest == 0:
        raise StepwellError("invalid-model", op, f"{op.op_type}: -1 beside a dimension of size 0")
    shape[at] = total // rest
    return shape


def shape_at_run_time(
    op: onnx.OnnxOp, dims: Sequence[Dim], wanted: Sequence[Dim], keeps_zero: bool, rewriter: PatternRewriter
) -> list[Dim]:
    """
    As `resolved_shape`, if it depends on data which dimensions are 0 or -1: arithmetic on symbols selects
    them.

    Each of `wanted` is a number or the difference of two symbols, one of which is 0.
    """
    known: list[Dim] = []
    for i, dim in enumerate(wanted):
        if dim.is_nonnegative and not dim.is_static:
            known.append(dim)
            continue
        above = dim.maximum(0)
        is_zero = 1 - dim.maximum(-dim).minimum(1)
        known.append(above if keeps_zero or i >= len(dims) else above + is_zero * dims[i])
        if not dim.is_static:
            assume_equal(op, dim.maximum(-1), dim, f"dimension {i} must be at least -1", rewriter)
    parts = defined_sizes(known, rewriter)
    total = prod(dims, start=Dim.of(1))
    may_be_open = {Dim.of(-1)} if Dim.of(-1) in wanted else {d for d in wanted if not d.is_nonnegative}
    shape: list[Dim] = []
    for i, dim in enumerate(wanted):
        if dim not in may_be_open:
            shape.append(parts[i])
            continue
        rest = prod((part for j, part in enumerate(parts) if j != i), start=Dim.of(1))
        is_open = (-dim).maximum(0).minimum(1)
        shape.append(parts[i] + is_open * (total // rest.maximum(1)))
    return defined_sizes(shape, rewriter)


class FlattenLowering(OnnxLowering):
    """`Flatten` → `graph.reshape` to two dimensions."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.FlattenOp, rewriter: PatternRewriter) -> None:
        """Merge the dimensions before the axis, and those from it on."""
        dims = shape_of(op.input, op)
        axis = op.integer("axis")
        axis = axis if axis == len(dims) else normalized_axis(axis, max(len(dims), 1), op)
        shape = [prod(dims[:axis], start=Dim.of(1)), prod(dims[axis:], start=Dim.of(1))]
        rewriter.replace(op, graph.ReshapeOp(op.input, shape))


class UnsqueezeLowering(RunTimeLowering):
    """`Unsqueeze` → `graph.expand_dims`; the axes are those of the result."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.UnsqueezeOp, rewriter: PatternRewriter) -> None:
        """Insert dimensions at known axes, or at axes that are data."""
        if op.axes is not None and self.is_data(op, op.axes):
            numbers = Numbers(self, rewriter)
            result = unsqueeze_at_run_time(numbers.value(op.data), numbers.of(op.axes), numbers).ssa
            rewriter.replace(op, [], [result])
            return
        axes = self.numbers(op, "axes", op.axes)
        if axes is None:
            raise StepwellError("invalid-model", op, "Unsqueeze needs axes")
        rank = rank_of(op.data, op) + len(axes)
        rewriter.replace(op, graph.ExpandDimsOp(op.data, normalized_axes(axes, rank, op)))


class SqueezeLowering(RunTimeLowering):
    """`Squeeze` → `graph.squeeze`; without axes every dimension of size 1 is dropped."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SqueezeOp, rewriter: PatternRewriter) -> None:
        """Drop dimensions at known axes, or at axes that are data, checked to be 1."""
        dims = shape_of(op.data, op)
        if op.axes is not None and self.is_data(op, op.axes):
            numbers = Numbers(self, rewriter)
            data, axes = numbers.value(op.data), numbers.of(op.axes)
            result = squeeze_at_run_time(data, axes, dims, numbers).ssa
            before, after = (prod(shape_of(v, op), start=Dim.of(1)) for v in (op.data, result))
            assume_equal(op, before, after, "the dimensions that go must be 1", rewriter)
            rewriter.replace(op, [], [result])
            return
        axes = self.numbers(op, "axes", op.axes)
        if axes is None:
            if symbolic := [str(dim) for dim in dims if not dim.is_static]:
                raise StepwellError(
                    "unsupported-dynamic-rank",
                    op,
                    f"Squeeze without axes: dimension {', '.join(symbolic)} may be 1 or not",
                    help=on_open_size(op),
                )
            axes = [i for i, dim in enumerate(dims) if dim == 1]
        normalized = normalized_axes(axes, len(dims), op)
        for axis in normalized:
            assume_equal(op, dims[axis], Dim.of(1), f"dimension {axis} must be 1", rewriter)
        rewriter.replace(op, graph.SqueezeOp(op.data, normalized))


class ExpandLowering(ShapeLowering):
    """`Expand` → `graph.broadcast_to` the shape that both operands broadcast to."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ExpandOp, rewriter: PatternRewriter) -> None:
        """Broadcast both shapes, with run-time checks of open dimensions."""
        wanted = self.sizes(op, "shape", op.shape, rewriter) or ()
        dims = shape_of(op.input, op)
        shape = broadcast([dims, wanted])
        rank = len(shape)
        padded = [(Dim.of(1),) * (rank - len(d)) + tuple(d) for d in (dims, wanted)]
        for axis, (dim, size) in enumerate(zip(*padded, strict=True)):
            if dim == 1 or size == 1 or dim.proves_equal(size):
                continue
            if shape[axis].is_unknown:
                shape = (*shape[:axis], _joined(dim, size, rewriter), *shape[axis + 1 :])
            for side in (dim, size):
                if not side.proves_equal(shape[axis]):
                    # A side of 1 is compared with itself; for other sides, the message has both sizes.
                    is_other = (side - 1).maximum(1 - side).minimum(1)
                    fits = side + is_other * (shape[axis] - side)
                    assume_equal(op, side, fits, _expansion(op, axis, rank), rewriter)
        stretched = broadcast_at_run_time(op.input, shape, Numbers(self, rewriter))
        rewriter.replace(op, graph.BroadcastToOp(stretched, shape))


def _expansion(op: onnx.ExpandOp, axis: int, rank: int) -> str:
    """The message about two sizes that do not broadcast in a dimension of the result."""
    names = [f" {value.name_hint}" if value.name_hint else "" for value in (op.input, op.shape)]
    return (
        f"sizes of the input{names[0]} and in the shape{names[1]} must be equal, or one of them 1, "
        f"in dimension {axis} of {rank}"
    )


def _joined(a: Dim, b: Dim, rewriter: PatternRewriter) -> Dim:
    """The size that two dimensions broadcast to: the second if the first is 1, else the first."""
    is_one = (1 - (a - 1).maximum(1 - a)).maximum(0)
    return defined_sizes([is_one * b + (1 - is_one) * a], rewriter)[0]


class ShapeOfLowering(OnnxLowering):
    """`Shape` → the dimensions as data, without a use of the tensor if all are known expressions."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ShapeOp, rewriter: PatternRewriter) -> None:
        """Emit the dimensions from `start` to `end`; a `graph.shape_of` only if one is unknown."""
        dims = shape_of(op.data, op)
        start, end, _ = slice(
            op.integer("start") if op.has("start") else 0, op.integer("end") if op.has("end") else None
        ).indices(len(dims))
        end = max(start, end)
        if any(dim.is_unknown for dim in dims[start:end]):
            rewriter.replace(op, graph.ShapeOfOp(op.data, start, end))
        else:
            rewriter.replace(op, [], [extents(dims[start:end], self, rewriter)])


class SizeLowering(OnnxLowering):
    """`Size` → the product of all dimensions."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SizeOp, rewriter: PatternRewriter) -> None:
        """Emit the number of elements, as a constant or as an expression."""
        size = prod(shape_of(op.data, op), start=Dim.of(1))
        if size.is_static:
            rewriter.replace(op, [], [self.constant(np.array(size.value), rewriter)])
        else:
            rewriter.replace(op, graph.SqueezeOp(extents([size], self, rewriter), [0]))


class ConstantOfShapeLowering(ShapeLowering):
    """`ConstantOfShape` → `graph.full`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ConstantOfShapeOp, rewriter: PatternRewriter) -> None:
        """Fill a tensor with the value, 0 in f32 by default."""
        value = np.zeros(1, np.float32) if op.value is None else array_of(op.value, self.weights)
        fill = self.constant(value.reshape(()), rewriter)
        rewriter.replace(op, graph.FullOp(fill, self.sizes(op, "shape", op.input, rewriter) or ()))
