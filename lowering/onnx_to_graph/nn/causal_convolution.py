"""`CausalConvWithState` → a depthwise convolution over the last elements of the past and the new ones."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32, i64
from xdsl.pattern_rewriter import PatternRewriter, op_type_rewrite_pattern

from stepwell.dialects import graph, onnx
from stepwell.dialects.types import dims_of
from stepwell.lowering.onnx_to_graph.shape_values import assume_equal, defined_sizes, renamed
from stepwell.lowering.onnx_to_graph.support import OnnxLowering, shape_of
from stepwell.lowering.to_graph import Formula, Value
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError

_ACTIVATIONS = ("none", "silu", "swish")


class CausalConvWithStateLowering(OnnxLowering):
    """
    `CausalConvWithState` → `graph.conv` with a group per channel; its last elements are the state for the
    next call.

    ```mlir
    %y, %s = "onnx.CausalConvWithState"(%x, %w, %past) : (tensor<1x2x5xf32>, tensor<2x1x3xf32>, …) -> …
    // ->
    %0 = graph.concat %past, %x axis 2 : (tensor<1x2x2xf32>, tensor<1x2x5xf32>) -> tensor<1x2x7xf32>
    %y = graph.conv %0, %w groups 2 … : (tensor<1x2x7xf32>, tensor<2x1x3xf32>) -> tensor<1x2x5xf32>
    %s = graph.slice %0 starts <[0, 0, 5]> … : tensor<1x2x7xf32> -> tensor<1x2x2xf32>
    ```
    If the number of channels or the kernel's size is open: a gather of the windows, and a sum of products.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: onnx.CausalConvWithStateOp, rewriter: PatternRewriter) -> None:
        """Join past and input, convolve, add the bias, apply the activation, and slice off the state."""
        activation = op.string("activation")
        if activation not in _ACTIVATIONS:
            raise StepwellError("invalid-model", op, f"{op.op_type}: there is no activation {activation!r}")
        at = Formula(self, rewriter)
        batch, channels, length = _of_rank_3(op, shape_of(op.input, op))
        of_filters, _, kernel = _of_rank_3(op, shape_of(op.weight, op))
        channels = of_filters if of_filters.is_static else channels
        x = at.value(renamed(op, op.input, [batch, channels, length], "channels and filters", rewriter))
        filters = at.value(
            renamed(op, op.weight, [channels, Dim.of(1), kernel], "channels and filters", rewriter)
        )
        joined = self._joined(op, at, x, kernel)
        y = _convolved(at, joined, filters, length)
        if op.bias is not None:
            y = at.op(graph.BiasAddOp(y.ssa, op.bias, 1))
        if activation != "none":
            y = at.op(graph.SiluOp(y.cast(f32).ssa)).cast(y.element)
        state = joined.slice(2, length, joined.dims[2])
        rewriter.replace_all_uses_with(op.output, y.ssa)
        rewriter.replace_all_uses_with(op.present_state, state.ssa)
        rewriter.erase(op)

    def _joined(self, op: onnx.CausalConvWithStateOp, at: Formula, x: Value, kernel: Dim) -> Value:
        """The new elements after those of the past, or after zeros: one less than the kernel's size."""
        zero = Dim.of(0)
        if op.past_state is None:
            (before,) = defined_sizes([kernel - 1], at.rewriter)
            return at.op(graph.PadOp(x.ssa, [zero, zero, before, zero, zero, zero]))
        before = _of_rank_3(op, shape_of(op.past_state, op))[2]
        what = "the past must have one element less than the kernel"
        assume_equal(op, before + 1, kernel, what, at.rewriter)
        before = kernel - 1 if kernel.is_static else before
        past = renamed(op, op.past_state, [*x.dims[:2], before], "past_state and input", at.rewriter)
        return at.concat([at.value(past), x], 2)


def _of_rank_3(op: onnx.OnnxOp, dims: Sequence[Dim]) -> Sequence[Dim]:
    """Three dimensions. Raises: StepwellError `invalid-model` for another rank."""
    if len(dims) != 3:
        raise StepwellError("invalid-model", op, f"{op.op_type}: its tensors have rank 3, found {len(dims)}")
    return dims


def _convolved(at: Formula, joined: Value, filters: Value, length: Dim) -> Value:
    """The sums of products of each window with the filter of its channel."""
    channels, _, kernel = dims_of(filters.ssa.type)
    if channels.is_static and kernel.is_static:
        conv = graph.ConvOp(
            joined.ssa, filters.ssa, strides=[1], dilations=[1], pads=[0, 0], groups=channels.value
        )
        return at.op(conv)
    positions = at.iota(length, i64).unsqueeze(1) + at.iota(kernel, i64)
    products = joined.cast(f32).gather(positions, 2) * filters.cast(f32)
    return products.reduce("sum", [3]).cast(joined.element)
