"""Derivatives that torch writes as operators: the backward graphs of training consist of these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.dialects.builtin import f32, i64

from stepwell.dialects import graph
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.attention import scale_of, summed_mask
from stepwell.lowering.torch_to_graph.contraction import static
from stepwell.lowering.torch_to_graph.support import Call, converts
from stepwell.runtime.dims import Dim


def _masked(call: Call, values: Sequence[Value | None]) -> list[Value | None]:
    """The gradients in the element types of the results; None for those that are not asked for."""
    wanted = call.value("output_mask")
    assert isinstance(wanted, Sequence)
    return [
        None if value is None or not flag else value.cast(call.result_element(i))
        for i, (value, flag) in enumerate(zip(values, wanted, strict=True))
    ]


@converts("convolution_backward.default")
def convolution_backward(call: Call) -> list[Value | None]:
    """
    The gradients of a convolution: of its input a transposed one of dy; of its weights one of the input by
    dy, with batch and channels exchanged, strides and dilations too; of its bias a sum.

    Source: Dumoulin and Visin, "A guide to convolution arithmetic for deep learning" (2016), chapter 4.
    """
    dy, x, weight = call.tensor("grad_output"), call.tensor("input"), call.tensor("weight")
    rank = weight.rank - 2
    strides, dilations = call.integers("stride", rank), call.integers("dilation", rank)
    pads, groups = [*call.integers("padding", rank)] * 2, call.integer("groups")
    if call.flag("transposed"):
        to_x = graph.ConvOp(
            dy.ssa, weight.ssa, strides=strides, dilations=dilations, pads=pads, groups=groups
        )
        by_weight = _weight_gradient(dy, x, weight, strides, dilations, pads, groups)
    else:
        to_x = graph.ConvTransposeOp(
            dy.ssa,
            weight.ssa,
            strides=strides,
            dilations=dilations,
            pads=pads,
            output_padding=_uncovered(call, x, dy, weight),
            groups=groups,
        )
        by_weight = _weight_gradient(x, dy, weight, strides, dilations, pads, groups)
    by_bias = dy.reduce("sum", [0, *range(2, dy.rank)])
    return _masked(call, [_cut(call.at.op(to_x), x.dims), by_weight, by_bias])


def _uncovered(call: Call, x: Value, dy: Value, weight: Value) -> list[int]:
    """The cells at the end of each axis of x that no window reaches."""
    rank = weight.rank - 2
    strides, dilations = call.integers("stride", rank), call.integers("dilation", rank)
    pads = call.integers("padding", rank)
    rest = [
        size - ((count - 1) * stride + dilation * (kernel - 1) + 1 - 2 * pad)
        for size, count, stride, dilation, kernel, pad in zip(
            x.dims[2:], dy.dims[2:], strides, dilations, weight.dims[2:], pads, strict=True
        )
    ]
    return static(rest, call, "the cells that no window of the convolution reaches")


def _weight_gradient(
    x: Value,
    dy: Value,
    weight: Value,
    strides: Sequence[int],
    dilations: Sequence[int],
    pads: Sequence[int],
    groups: int,
) -> Value:
    """The gradient of the weights of a convolution of x; the batches of several groups are channels."""
    rank = x.rank - 2
    exchanged = [1, 0, *range(2, rank + 2)]
    if groups == 1:
        moved = x.transpose(exchanged)
    else:
        batch, channels, *sizes = x.dims
        split = x.reshape([batch, groups, channels // groups, *sizes])
        moved = split.transpose([2, 1, 0, *range(3, rank + 3)])
        moved = moved.reshape([channels // groups, batch * groups, *sizes])
    op = graph.ConvOp(
        moved.ssa, dy.transpose(exchanged).ssa, groups=groups, strides=dilations, dilations=strides, pads=pads
    )
    found = x.formula.op(op)
    return _cut(found, [*found.dims[:2], *weight.dims[2:]]).transpose(exchanged)


def _cut(value: Value, dims: Sequence[Dim]) -> Value:
    """The first elements along each axis, as many as `dims` say."""
    for axis, (own, wanted) in enumerate(zip(value.dims, dims, strict=True)):
        if not own.proves_equal(wanted):
            value = value.slice(axis, 0, wanted)
    return value


@converts("max_pool2d_with_indices_backward.default")
def max_pool_backward(call: Call) -> Value:
    """The gradients of windows, added where the largest element of each is."""
    dy, x, indices = call.tensor("grad_output"), call.tensor(), call.tensor("indices")
    size, count = x.dims[-2] * x.dims[-1], dy.dims[-2] * dy.dims[-1]
    outer = list(x.dims[:-2])
    zeros = call.at.full(0, [*outer, size], x.element)
    flat = [each.reshape([*outer, count]) for each in (indices, dy)]
    op = graph.ScatterElementsOp(zeros.ssa, flat[0].ssa, flat[1].ssa, len(outer), "add")
    return call.at.op(op).reshape(x.dims)


@converts("avg_pool2d_backward.default")
def avg_pool_backward(call: Call) -> Value:
    """The share of each window for all of its cells: a transposed convolution by ones."""
    dy, x = call.tensor("grad_output"), call.tensor()
    kernel, pads = call.integers("kernel_size", 2), call.integers("padding", 2)
    strides = call.integers("stride", 2) or kernel
    sizes, counts = (static(each.dims[-2:], call, "the sizes of a pool") for each in (x, dy))
    share = dy / call.at.constant(_window_sizes(call, sizes, counts).astype(np.float32)).cast(dy.element)
    rest = [
        size - ((count - 1) * stride + extent - 2 * pad)
        for size, count, stride, extent, pad in zip(sizes, counts, strides, kernel, pads, strict=True)
    ]
    maps = share.reshape([_product(dy.dims[:-2]), 1, *dy.dims[-2:]])
    op = graph.ConvTransposeOp(
        maps.ssa,
        call.at.full(1, [Dim.of(1), Dim.of(1), *map(Dim.of, kernel)], dy.element).ssa,
        strides=strides,
        # A last window that reaches beyond the padding has cells there, which are cut away.
        pads=[*pads, *(pad - min(more, 0) for pad, more in zip(pads, rest, strict=True))],
        output_padding=[max(more, 0) for more in rest],
    )
    return call.at.op(op).reshape(x.dims)


def _window_sizes(call: Call, sizes: Sequence[int], counts: Sequence[int]) -> np.ndarray:
    """The numbers by which the sums of the windows were divided."""
    divisor = call.value("divisor_override")
    if divisor is not None:
        return np.full(counts, call.integer("divisor_override"))
    kernel, pads = call.integers("kernel_size", 2), call.integers("padding", 2)
    strides, cells = call.integers("stride", 2) or kernel, np.ones(())
    for axis in range(2):
        begin = np.arange(counts[axis]) * strides[axis] - pads[axis]
        end = np.minimum(begin + kernel[axis], sizes[axis] + pads[axis])
        if not call.flag("count_include_pad"):
            begin, end = np.maximum(begin, 0), np.minimum(end, sizes[axis])
        cells = cells[..., None] * (end - begin)
    return cells


@converts("_adaptive_avg_pool2d_backward.default")
def adaptive_avg_pool_backward(call: Call) -> Value:
    """The share of each window for its cells: products with the matrices of the windows of both axes."""
    dy, x = call.tensor("grad_output"), call.tensor()
    sizes, counts = (static(each.dims[-2:], call, "the sizes of a pool") for each in (x, dy))
    rows, columns = (
        call.at.constant(_shares(size, count)).cast(dy.element)
        for size, count in zip(sizes, counts, strict=True)
    )
    return rows.transpose([1, 0]).matmul(dy).matmul(columns)


def _shares(size: int, count: int) -> np.ndarray:
    """The share that each cell has in the mean of each window."""
    shares = np.zeros((count, size), np.float32)
    for i in range(count):
        first, last = i * size // count, -(-(i + 1) * size // count)
        shares[i, first:last] = 1 / (last - first)
    return shares


def _product(dims: Sequence[Dim]) -> Dim:
    result = Dim.of(1)
    for dim in dims:
        result = result * dim
    return result


@converts("embedding_dense_backward.default")
def embedding_backward(call: Call) -> Value:
    """The gradients of a table: those of its uses added, but for the padding's."""
    dy, indices = call.tensor("grad_output"), call.tensor("indices")
    count, padding = call.sizes("num_weights")[0], call.integer("padding_idx")
    flat = indices.reshape([_product(indices.dims)])
    rows = dy.reshape([flat.dims[0], dy.dims[-1]])
    if call.flag("scale_grad_by_freq"):
        ones = call.at.full(1, flat.dims, dy.element)
        uses = _added(call.at.full(0, [count], dy.element), flat, ones)
        rows = rows / uses.gather(flat, 0).unsqueeze(1)
    if padding >= 0:
        rows = call.at.where(flat.equals(padding).unsqueeze(1), 0.0, rows)
    return _added(call.at.full(0, [count, dy.dims[-1]], dy.element), flat, rows)


