"""Rules of `raise-to-row-ops` that recognize softmax and normalizations which exporters expand."""

from __future__ import annotations

from math import inf

from xdsl.dialects.builtin import Float32Type, Float64Type, f32, f64
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of, tensor_of
from stepwell.passes.graph.constant_operands import any_number, is_closed, number, scalar_of
from stepwell.patterns import Pattern, Rule, is_op, wildcard
from stepwell.patterns.rewriting import NodeMap
from stepwell.runtime.dims import Dim

_add, _subtract = is_op("graph.add"), is_op("graph.subtract")
_multiply, _divide, _power = is_op("graph.multiply"), is_op("graph.divide"), is_op("graph.power")
_exp, _log, _sqrt, _rsqrt = (is_op(f"graph.{name}") for name in ("exp", "log", "sqrt", "rsqrt"))


class _Reduced:
    """A pattern of a reduction whose axes remain with size 1, by `keep_dims` or by a view after it."""

    def __init__(self, kind: str, x: Pattern):
        self.reduction = is_op("graph.reduce").has_attr({"kind": kind})(x)
        view = is_op("graph.reshape")(self.reduction) | is_op("graph.expand_dims")(self.reduction)
        self.value = self.reduction | view

    def axes(self, nodes: NodeMap) -> tuple[int, ...] | None:
        """The reduced axes in a match; None when they do not remain with size 1."""
        (value,), (reduction,) = nodes[self.value], nodes[self.reduction]
        op = reduction.owner
        assert isinstance(op, graph.ReduceOp)
        axes = op.axes.get_values()
        dims = dims_of(op.input.type)
        kept = tuple(Dim.of(1) if i in axes else dim for i, dim in enumerate(dims))
        return tuple(axes) if dims_of(value.type) == kept else None


def _common_axes(nodes: NodeMap, *reductions: _Reduced) -> tuple[int, ...] | None:
    """The axes of all of the reductions that occur in a match; None when they differ."""
    axes = {reduced.axes(nodes) for reduced in reductions if reduced.value in nodes}
    return axes.pop() if len(axes) == 1 else None


