"""ONNX normalizations → `graph`."""

from __future__ import annotations

from math import prod

from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.onnx.training import is_training
from stepwell.lowering.onnx_to_graph.broadcasting import conforming
from stepwell.lowering.onnx_to_graph.shape_values import assume_equal, renamed
from stepwell.lowering.onnx_to_graph.support import (
    OnnxLowering,
    element_of,
    element_type,
    emit,
    normalized_axes,
    normalized_axis,
    rank_of,
    shape_of,
)
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError


class BatchNormalizationLowering(OnnxLowering):
    """
    `BatchNormalization` → `graph.batch_norm`, in training with the statistics of the batch.

    Below opset 9, `spatial = 0` has statistics for each element of a sample: samples are reshaped to vectors.
    Training below opset 14 is refused.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.BatchNormalizationOp, rewriter: PatternRewriter) -> None:
        """Choose inference or training; training below opset 14 is unsupported."""
        if not is_training(op):
            self._infer(op, rewriter)
        elif onnx.opset_of(op) >= 14:
            self._train(op, rewriter)
        else:
            raise StepwellError(
                "unsupported",
                op,
                "BatchNormalization in training mode below opset 14",
                help="export the model for inference, or at a later opset",
            )

    def _train(self, op: onnx.BatchNormalizationOp, rewriter: PatternRewriter) -> None:
        """
        Normalize by the batch's statistics; running statistics are momentum · given + (1 - momentum) · batch.
        """
        given_mean, given_variance, scale, bias = _of_channels(op, shape_of(op.X, op)[1], rewriter)
        # Statistics of the batch, per channel
        element, axes = element_of(op.input_mean), [i for i in range(rank_of(op.X, op)) if i != 1]
        x = _as_element(op.X, element, rewriter)
        centre = emit(graph.ReduceOp(x, "mean", axes, keep_dims=True), rewriter)
        centred = emit(graph.SubtractOp(x, centre), rewriter)
        mean = emit(graph.ReduceOp(x, "mean", axes), rewriter)
        square = emit(graph.MultiplyOp(centred, centred), rewriter)
        variance = emit(graph.ReduceOp(square, "mean", axes), rewriter)
        # Running statistics
        momentum = op.floating("momentum")
        old, new = (self.scalar(number, element, rewriter) for number in (momentum, 1 - momentum))

        def running(given: SSAValue, batch: SSAValue) -> SSAValue:
            kept, added = (emit(graph.MultiplyOp(a, b), rewriter) for a, b in ((given, old), (batch, new)))
            return emit(graph.AddOp(kept, added), rewriter)

        scale, bias = (_as_element(vector, element, rewriter) for vector in (scale, bias))
        eps = op.floating("epsilon")
        results = [emit(graph.BatchNormOp(op.X, mean, variance, scale, bias, eps=eps), rewriter)]
        if op.running_mean is not None:
            results.append(running(given_mean, mean))
        if op.running_var is not None:
            results.append(running(given_variance, variance))
        rewriter.replace(op, [], results)

    def _infer(self, op: onnx.BatchNormalizationOp, rewriter: PatternRewriter) -> None:
        """Normalize by the given statistics, per channel, or per element with `spatial = 0`."""
        element = element_of(op.input_mean)
        x, dims = op.X, shape_of(op.X, op)
        axis = min(1, len(dims) - 1)
        by_element = op.has("spatial") and not op.integer("spatial")
        vectors = [op.input_mean, op.input_var, op.scale, op.B]
        vectors = vectors if by_element else _of_channels(op, dims[axis], rewriter)
        vectors = [_as_element(vector, element, rewriter) for vector in vectors]
        if by_element:
            size = prod(dims[1:], start=Dim.of(1))
            x = emit(graph.ReshapeOp(x, [dims[0], size]), rewriter)
            vectors = [emit(graph.ReshapeOp(vector, [size]), rewriter) for vector in vectors]
        x = _with_channels(op, x, axis, vectors[0], rewriter)
        result = emit(graph.BatchNormOp(x, *vectors, eps=op.floating("epsilon"), axis=axis), rewriter)
        result = result if x is op.X else emit(graph.ReshapeOp(result, dims), rewriter)
        rewriter.replace(op, [], [result])


def _of_channels(op: onnx.BatchNormalizationOp, channels: Dim, rewriter: PatternRewriter) -> list[SSAValue]:
    """Mean, variance, scale and bias, as vectors with an element per channel of the input."""
    what = "channels of input and of its statistics"
    vectors = (op.input_mean, op.input_var, op.scale, op.B)
    return [renamed(op, vector, [channels], what, rewriter) for vector in vectors]


def _with_channels(
    op: onnx.OnnxOp, x: SSAValue, axis: int, vector: SSAValue, rewriter: PatternRewriter
) -> SSAValue:
    """The input with as many channels as there are statistics, checked at run time unless proved."""
    dims, (channels,) = list(shape_of(x, op)), shape_of(vector, op)
    if dims[axis] == channels or dims[axis].is_unknown or not channels.is_static:
        return x
    assume_equal(op, dims[axis], channels, "channels of input and statistics must be equal", rewriter)
    dims[axis] = channels
    return emit(graph.ReshapeOp(x, dims), rewriter)


def _as_element(value: SSAValue, element: Attribute, rewriter: PatternRewriter) -> SSAValue:
    """A value in an element type."""
    return value if element_of(value) == element else emit(graph.CastOp(value, element), rewriter)


class LayerNormalizationLowering(OnnxLowering):
    """`LayerNormalization` → `graph.layer_norm`; the statistics are results only if the model uses them."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.LayerNormalizationOp, rewriter: PatternRewriter) -> None:
        """Infer the sizes of scale and bias, and return the statistics that the model uses."""
        vectors = [op.Scale, *([] if op.B is None else [op.B])]
        x, scale, *bias = conforming(op, [op.X, *vectors], rewriter)
        norm = rewriter.insert(
            graph.LayerNormOp(
                x,
                scale,
                *bias,
                axis=normalized_axis(op.integer("axis"), rank_of(op.X, op), op),
                eps=op.floating("epsilon"),
                compute_type=element_type(op.integer("stash_type"), op),
                statistics=op.Mean is not None or op.InvStdDev is not None,
            )
        )
        given = ((op.Y, norm.result), (op.Mean, norm.mean), (op.InvStdDev, norm.inv_std))
        rewriter.replace(op, [], [value for wanted, value in given if wanted is not None])


