"""ONNX reductions, positions of extrema, and softmax variants → `graph`."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.graph.relations import is_bool
from stepwell.lowering.onnx_to_graph.run_time_axes import reduce_at_run_time
from stepwell.lowering.onnx_to_graph.run_time_numbers import Numbers
from stepwell.lowering.onnx_to_graph.run_time_shapes import RunTimeLowering
from stepwell.lowering.onnx_to_graph.support import (
    OnnxLowering,
    element_of,
    emit,
    normalized_axes,
    normalized_axis,
    rank_of,
    shape_of,
)
from stepwell.runtime.dims import Dim

Reduction: TypeAlias = (
    onnx.ReduceL1Op
    | onnx.ReduceL2Op
    | onnx.ReduceLogSumOp
    | onnx.ReduceLogSumExpOp
    | onnx.ReduceMaxOp
    | onnx.ReduceMeanOp
    | onnx.ReduceMinOp
    | onnx.ReduceProdOp
    | onnx.ReduceSumOp
    | onnx.ReduceSumSquareOp
)

KINDS: Mapping[type[onnx.OnnxOp], str] = {
    onnx.ReduceL1Op: "l1",
    onnx.ReduceL2Op: "l2",
    onnx.ReduceLogSumOp: "sum",
    onnx.ReduceLogSumExpOp: "log_sum_exp",
    onnx.ReduceMaxOp: "max",
    onnx.ReduceMeanOp: "mean",
    onnx.ReduceMinOp: "min",
    onnx.ReduceProdOp: "prod",
    onnx.ReduceSumOp: "sum",
    onnx.ReduceSumSquareOp: "sum_square",
}


class ReduceLowering(RunTimeLowering):
    """`Reduce…` → `graph.reduce`; a maximum of truth values is their `or`; `ReduceLogSum` adds a `log`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: Reduction, rewriter: PatternRewriter) -> None:
        """
        Reduce over known axes, or over axes that are data; `ReduceLogSum` takes the logarithm afterwards.
        """
        kind = KINDS[type(op)]
        if is_bool(element_of(op.data)):
            kind = {"max": "or", "min": "and"}.get(kind, kind)
        keep_dims = bool(op.integer("keepdims"))
        if op.axes is not None and self.is_data(op, op.axes) and shape_of(op.axes, op)[0] != 0:
            numbers = Numbers(self, rewriter)
            data, axes = numbers.value(op.data), numbers.of(op.axes)
            result = reduce_at_run_time(data, axes, kind, keep_dims, numbers).ssa
        else:
            result = emit(graph.ReduceOp(op.data, kind, self._axes(op), keep_dims=keep_dims), rewriter)
        if isinstance(op, onnx.ReduceLogSumOp):
            result = emit(graph.LogOp(result), rewriter)
        rewriter.replace(op, [], [result])

    def _axes(self, op: Reduction) -> list[int]:
        """The axes, from attribute or input; without any all axes, unless `noop_with_empty_axes` is set."""
        rank = rank_of(op.data, op)
        if op.axes is not None:
            axes = self.numbers(op, "axes", op.axes) if not self.is_data(op, op.axes) else ()
        else:
            axes = op.integers("axes") if op.has("axes") else ()
        if not axes:
            noop = op.has("noop_with_empty_axes") and op.integer("noop_with_empty_axes")
            return [] if noop else list(range(rank))
        return normalized_axes(axes, rank, op)


class ArgReduceLowering(OnnxLowering):
    """`ArgMax`, `ArgMin` → `graph.argmax`, `graph.argmin`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.ArgMaxOp | onnx.ArgMinOp, rewriter: PatternRewriter) -> None:
        """Normalize the axis; equal extrema are resolved by `select_last_index`."""
        target = graph.ArgmaxOp if isinstance(op, onnx.ArgMaxOp) else graph.ArgminOp
        axis = normalized_axis(op.integer("axis"), rank_of(op.data, op), op)
        last = op.has("select_last_index") and bool(op.integer("select_last_index"))
        keep_dims = bool(op.integer("keepdims"))
        rewriter.replace(op, target(op.data, axis, keep_dims=keep_dims, select_last=last))


def _as_rows(op: onnx.OnnxOp, x: SSAValue, rewriter: PatternRewriter) -> tuple[SSAValue, int]:
    """
    A tensor and the axis along which `Softmax`, `LogSoftmax` or `Hardmax` is computed.

    Below opset 13 the tensor is a matrix: the dimensions before `axis`, and those from it on, are merged.
    """
    dims = shape_of(x, op)
    axis = normalized_axis(op.integer("axis"), len(dims), op) if dims else 0
    if onnx.opset_of(op) >= 13 or axis == len(dims) - 1:
        return x, axis
    shape = [prod(dims[:axis], start=Dim.of(1)), prod(dims[axis:], start=Dim.of(1))]
    return emit(graph.ReshapeOp(x, shape), rewriter), 1


class SoftmaxLowering(OnnxLowering):
    """`Softmax`, `LogSoftmax` → the op of that name; below opset 13 between reshapes to a matrix and back."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.SoftmaxOp | onnx.LogSoftmaxOp, rewriter: PatternRewriter) -> None:
        """Compute along the axis of the (possibly merged) matrix, and restore the shape."""
        rows, axis = _as_rows(op, op.input, rewriter)
        target = graph.SoftmaxOp if isinstance(op, onnx.SoftmaxOp) else graph.LogSoftmaxOp
        result = emit(target(rows, axis), rewriter)
        rewriter.replace(op, [], [_reshaped(result, op.input, op, rewriter)])


class HardmaxLowering(OnnxLowering):
    """`Hardmax` → 1 where the index along the axis is that of the first maximum, else 0."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.HardmaxOp, rewriter: PatternRewriter) -> None:
        """Compare the indices along the axis with the first argmax, and cast to the element type."""
        rows, axis = _as_rows(op, op.input, rewriter)
        best = emit(graph.ArgmaxOp(rows, axis, keep_dims=True), rewriter)
        index = emit(graph.IotaOp(shape_of(rows, op), axis, i64), rewriter)
        hot = emit(graph.CastOp(emit(graph.EqualOp(index, best), rewriter), element_of(rows)), rewriter)
        rewriter.replace(op, [], [_reshaped(hot, op.input, op, rewriter)])


def _reshaped(value: SSAValue, like: SSAValue, op: onnx.OnnxOp, rewriter: PatternRewriter) -> SSAValue:
    """A value in the shape of another."""
    shape = shape_of(like, op)
    return value if shape_of(value, op) == shape else emit(graph.ReshapeOp(value, shape), rewriter)