def _added(table: Value, positions: Value, rows: Value) -> Value:
    op = graph.ScatterNdOp(table.ssa, positions.cast(i64).unsqueeze(1).ssa, rows.ssa, "add")
    return table.formula.op(op)


@converts("native_layer_norm_backward.default")
def layer_norm_backward(call: Call) -> list[Value | None]:
    """The gradients of a normalization over the last dimensions, from its recorded mean and deviation."""
    dy, x, mean, rstd = _in_f32(call, "grad_out", "input", "mean", "rstd")
    weight = call.optional("weight")
    count = len(call.sizes("normalized_shape"))
    inner, outer = list(range(x.rank - count, x.rank)), list(range(x.rank - count))
    normal = (x - mean) * rstd
    scaled = dy if weight is None else dy * weight.cast(f32)
    by_x = _through_normal(scaled, normal, inner) * rstd
    by_weight = (dy * normal).reduce("sum", outer) if outer else dy * normal
    by_bias = dy.reduce("sum", outer) if outer else dy
    return _masked(call, [by_x, by_weight, by_bias])


def _in_f32(call: Call, *names: str) -> list[Value]:
    return [call.tensor(name).cast(f32) for name in names]


def _through_normal(scaled: Value, normal: Value, axes: Sequence[int]) -> Value:
    """The gradient of values before they were shifted to mean 0 and scaled to variance 1, in their unit."""
    shift = scaled.reduce("mean", axes, keep_dims=True)
    slope = (scaled * normal).reduce("mean", axes, keep_dims=True)
    return scaled - shift - normal * slope