def raise_softmax() -> Rule:
    """
    Replace exp(x - max(x)), or exp(x), divided by its sum along one axis by softmax.

    ```mlir
    %m = graph.reduce %x kind "max" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
    %a = graph.subtract %x, %m : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    %b = graph.exp %a : tensor<2x4xf32> -> tensor<2x4xf32>
    %s = graph.reduce %b kind "sum" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
    %y = graph.divide %b, %s : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    // ->
    %y = graph.softmax %x axis 1 : tensor<2x4xf32> -> tensor<2x4xf32>
    ```
    """
    x = wildcard()
    largest, bounded = _largest(x)
    exponential = _exp(_subtract(x, bounded)) | _exp(x)
    total = _Reduced("sum", exponential)

    def replace(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
        (source,) = nodes[x]
        axes = _common_axes(nodes, total, largest)
        if axes is None or len(axes) != 1 or not is_closed(post, [source]):
            return post
        return rewriter.insert(graph.SoftmaxOp(source, axes[0])).result

    return Rule(_divide(exponential, total.value), replace, require_type=True, name="raise softmax")


def raise_log_of_softmax() -> Rule:
    """
    Replace the logarithm of a softmax without other uses by log_softmax, which does not underflow.

    ```mlir
    %s = graph.softmax %x axis 1 : tensor<2x4xf32> -> tensor<2x4xf32>
    %y = graph.log %s : tensor<2x4xf32> -> tensor<2x4xf32>
    // ->
    %y = graph.log_softmax %x axis 1 : tensor<2x4xf32> -> tensor<2x4xf32>
    ```
    """
    x = wildcard()
    softmax = is_op("graph.softmax")(x)

    def replace(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
        (source,), (inner,) = nodes[x], nodes[softmax]
        if not isinstance(inner.owner, graph.SoftmaxOp) or not is_closed(post, [source]):
            return post
        return rewriter.insert(graph.LogSoftmaxOp(source, inner.owner.axis.value.data)).result

    return Rule(_log(softmax), replace, require_type=True, name="raise log of softmax")


def raise_log_softmax() -> Rule:
    """
    Replace c - log(sum(exp(c))) with c = x - max(x), or x - log_sum_exp(x), by log_softmax.

    ```mlir
    %m = graph.reduce %x kind "max" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
    %a = graph.subtract %x, %m : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    %b = graph.exp %a : tensor<2x4xf32> -> tensor<2x4xf32>
    %s = graph.reduce %b kind "sum" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
    %l = graph.log %s : tensor<2x1xf32> -> tensor<2x1xf32>
    %y = graph.subtract %a, %l : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    // ->
    %y = graph.log_softmax %x axis 1 : tensor<2x4xf32> -> tensor<2x4xf32>
    ```
    """
    x = wildcard()
    largest, bounded = _largest(x)
    lowered = _subtract(x, bounded)
    total = _Reduced("sum", _exp(lowered))
    at_once = _Reduced("log_sum_exp", x)

    def replace(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
        (source,) = nodes[x]
        axes = _common_axes(nodes, total, largest, at_once)
        if axes is None or len(axes) != 1 or not is_closed(post, [source]):
            return post
        return rewriter.insert(graph.LogSoftmaxOp(source, axes[0])).result

    pattern = _subtract(lowered, _log(total.value)) | _subtract(x, at_once.value)
    return Rule(pattern, replace, require_type=True, name="raise log_softmax")


def _largest(x: Pattern) -> tuple[_Reduced, Pattern]:
    """The pattern of the maximum of a row, and one that also allows JAX's `maximum(-inf, max(x))`."""
    largest = _Reduced("max", x)
    return largest, largest.value | is_op("graph.maximum")(number(-inf), largest.value)


def raise_layer_norm() -> Rule:
    """
    Replace (x - mean(x)) / sqrt(variance(x) + eps) by a layer norm.

    ```mlir
    %eps = graph.constant dense<1.0e-5> : tensor<f32>
    %two = graph.constant dense<2.0> : tensor<f32>
    %m = graph.reduce %x kind "mean" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
    %c = graph.subtract %x, %m : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    %q = graph.power %c, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
    %v = graph.reduce %q kind "mean" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
    %w = graph.add %v, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
    %d = graph.sqrt %w : tensor<2x1xf32> -> tensor<2x1xf32>
    %y = graph.divide %c, %d : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    // ->
    %y = graph.layer_norm %x axis 1 eps 1.0e-5 compute_type f32 : tensor<2x4xf32> -> tensor<2x4xf32>
    ```
    """
    x, eps = wildcard(), any_number()
    mean = _Reduced("mean", x)
    # Some exporters subtract the mean twice, once for the variance.
    once, again = _subtract(x, mean.value), _subtract(x, mean.value)
    normal, variance = _normalized(once, again, eps)

    def replace(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
        (source,) = nodes[x]
        axis = _row_axis(_common_axes(nodes, mean, variance), source)
        if axis is None or not is_closed(post, [source]):
            return post
        made = graph.LayerNormOp(
            source, axis=axis, eps=_number(nodes[eps][0]), compute_type=_compute_type(source)
        )
        return rewriter.insert(made).result

    return Rule(normal, replace, require_type=True, name="raise layer norm")


def raise_rms_norm() -> Rule:
    """
    Replace x / sqrt(mean(x²) + eps) by an RMS norm.

    ```mlir
    %eps = graph.constant dense<1.0e-5> : tensor<f32>
    %q = graph.multiply %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %v = graph.reduce %q kind "mean" axes [1] keep_dims true : tensor<2x4xf32> -> tensor<2x1xf32>
    %w = graph.add %v, %eps : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
    %d = graph.rsqrt %w : tensor<2x1xf32> -> tensor<2x1xf32>
    %y = graph.multiply %x, %d : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
    // ->
    %y = graph.rms_norm %x axis 1 eps 1.0e-5 compute_type f32 : tensor<2x4xf32> -> tensor<2x4xf32>
    ```
    """
    x, eps = wildcard(), any_number()
    normal, square = _normalized(x, x, eps)

    def replace(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
        (source,) = nodes[x]
        axis = _row_axis(_common_axes(nodes, square), source)
        if axis is None or not is_closed(post, [source]):
            return post
        made = graph.RmsNormOp(
            source, axis=axis, eps=_number(nodes[eps][0]), compute_type=_compute_type(source)
        )
        return rewriter.insert(made).result

    return Rule(normal, replace, require_type=True, name="raise RMS norm")


def _normalized(x: Pattern, again: Pattern, eps: Pattern) -> tuple[Pattern, _Reduced]:
    """The pattern of x / sqrt(mean(again²) + eps), in the variants that exporters write, and of the mean."""
    square = _multiply(again, again) | _power(again, number(2))
    mean = _Reduced("mean", square)
    shifted = _add(mean.value, eps)
    deviation = _sqrt(shifted) | _power(shifted, number(0.5))
    inverse = _rsqrt(shifted) | _divide(number(1), deviation) | _power(shifted, number(-0.5))
    return _divide(x, deviation) | _multiply(x, inverse), mean


def scale_norm() -> Rule:
    """
    Merge a multiplication after a norm by a vector that is the same for each row into the norm, as `scale`.

    ```mlir
    %n = graph.rms_norm %x axis 1 eps 1.0e-5 compute_type f32 : tensor<2x4xf32> -> tensor<2x4xf32>
    %y = graph.multiply %n, %s : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    // ->
    %y = graph.rms_norm %x scale %s : tensor<4xf32> axis 1 eps 1.0e-5 compute_type f32
      : tensor<2x4xf32> -> tensor<2x4xf32>
    ```
    """
    norm, scale = _unfinished_norm(with_scale=False), wildcard()
    return _complete_norm(_multiply(norm, scale), norm, scale, "scale of a norm")


def shift_norm() -> Rule:
    """
    Merge an addition after a norm of a vector that is the same for each row into the norm, as `bias`.

    ```mlir
    %n = graph.layer_norm %x axis 1 eps 1.0e-5 compute_type f32 : tensor<2x4xf32> -> tensor<2x4xf32>
    %y = graph.add %n, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
    // ->
    %y = graph.layer_norm %x bias %b : tensor<4xf32> axis 1 eps 1.0e-5 compute_type f32
      : tensor<2x4xf32> -> tensor<2x4xf32>
    ```
    """
    norm, bias = _unfinished_norm(with_scale=True), wildcard()
    return _complete_norm(_add(norm, bias), norm, bias, "bias of a norm")


def _unfinished_norm(with_scale: bool) -> Pattern:
    """A pattern of a norm with one use and without bias, and, unless `with_scale`, without scale."""

    def is_incomplete(value: SSAValue) -> bool:
        op = value.owner
        if not isinstance(op, graph.LayerNormOp | graph.RmsNormOp) or value is not op.result:
            return False
        return op.bias is None and (with_scale or op.scale is None) and value.has_one_use()

    norm = is_op("graph.layer_norm")(None) | is_op("graph.rms_norm")(None)
    return norm.where(is_incomplete, "takes more")


def _complete_norm(pattern: Pattern, norm: Pattern, vector: Pattern, name: str) -> Rule:
    def replace(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
        (inner,), (given,) = nodes[norm], nodes[vector]
        op = inner.owner
        assert isinstance(op, graph.LayerNormOp | graph.RmsNormOp)
        has_statistics = isinstance(op, graph.LayerNormOp) and op.mean is not None
        axis = op.axis.value.data
        if has_statistics or inner.type != post.type or not _is_per_row(given, post, axis):
            return post
        is_scale = name.startswith("scale")
        made = type(op)(
            op.input,
            given if is_scale else op.scale,
            None if is_scale else given,
            axis=axis,
            eps=op.eps.value.data,
            compute_type=op.compute_type,
        )
        return rewriter.insert(made).results[0]

    return Rule(pattern, replace, require_type=True, name=name)


def _is_per_row(value: SSAValue, rows: SSAValue, axis: int) -> bool:
    """Whether a vector is the same for all rows: it varies along the normalized dimensions only."""
    dims = list(dims_of(value.type))
    while dims and dims[0] == 1:
        dims.pop(0)
    return len(dims) <= len(dims_of(rows.type)) - axis


def _row_axis(axes: tuple[int, ...] | None, rows: SSAValue) -> int | None:
    """The first of the reduced axes, if they are all axes from there on to the last; else None."""
    rank = len(dims_of(rows.type))
    return axes[0] if axes and axes == tuple(range(axes[0], rank)) else None


def _number(value: SSAValue) -> float:
    number = scalar_of(value)
    assert number is not None
    return number


def _compute_type(rows: SSAValue) -> Float32Type | Float64Type:
    return f64 if tensor_of(rows).element_type == f64 else f32
