"""Heads, scores and masks, for the operators of attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f16, i64
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.lowering.onnx_to_graph.contrib.node import ContribNode
from stepwell.lowering.onnx_to_graph.shape_values import extents
from stepwell.lowering.onnx_to_graph.support import element_of
from stepwell.runtime.dims import Dim

DEFAULT_FILTER = -10000.0
"""The number added to a masked score by default."""


def split_heads(node: ContribNode, x: SSAValue, heads: int) -> SSAValue:
    """[B, S, N * H] as [B, S, N, H]."""
    batch, length, size = node.dims(x)
    if size.is_static and size.value % heads:
        raise node.invalid(f"a size of {size} does not make {heads} heads")
    return node.emit(graph.ReshapeOp(x, [batch, length, heads, size // heads]))


def merge_heads(node: ContribNode, x: SSAValue) -> SSAValue:
    """[B, N, S, H] as [B, S, N * H]."""
    batch, heads, length, size = node.dims(x)
    swapped = swap_heads(node, x)
    return node.emit(graph.ReshapeOp(swapped, [batch, length, heads * size]))


def swap_heads(node: ContribNode, x: SSAValue) -> SSAValue:
    """[B, S, N, H] as [B, N, S, H], and back."""
    return node.emit(graph.TransposeOp(x, [0, 2, 1, 3]))


def scale_of(node: ContribNode, query: SSAValue) -> float:
    """The attribute `scale`, else 1 / sqrt(size of a head)."""
    if scale := node.number("scale", 0.0):
        return scale
    size = node.dims(query)[-1]
    if not size.is_static:
        raise node.unsupported(f"a size of the heads that is known at run time only, {size}")
    return float(1 / np.sqrt(np.float32(size.value)))


def lowest(node: ContribNode, like: SSAValue) -> SSAValue:
    """A number that masks any score, and is finite in the element type of a value."""
    return node.like(like, -65504.0 if element_of(like) == f16 else -3.38e38)


def number_of(node: ContribNode, dim: Dim) -> SSAValue:
    """A dimension as an i64 of shape [1]."""
    return extents([dim], node.lowering, node.rewriter)


def count_up(node: ContribNode, count: Dim, axis: int, rank: int) -> SSAValue:
    """The numbers 0, 1, … in i64 along an axis; the other axes have size 1."""
    shape = [Dim.of(1)] * rank
    shape[axis] = count
    return node.emit(graph.IotaOp(shape, axis, i64))


def allowed_or(node: ContribNode, condition: SSAValue, like: SSAValue, other: SSAValue) -> SSAValue:
    """An additive mask of scores: 0 where a key is visible, else `other`."""
    return node.emit(graph.WhereOp(condition, node.like(like, 0), other))


def causal_mask(node: ContribNode, like: SSAValue, queries: Dim, keys: Dim) -> SSAValue:
    """The additive mask [S, T] of keys after each query's own; the last query sees all keys."""
    rows = node.add(count_up(node, queries, 0, 2), number_of(node, keys - queries))
    is_seen = node.emit(graph.LessEqualOp(count_up(node, keys, 1, 2), rows))
    return allowed_or(node, is_seen, like, lowest(node, like))


def padding_mask(
    node: ContribNode, mask: SSAValue, like: SSAValue, batch: Dim, queries: Dim, keys: Dim
) -> SSAValue | None:
    """
    The additive mask [B, 1, 1 or S, T] for a mask input of ONNX Runtime; None for one without effect.

    Args: `mask` is [B] (how many keys a row has), [2 * B] (where they end, then where they start),
    [3 * B + 2] (lengths, then offsets), [B, T], [B, S, T] or [B, 1, M, M]; in the last three 0 masks.
    """
    dims = node.dims(mask)
    hidden = node.like(like, node.number("mask_filter_value", DEFAULT_FILTER))
    if len(dims) == 1:
        return allowed_or(node, _within_lengths(node, mask, batch, keys), like, hidden)
    if len(dims) == 2 and dims[1] == 1 and keys != 1:
        return None  # a dummy, which masks nothing
    if len(dims) == 2:
        mask = node.emit(graph.ExpandDimsOp(node.shaped(mask, [batch, keys], "the mask"), [1, 2]))
    elif len(dims) == 3:
        mask = node.emit(graph.ExpandDimsOp(node.shaped(mask, [batch, queries, keys], "the mask"), [1]))
    else:
        limits = [dims[0], Dim.of(1), keys, keys]
        starts = [Dim.of(0), Dim.of(0), keys - queries, Dim.of(0)]
        mask = node.emit(graph.SliceOp(mask, starts, limits, [1] * 4))
    is_seen = node.emit(graph.LessOp(node.like(mask, 0), mask))
    return allowed_or(node, is_seen, like, hidden)


def _within_lengths(node: ContribNode, mask: SSAValue, batch: Dim, keys: Dim) -> SSAValue:
    """Whether a key is inside its row [B, 1, 1, T], by lengths, or by ends and starts."""
    (size,) = node.dims(mask)
    if not any(size.proves_equal(n) for n in (batch, 2 * batch, 3 * batch + 2)):
        node.check_equal(size, batch, "the mask must have one length for each row of the batch")
        mask = node.emit(graph.ReshapeOp(mask, [batch]))
    positions = node.cast(count_up(node, keys, 3, 4), element_of(mask))
    is_seen = node.emit(graph.LessOp(positions, _column(node, mask, Dim.of(0), batch)))
    if size.proves_equal(2 * batch) and not size.proves_equal(batch):
        starts = _column(node, mask, batch, 2 * batch)
        is_seen = node.emit(graph.AndOp(is_seen, node.emit(graph.LessEqualOp(starts, positions))))
    return is_seen


def _column(node: ContribNode, vector: SSAValue, start: Dim, limit: Dim) -> SSAValue:
    """Part of a vector as a column [n, 1, 1, 1]."""
    part = node.emit(graph.SliceOp(vector, [start], [limit], [1]))
    return node.emit(graph.ReshapeOp(part, [limit - start, 1, 1, 1]))


@dataclass(frozen=True)
class Attention:
    """softmax(scale · q · kᵀ + masks) · v"""

    query: SSAValue
    """[…, S, H]"""
    key: SSAValue
    """[…, T, H]"""
    value: SSAValue
    """[…, T, H']"""
    scale: float

    def emit(
        self,
        node: ContribNode,
        masks: Sequence[SSAValue | None] = (),
        softcap: float = 0.0,
        sink: SSAValue | None = None,
    ) -> tuple[SSAValue, SSAValue]:
        """
        The result [B, N, S, H'], and the scores before the softmax.

        Args: `masks` are added to the scores; before that, `softcap` bounds the scores by tanh; `sink` […, S,
        1] is one more score, of a key without value.
        """
        # Scores: queries x keys, scaled, bounded, masked
        product = node.emit(graph.MatmulOp(self.query, self.key, transpose_b=True))
        scores = node.scaled(product, self.scale)
        if softcap:
            scores = node.scaled(node.emit(graph.TanhOp(node.scaled(scores, 1 / softcap))), softcap)
        for mask in masks:
            scores = node.add(scores, mask)
        # Weights: softmax over the keys, the sink's weight dropped
        last = len(node.dims(scores)) - 1
        whole = scores if sink is None else node.emit(graph.ConcatOp([scores, sink], last))
        weights = node.emit(graph.SoftmaxOp(whole, last))
        if sink is not None:
            dims = node.dims(scores)
            weights = node.emit(graph.SliceOp(weights, [0] * len(dims), dims, [1] * len(dims)))
        return node.emit(graph.MatmulOp(weights, self.value)), scores