@converts("native_group_norm_backward.default")
def group_norm_backward(call: Call) -> list[Value | None]:
    """The gradients of a normalization of groups of channels."""
    dy, x, mean, rstd = _in_f32(call, "grad_out", "input", "mean", "rstd")
    weight, groups = call.optional("weight"), Dim.of(call.integer("group"))
    (batch, channels, cells) = (call.sizes(name)[0] for name in ("N", "C", "HxW"))
    shape = [batch, groups, channels // groups, cells]
    dy, x = dy.reshape(shape), x.reshape(shape)
    mean, rstd = (each.reshape([batch, groups, 1, 1]) for each in (mean, rstd))
    normal = (x - mean) * rstd
    scaled = dy if weight is None else dy * weight.cast(f32).reshape([1, groups, channels // groups, 1])
    by_x = (_through_normal(scaled, normal, [2, 3]) * rstd).reshape(call.dims)
    by_weight = (dy * normal).reduce("sum", [0, 3]).reshape([channels])
    return _masked(call, [by_x, by_weight, dy.reduce("sum", [0, 3]).reshape([channels])])


@converts("_scaled_dot_product_flash_attention_for_cpu_backward.default")
def attention_backward(call: Call) -> list[Value | None]:
    """The gradients of queries, keys and values; the weights of attention are made again of the log-sums."""
    dy, q, k, v, out, sums = _in_f32(call, "grad_out", "query", "key", "value", "out", "logsumexp")
    if call.number("dropout_p") != 0:
        raise call.unsupported("attention with dropout")
    scale, mask = scale_of(call, q), summed_mask(call, q, k, call.optional("attn_mask"))
    scores = q.matmul(k.matrix_transpose()) * scale
    if mask is not None:
        scores = scores + mask
    weights = (scores - sums.unsqueeze(sums.rank)).apply(graph.ExpOp)
    by_weights = dy.matmul(v.matrix_transpose()) - (dy * out).reduce("sum", [dy.rank - 1], keep_dims=True)
    by_scores = weights * by_weights * scale
    gradients = (
        by_scores.matmul(k),
        by_scores.matrix_transpose().matmul(q),
        weights.matrix_transpose().matmul(dy),
    )
    return [each.cast(call.result_element(i)) for i, each in enumerate(gradients)]
