"""Normalizations of `com.microsoft`, some with a skip connection or an embedding before them → `graph`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.lowering.onnx_to_graph.contrib.node import ContribNode, Meaning
from stepwell.runtime.dims import Dim

Results = Sequence[SSAValue | None]


def _skip_layer_norm(node: ContribNode) -> Results:
    """The layer norm of input + skip + bias; the sum is the fourth output."""
    total = node.add(_with_skip(node), node.optional(4))
    norm = graph.LayerNormOp(
        total, node.input(2), node.optional(3), axis=_last(node, total), eps=node.number("epsilon", 1e-12)
    )
    return [node.emit(norm), None, None, total]


def _skip_rms_norm(node: ContribNode) -> Results:
    """The rms norm of input + skip + bias; the sum is the fourth output."""
    total = node.add(_with_skip(node), node.optional(3))
    norm = graph.RmsNormOp(total, node.input(2), axis=_last(node, total), eps=node.number("epsilon", 1e-12))
    return [node.emit(norm), None, None, total]


def _with_skip(node: ContribNode) -> SSAValue:
    """Input plus skip, which may lack the batch."""
    x, skip = node.input(0), node.input(1)
    dims = node.dims(x)[-len(node.dims(skip)) :]
    return node.add(x, node.shaped(skip, dims, "skip"))


def _last(node: ContribNode, value: SSAValue) -> int:
    """The last axis of a value."""
    return len(node.dims(value)) - 1


def _simplified_layer_norm(node: ContribNode) -> Results:
    """The rms norm, computed in the type that `stash_type` names."""
    x, scale = node.input(0), node.input(1)
    if node.integer("stash_type", 1) != 1:
        raise node.unsupported(f"stash_type {node.integer('stash_type', 1)} is not supported yet")
    axis = node.axis("axis", -1, x)
    norm = graph.RmsNormOp(x, scale, axis=axis, eps=node.number("epsilon", 1e-5))
    return [node.emit(norm), _inverse_deviation(node, x, axis) if node.wants(1) else None]


def _inverse_deviation(node: ContribNode, x: SSAValue, axis: int) -> SSAValue:
    """1 / sqrt(mean of squares + epsilon), in f32."""
    wide = node.cast(x, f32)
    axes = range(axis, len(node.dims(x)))
    square = node.emit(graph.MultiplyOp(wide, wide))
    mean = node.emit(graph.ReduceOp(square, "mean", axes, keep_dims=True))
    return node.emit(graph.RsqrtOp(node.add(mean, node.constant(node.number("epsilon", 1e-5)))))


def _embed_layer_norm(node: ContribNode) -> Results:
    """
    The layer norm of the sum of token, position and segment embeddings; also the tokens per row and the sum.
    """
    ids = node.input(0)
    batch, length = node.dims(ids)
    total = node.emit(graph.GatherOp(node.input(2), ids, 0))
    if (positions := node.optional(8)) is not None:
        table = node.emit(graph.GatherOp(node.input(3), positions, 0))
    else:
        table = node.emit(graph.SliceOp(node.input(3), [0, 0], [length, node.dims(node.input(3))[1]], [1, 1]))
    total = node.add(total, table)
    if (segments := node.optional(1)) is not None:
        total = node.add(total, node.emit(graph.GatherOp(node.input(4), segments, 0)))
    eps = node.number("epsilon", 1e-12)
    norm = graph.LayerNormOp(total, node.input(5), node.input(6), axis=2, eps=eps)
    return [node.emit(norm), _token_counts(node, batch), total]


def _token_counts(node: ContribNode, batch: Dim) -> SSAValue:
    """The number of tokens per row that the mask selects; 0 without a mask."""
    if (mask := node.optional(7)) is None:
        return node.emit(graph.BroadcastToOp(node.constant(0, i32), [batch]))
    return node.emit(graph.ReduceOp(node.cast(mask, i32), "sum", [1]))


def _group_norm(node: ContribNode) -> SSAValue:
    """The group norm of the input."""
    return _channels_normalized(node, node.input(0))


def _skip_group_norm(node: ContribNode) -> Results:
    """
    The group norm of X + skip + bias; skip and bias may be one number per channel. The sum is the second
    result.
    """
    x, skip = node.input(0), node.input(3)
    dims = node.dims(x)
    if len(node.dims(skip)) == 2:
        skip = node.emit(graph.ExpandDimsOp(skip, range(1, len(dims) - 1)))
    total = node.add(node.add(x, skip), node.optional(4))
    return [_channels_normalized(node, total), total]


def _channels_normalized(node: ContribNode, x: SSAValue) -> SSAValue:
    """The group norm, channels last by default, followed by silu if `activation` is set."""
    last = len(node.dims(x)) - 1
    is_last = bool(node.integer("channels_last", 1))
    if is_last:
        x = node.emit(graph.TransposeOp(x, [0, last, *range(1, last)]))
    groups, eps = node.required("groups"), node.number("epsilon", 1e-5)
    y = node.emit(graph.GroupNormOp(x, node.input(1), node.input(2), groups=groups, eps=eps))
    if is_last:
        y = node.emit(graph.TransposeOp(y, [0, *range(2, last + 1), 1]))
    return node.emit(graph.SiluOp(y)) if node.required("activation") else y


OPERATORS: Mapping[str, Meaning] = {
    "EmbedLayerNormalization": _embed_layer_norm,
    "GroupNorm": _group_norm,
    "SimplifiedLayerNormalization": _simplified_layer_norm,
    "SkipGroupNorm": _skip_group_norm,
    "SkipLayerNormalization": _skip_layer_norm,
    "SkipSimplifiedLayerNormalization": _skip_rms_norm,
}
"""The operators of this file with their meanings."""
