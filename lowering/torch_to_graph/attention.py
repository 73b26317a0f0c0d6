"""Scaled dot-product attention."""

from __future__ import annotations

from math import inf, sqrt

from xdsl.dialects.builtin import f32, i64

from stepwell.dialects import graph
from stepwell.dialects.graph.relations import is_bool
from stepwell.lowering.to_graph import Value
from stepwell.lowering.torch_to_graph.support import Call, converts


def _attention(call: Call, mask: Value | None) -> Value:
    """softmax(q kᵀ scale + mask) v; each head of keys serves a group of heads of queries."""
    q, k, v = (call.tensor(name) for name in ("query", "key", "value"))
    if call.number("dropout_p") != 0:
        raise call.unsupported("attention with dropout", "call .eval() on the module before it is exported")
    mask, scale = summed_mask(call, q, k, mask), scale_of(call, q)
    is_grouped = call.flag("enable_gqa") or not call.has("enable_gqa")
    heads = _grouped(q, k, v, mask) if is_grouped else (q, k, v, mask)
    op = graph.AttentionOp(
        heads[0].ssa,
        heads[1].ssa,
        heads[2].ssa,
        None if heads[3] is None else heads[3].ssa,
        scale=scale,
        zero_masked=heads[3] is not None and not call.flag("is_causal"),  # a causal mask leaves each a key
    )
    return call.at.op(op).reshape(call.dims)


def summed_mask(call: Call, q: Value, k: Value, mask: Value | None) -> Value | None:
    """The mask as numbers to add: -inf for keys that a query does not use."""
    if call.flag("is_causal"):
        return _causal(q, k)
    if mask is None or not is_bool(mask.element):
        return None if mask is None else mask.cast(q.element)
    return call.at.where(mask, call.at.number(0, q.element), call.at.number(-inf, q.element))


def scale_of(call: Call, q: Value) -> float:
    """The factor of the scores. Raises: StepwellError `unsupported` for an open depth without one."""
    if (scale := call.value("scale")) is not None:
        return float(str(scale))
    depth = q.dims[-1]
    if not depth.is_static:
        raise call.unsupported(f"attention over the open depth {depth} without a scale")
    return 1 / sqrt(depth.value) if depth.value else 1.0


def _grouped(q: Value, k: Value, v: Value, mask: Value | None) -> tuple[Value, Value, Value, Value | None]:
    """Queries in groups, each with the head of keys that it uses."""
    heads, shared = q.dims[-3], k.dims[-3]
    if heads == shared:
        return q, k, v, mask
    group = heads // shared
    q = q.reshape([*q.dims[:-3], shared, group, *q.dims[-2:]])
    k, v = (each.unsqueeze(each.rank - 2) for each in (k, v))
    if mask is not None and mask.rank > 2:
        own = mask.dims[-3]
        split = [1, 1] if own == 1 else [shared, group]
        mask = mask.reshape([*mask.dims[:-3], *split, *mask.dims[-2:]])
    return q, k, v, mask


def _causal(q: Value, k: Value) -> Value:
    """-inf for the keys after a query's own position."""
    at = q.formula
    rows, columns = at.iota(q.dims[-2], i64).unsqueeze(1), at.iota(k.dims[-2], i64)
    return at.where(columns <= rows, at.number(0, q.element), at.number(-inf, q.element))


@converts("scaled_dot_product_attention.default")
def attention(call: Call) -> Value:
    """Attention with a mask of truth values or of numbers."""
    return _attention(call, call.optional("attn_mask"))


@converts("_scaled_dot_product_flash_attention_for_cpu.default")
def flash_attention(call: Call) -> list[Value | None]:
    """Attention, and, where training uses them, the logarithms of the sums of its exponentials."""
    mask = call.optional("attn_mask")
    result = _attention(call, mask)
    if not any(True for _ in call.op.results[1].uses):
        return [result, None]
    q, k = call.tensor("query").cast(f32), call.tensor("key").cast(f32)
    added, scale = summed_mask(call, q, k, mask), scale_of(call, q)
    q, k, _, added = _grouped(q, k, k, added)
    scores = q.matmul(k.matrix_transpose()) * scale
    if added is not None:
        scores = scores + added
    return [result, scores.reduce("log_sum_exp", [scores.rank - 1]).reshape(call.result_dims(1))]
