"""
`GroupQueryAttention` of `com.microsoft`: attention with a cache of keys and values, of a length per row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph_ir.state import is_used_part
from stepwell.lowering.onnx_to_graph.contrib.heads import (
    Attention,
    allowed_or,
    count_up,
    lowest,
    number_of,
    scale_of,
    split_heads,
    swap_heads,
)
from stepwell.lowering.onnx_to_graph.contrib.node import ContribNode, Meaning
from stepwell.lowering.onnx_to_graph.contrib.rotary import rotated, tables_at
from stepwell.lowering.onnx_to_graph.shape_values import bound_elements
from stepwell.passes.analysis.symbolic_values import partly_symbolic_dims
from stepwell.runtime.dims import Dim

_PLAIN: Mapping[str, tuple[object, ...]] = {
    "k_quant_type": ("NONE", ""),
    "v_quant_type": ("NONE", ""),
    "kv_cache_bit_width": (0,),
    "sliding_window_cache": (0,),
}
"""Attributes of a quantized or cyclic cache, with the values that mean that it is neither."""


def _group_query_attention(node: ContribNode) -> Sequence[SSAValue | None]:
    """
    Causal attention of new queries to the cache and the new keys; groups of heads share keys and values.

    A row of the batch has `seqlens_k` + 1 keys with the new ones; the results have zeros after them.
    """
    _refuse_options(node)
    query, key, value = _heads(node)
    query, key = (_normalized(node, x, i) for x, i in ((query, 14), (key, 15)))
    rows = _rows_of(node, query)
    if node.integer("do_rotary", 0):
        query, key = (_rotated(node, x, rows) for x in (query, key))
    presents = [_present(node, new, node.optional(i), rows) for new, i in ((key, 3), (value, 4))]
    found = _attended(node, swap_heads(node, query), presents[0], presents[1], rows)
    return [found, *presents, None]


def _refuse_options(node: ContribNode) -> None:
    """Raises: StepwellError `unsupported` for options of a quantized or cyclic cache."""
    node.refuse_inputs(12, 13)
    for name, plain in _PLAIN.items():
        default = plain[0]
        value = node.text(name, default) if isinstance(default, str) else node.integer(name, 0)
        if value not in plain:
            raise node.unsupported(f"{name} = {value} is not supported yet")


def _heads(node: ContribNode) -> list[SSAValue]:
    """Query, key and value [B, S, N, H]; side by side in one input if key and value are absent."""
    heads, shared = node.required("num_heads"), node.required("kv_num_heads")
    if heads % shared:
        raise node.invalid(f"{heads} heads are no multiple of {shared} heads of keys")
    query, counts = node.input(0), [heads, shared, shared]
    if node.optional(1) is None:
        whole = split_heads(node, query, sum(counts))
        return list(node.rewriter.insert(graph.SplitOp(whole, 2, counts)).results)
    outer = node.dims(query)[:2]
    others = ((node.input(1), "key"), (node.input(2), "value"))
    parts = [query, *(node.shaped(x, [*outer, node.dims(x)[2]], name) for x, name in others)]
    return [split_heads(node, part, count) for part, count in zip(parts, counts, strict=True)]


def _normalized(node: ContribNode, x: SSAValue, weight: int) -> SSAValue:
    """The rms norm of each head, if the model gives its weight."""
    if (scale := node.optional(weight)) is None:
        return x
    return node.emit(graph.RmsNormOp(x, scale, axis=3, eps=node.number("qk_norm_epsilon", 1e-6)))


@dataclass(frozen=True)
class _Rows:
    """The numbers of keys in the rows of the batch: past, new and total."""

    batch: Dim
    new: Dim
    """The number of new keys."""
    total: Dim
    """The number of keys in the results."""
    lengths: SSAValue
    """The keys of each row, the new ones included: i64 [B, 1]."""
    past: SSAValue
    """The keys of each row before the new ones: i64 [B, 1]."""


def _rows_of(node: ContribNode, query: SSAValue) -> _Rows:
    """The numbers of keys, from `seqlens_k` and `total_sequence_length`."""
    batch, new = node.dims(query)[:2]
    if (past := node.optional(3)) is not None and is_used_part(past):
        return _bound_rows(node, batch, new, node.dims(past)[2])
    lengths = node.emit(graph.ReshapeOp(node.cast(node.input(5), i64), [batch, 1]))
    lengths = node.add(lengths, node.constant(1, i64))
    (total,) = _size(node, node.input(6))
    if node.optional(3) is None:
        past = node.emit(graph.BroadcastToOp(node.constant(0, i64), [batch, 1]))
        node.check_equal(total, new, "without a past, total_sequence_length must be that of the query")
        return _Rows(batch, new, new, lengths, past)
    # A first call may come with an empty cache, and rows that are shorter than the query.
    is_first = node.emit(graph.EqualOp(number_of(node, total), number_of(node, new)))
    before = node.emit(graph.SubtractOp(lengths, number_of(node, new)))
    past = node.emit(graph.WhereOp(is_first, node.constant(0, i64), before))
    return _Rows(batch, new, total.maximum(node.dims(node.input(3))[2]), lengths, past)


def _bound_rows(node: ContribNode, batch: Dim, new: Dim, past: Dim) -> _Rows:
    """The numbers of keys where the cache is a state: its length for all rows."""
    before, lengths = (
        node.emit(graph.BroadcastToOp(number_of(node, dim), [batch, 1])) for dim in (past, past + new)
    )
    return _Rows(batch, new, past + new, lengths, before)


def _size(node: ContribNode, value: SSAValue) -> tuple[Dim, ...]:
    """A size computed by the model: an expression, or a symbol bound at run time."""
    vector = node.emit(graph.ReshapeOp(value, [1]))
    known = partly_symbolic_dims(value, node.lowering.weights)
    if known is not None and len(known) == 1 and not known[0].is_unknown:
        return known
    return bound_elements(vector, node.rewriter)


def _rotated(node: ContribNode, x: SSAValue, rows: _Rows) -> SSAValue:
    """Queries or keys after the rotary embedding of their positions."""
    positions = node.optional(9)
    if positions is None:
        positions = node.add(rows.past, count_up(node, rows.new, 1, 2))
    else:
        positions = node.shaped(positions, [rows.batch, rows.new], "position_ids")
    tables = tables_at(node, positions, (node.input(7), node.input(8)), 2)
    return rotated(node, x, tables, interleaved=bool(node.integer("rotary_interleaved", 0)))


def _present(node: ContribNode, new: SSAValue, past: SSAValue | None, rows: _Rows) -> SSAValue:
    """Keys or values [B, N, T, H]: the past ones of each row, then the new ones [B, S, N, H], then zeros."""
    if past is None:
        return swap_heads(node, new)
    if is_used_part(past):
        return node.emit(graph.ConcatOp([past, swap_heads(node, new)], 2))
    # New keys at each position of the result, as if all positions were new
    heads, size = node.dims(new)[2:]
    past = node.shaped(past, [rows.batch, heads, node.dims(node.input(3))[2], size], "the past")
    zero, last = (
        node.constant(0, i64),
        node.emit(graph.SubtractOp(number_of(node, rows.new), node.constant(1, i64))),
    )
    position = node.emit(graph.SubtractOp(count_up(node, rows.total, 1, 2), rows.past))
    inside = node.emit(graph.ClipOp(position, zero, node.emit(graph.ReshapeOp(last, []))))
    added = swap_heads(node, node.emit(graph.GatherOp(new, inside, 1, batch_dims=1)))
    # Past keys, filled with zeros to the length of the result
    missing = rows.total - node.dims(past)[2]
    kept = past
    if missing != 0:
        kept = node.emit(graph.PadOp(past, [0, 0, 0, 0, 0, 0, missing, 0]))
    # Selection: past, new or zero
    is_new = node.emit(graph.LessOp(position, number_of(node, rows.new)))
    tail = node.emit(graph.WhereOp(_as_keys(node, is_new), added, node.like(added, 0)))
    is_past = node.emit(graph.LessOp(position, zero))
    return node.emit(graph.WhereOp(_as_keys(node, is_past), kept, tail))


def _as_keys(node: ContribNode, x: SSAValue) -> SSAValue:
    """[B, T] as [B, 1, T, 1]."""
    return node.emit(graph.ExpandDimsOp(x, [1, 3]))


def _attended(node: ContribNode, query: SSAValue, key: SSAValue, value: SSAValue, rows: _Rows) -> SSAValue:
    """
    The result [B, S, N * H]; the heads of a group are on an axis after the axis of the keys that they share.
    """
    batch, heads, new, size = node.dims(query)
    shared = node.dims(key)[1]
    group = heads // shared
    grouped = node.emit(graph.ReshapeOp(query, [batch, shared, group, new, size]))
    keys, values = (node.emit(graph.ExpandDimsOp(x, [2])) for x in (key, value))
    masks = [_mask(node, query, rows)]
    if (bias := node.optional(10)) is not None:
        total = node.dims(key)[2]
        bias = node.shaped(bias, [batch, heads, new, total], "attention_bias")
        outer = node.dims(bias)
        groups = [shared, group] if outer[1] == heads else [Dim.of(1), Dim.of(1)]
        masks.append(node.emit(graph.ReshapeOp(bias, [outer[0], *groups, *outer[2:]])))
    attention = Attention(grouped, keys, values, scale_of(node, query))
    sink = _sink(node, [batch, shared, group, new, Dim.of(1)], query)
    found, _ = attention.emit(node, masks, node.number("softcap", 0.0), sink)
    plain = node.emit(graph.TransposeOp(found, [0, 3, 1, 2, 4]))
    return node.emit(graph.ReshapeOp(plain, [batch, new, heads * node.dims(value)[3]]))


def _mask(node: ContribNode, like: SSAValue, rows: _Rows) -> SSAValue:
    """
    The additive mask [B, 1, 1, S, T] of keys after a query's own, before its window, or past the end of the
    row.
    """
    past, lengths = (node.emit(graph.ExpandDimsOp(x, [1, 2, 4])) for x in (rows.past, rows.lengths))
    keys = count_up(node, rows.total, 4, 5)
    position = node.add(past, count_up(node, rows.new, 3, 5))
    if not node.integer("causal", 1):
        position = node.emit(graph.SubtractOp(lengths, node.constant(1, i64)))
    is_seen = node.emit(graph.LessEqualOp(keys, position))
    if (window := node.integer("local_window_size", -1)) > 0:
        begin = node.emit(graph.SubtractOp(position, node.constant(window, i64)))
        is_seen = node.emit(graph.AndOp(is_seen, node.emit(graph.LessOp(begin, keys))))
    return allowed_or(node, is_seen, like, lowest(node, like))


def _sink(node: ContribNode, dims: Sequence[Dim], like: SSAValue) -> SSAValue | None:
    """The score of a key without value: one per head, or 0 for a smooth softmax."""
    if (sink := node.optional(11)) is not None:
        sink = node.emit(graph.ReshapeOp(sink, [1, dims[1], dims[2], 1, 1]))
    elif node.integer("smooth_softmax", 0) == 1:
        sink = node.like(like, 0)
    else:
        return None
    return node.emit(graph.BroadcastToOp(sink, dims))


OPERATORS: Mapping[str, Meaning] = {"GroupQueryAttention": _group_query_attention}
"""The operators of this file with their meanings."""