class RmsNormalizationLowering(OnnxLowering):
    """`RMSNormalization` → `graph.rms_norm`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.RMSNormalizationOp, rewriter: PatternRewriter) -> None:
        """Infer the size of the scale, and compute in `stash_type`."""
        axis = normalized_axis(op.integer("axis"), rank_of(op.X, op), op)
        compute_type = element_type(op.integer("stash_type"), op)
        eps = op.floating("epsilon")
        x, scale = conforming(op, [op.X, op.scale], rewriter)
        rewriter.replace(op, graph.RmsNormOp(x, scale, axis=axis, eps=eps, compute_type=compute_type))


class InstanceNormalizationLowering(OnnxLowering):
    """`InstanceNormalization` → `graph.instance_norm`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.InstanceNormalizationOp, rewriter: PatternRewriter) -> None:
        """Copy the epsilon."""
        rewriter.replace(op, graph.InstanceNormOp(op.input, op.scale, op.B, eps=op.floating("epsilon")))


class GroupNormalizationLowering(OnnxLowering):
    """
    `GroupNormalization` → `graph.group_norm`; below opset 21 scale and bias are per group, and are repeated.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.GroupNormalizationOp, rewriter: PatternRewriter) -> None:
        """Repeat scale and bias per channel below opset 21."""
        groups, scale, bias = op.integer("num_groups"), op.scale, op.bias
        channels = shape_of(op.X, op)[1]
        if onnx.opset_of(op) < 21 and channels != groups:
            scale, bias = (repeated(v, channels // groups, op, rewriter) for v in (scale, bias))
        eps = op.floating("epsilon")
        rewriter.replace(op, graph.GroupNormOp(op.X, scale, bias, groups=groups, eps=eps))


def repeated(vector: SSAValue, times: Dim, op: onnx.OnnxOp, rewriter: PatternRewriter) -> SSAValue:
    """Each element of a vector `times` times in a row."""
    (size,) = shape_of(vector, op)
    column = emit(graph.ExpandDimsOp(vector, [1]), rewriter)
    return emit(
        graph.ReshapeOp(emit(graph.BroadcastToOp(column, [size, times]), rewriter), [size * times]), rewriter
    )


class MeanVarianceNormalizationLowering(OnnxLowering):
    """`MeanVarianceNormalization` → (x - mean) / (deviation + 1e-9), so that a constant row gives 0."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.MeanVarianceNormalizationOp, rewriter: PatternRewriter) -> None:
        """Divide the centred input by its deviation over the axes plus 1e-9."""
        axes = normalized_axes(op.integers("axes"), rank_of(op.X, op), op)
        mean = emit(graph.ReduceOp(op.X, "mean", axes, keep_dims=True), rewriter)
        centred = emit(graph.SubtractOp(op.X, mean), rewriter)
        square = emit(graph.MultiplyOp(centred, centred), rewriter)
        variance = emit(graph.ReduceOp(square, "mean", axes, keep_dims=True), rewriter)
        tiny = self.scalar(1e-9, element_of(op.X), rewriter)
        deviation = emit(graph.AddOp(emit(graph.SqrtOp(variance), rewriter), tiny), rewriter)
        rewriter.replace(op, graph.DivideOp(centred, deviation))


class LpNormalizationLowering(OnnxLowering):
    """`LpNormalization` → `graph.lp_norm`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.LpNormalizationOp, rewriter: PatternRewriter) -> None:
        """Normalize the axis, copy the order p."""
        axis = normalized_axis(op.integer("axis"), rank_of(op.input, op), op)
        rewriter.replace(op, graph.LpNormOp(op.input, axis, op.integer("p")))


class LrnLowering(OnnxLowering):
    """`LRN` → `graph.lrn`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.LRNOp, rewriter: PatternRewriter) -> None:
        """Copy size, alpha, beta and bias."""
        rewriter.replace(
            op,
            graph.LrnOp(
                op.X,
                op.integer("size"),
                alpha=op.floating("alpha"),
                beta=op.floating("beta"),
                bias=op.floating("bias"),
            ),
        )
