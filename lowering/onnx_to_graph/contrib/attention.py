"""`Attention` and `MultiHeadAttention` of `com.microsoft` → matrix products and a softmax."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.lowering.onnx_to_graph.contrib.heads import (
    Attention,
    causal_mask,
    merge_heads,
    padding_mask,
    scale_of,
    split_heads,
    swap_heads,
)
from stepwell.lowering.onnx_to_graph.contrib.node import ContribNode, Meaning
from stepwell.runtime.dims import Dim

Results = Sequence[SSAValue | None]


def _multi_head(node: ContribNode) -> Results:
    """Attention of projected inputs; keys and values may come from a cache and be appended to it."""
    node.refuse_inputs(8, 9)
    query, key, value = _projections(node)
    key, value = _joined(node, 6, key), _joined(node, 7, value)
    found, scores = _attended(node, query, key, value, node.optional(4), node.optional(5))
    return [found, key, value, scores]


def _joined(node: ContribNode, position: int, new: SSAValue) -> SSAValue:
    """Keys or values [B, N, T, H] appended to those of the past, if an input gives a past."""
    if (past := node.optional(position)) is None:
        return new
    batch, heads, _, size = node.dims(new)
    past = node.shaped(past, [batch, heads, node.dims(past)[2], size], "the past")
    return node.emit(graph.ConcatOp([past, new], 2))


def _projections(node: ContribNode) -> list[SSAValue]:
    """Query, key and value [B, N, S, H]: split into heads, with bias; a cache already has this layout."""
    heads = node.required("num_heads")
    query, key, value = node.input(0), node.optional(1), node.optional(2)
    if len(node.dims(query)) == 5:  # [B, S, N, 3, H]
        parts = _unstacked(node, query)
    elif key is not None and len(node.dims(key)) == 5:  # [B, T, N, 2, H]
        parts = [split_heads(node, query, heads), *_unstacked(node, key)]
    else:
        key, value = node.input(1), node.input(2)
        batch, keys = node.dims(query)[0], node.dims(key)[-2]
        key, value = (
            node.shaped(x, [batch, *node.dims(x)[1:-2], keys, node.dims(x)[-1]], name)
            for x, name in ((key, "key"), (value, "value"))
        )
        if len(node.dims(key)) == 4:
            return [_with_bias(node, split_heads(node, query, heads), Dim.of(0)), key, value]
        parts = [split_heads(node, x, heads) for x in (query, key, value)]
    begin, result = Dim.of(0), list[SSAValue]()
    for part in parts:
        result.append(_with_bias(node, part, begin))
        begin = begin + node.dims(part)[2] * node.dims(part)[3]
    return result


def _unstacked(node: ContribNode, x: SSAValue) -> list[SSAValue]:
    """The parts of a tensor along axis 3, without that axis."""
    count = node.dims(x)[3].value
    parts = node.rewriter.insert(graph.SplitOp(x, 3, [1] * count)).results
    return [node.emit(graph.SqueezeOp(part, [3])) for part in parts]


def _with_bias(node: ContribNode, x: SSAValue, begin: Dim) -> SSAValue:
    """[B, S, N, H] plus the part of the bias from `begin` on, as [B, N, S, H]."""
    if (bias := node.optional(3)) is not None:
        heads, size = node.dims(x)[2:]
        part = node.emit(graph.SliceOp(bias, [begin], [begin + heads * size], [1]))
        x = node.add(x, node.emit(graph.ReshapeOp(part, [heads, size])))
    return swap_heads(node, x)


def _attended(
    node: ContribNode,
    query: SSAValue,
    key: SSAValue,
    value: SSAValue,
    mask: SSAValue | None,
    bias: SSAValue | None,
) -> tuple[SSAValue, SSAValue]:
    """The result [B, S, N * H] of heads [B, N, S, H], and the scores."""
    batch, heads, queries, _ = node.dims(query)
    keys = node.dims(key)[2]
    masks: list[SSAValue | None] = []
    if bias is not None:
        masks.append(node.shaped(bias, [batch, heads, queries, keys], "attention_bias"))
    if mask is not None:
        masks.append(padding_mask(node, mask, query, batch, queries, keys))
    if node.integer("unidirectional", 0):
        masks.append(causal_mask(node, query, queries, keys))
    found, scores = Attention(query, key, value, scale_of(node, query)).emit(node, masks)
    return merge_heads(node, found), scores


def _attention(node: ContribNode) -> Results:
    """Attention of one input, projected by packed weights."""
    projected = node.emit(graph.MatmulOp(node.input(0), node.input(1)))
    return attended_projection(node, node.add(projected, node.optional(2)), 3, 4, 5)


def attended_projection(
    node: ContribNode, projected: SSAValue, mask: int, past: int, bias: int | None
) -> Results:
    """
    The result, and present keys and values, from query, key and value side by side [B, S, …].

    Args: `mask`, `past` and `bias` are the positions of these inputs.
    """
    if node.integer("do_rotary", 0):
        raise node.unsupported("do_rotary is not supported yet")
    if node.integer("past_present_share_buffer", 0):
        raise node.unsupported("past_present_share_buffer is not supported yet")
    heads, size = node.required("num_heads"), node.dims(projected)[2]
    sizes = node.integers("qkv_hidden_sizes") or [size // 3] * 3
    parts = node.rewriter.insert(graph.SplitOp(projected, 2, sizes)).results
    query, key, value = (swap_heads(node, split_heads(node, part, heads)) for part in parts)
    if (before := node.optional(past)) is not None:
        olds = node.rewriter.insert(graph.SplitOp(before, 0, [1, 1])).results
        key, value = (
            node.emit(graph.ConcatOp([node.emit(graph.SqueezeOp(old, [0])), new], 2))
            for old, new in zip(olds, (key, value), strict=True)
        )
    extra = None if bias is None else node.optional(bias)
    found, _ = _attended(node, query, key, value, node.optional(mask), extra)
    if not node.wants(1):
        return [found]
    both = [node.emit(graph.ExpandDimsOp(x, [0])) for x in (key, value)]
    return [found, node.emit(graph.ConcatOp(both, 0))]


OPERATORS: Mapping[str, Meaning] = {"Attention": _attention, "MultiHeadAttention": _multi_head}
"""The operators of this file with their meanings."""
