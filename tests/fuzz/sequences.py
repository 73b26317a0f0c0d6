"""Random nodes of language models: attention, caches, recurrences, and what stands around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.fuzz.builder import GraphBuilder, Value
from tests.fuzz.layers import weights
from tests.fuzz.operators import Adder, is_float, ranked


def recurrent(g: GraphBuilder) -> None:
    """One of the cells over a few steps."""
    value = g.pick(lambda v: v.dtype == "float32" and len(v.shape) == 3)
    op, gates = g.choice([("RNN", 1), ("GRU", 3), ("LSTM", 4)])
    hidden, size = g.integer(1, 4), value.shape[2]
    w = weights(g, "float32", 1, gates * hidden, size)
    r = weights(g, "float32", 1, gates * hidden, hidden)
    b = weights(g, "float32", 1, 2 * gates * hidden)
    g.node(op, [value, w, r, *([b] if g.chance(0.6) else [])], outputs=2, hidden_size=hidden)


def attention(g: GraphBuilder) -> None:
    """With heads as a dimension or not; masks and groups of heads."""
    value = g.pick(lambda v: _is_sequence(v) and v.shape[2] % 2 == 0)
    batch, length, width = value.shape
    grouped = width % 4 == 0 and g.chance(0.4)
    heads, pairs = (4, 2) if grouped else (2, 2)
    others = [weights(g, "float32", batch, g.integer(1, 5), width // heads * pairs)] * 2
    mask = weights(g, "float32", length, others[0].shape[1]) if g.chance(0.4) else None
    inputs = [value, *others, *([mask] if mask is not None else [])]
    g.node(
        "Attention",
        inputs,
        q_num_heads=heads,
        kv_num_heads=pairs,
        is_causal=g.integer(0, 1) if mask is None else 0,
        softcap=g.choice([0.0, 2.0]),
    )


def linear_attention(g: GraphBuilder) -> None:
    """The recurrence without decay."""
    value = g.pick(lambda v: _is_sequence(v) and v.shape[2] % 2 == 0)
    key = weights(g, "float32", *value.shape)
    update = weights(g, "float32", value.shape[0], value.shape[1], 2 * g.integer(1, 3))
    linear: dict[str, Any] = {"q_num_heads": 2, "kv_num_heads": 2, "update_rule": "linear"}
    g.node("LinearAttention", [value, key, update], outputs=2, **linear)


def causal_conv(g: GraphBuilder) -> None:
    """A filter for each channel that looks back."""
    value = g.pick(_is_sequence)
    w = weights(g, "float32", value.shape[1], 1, g.integer(1, 4))
    bias = [weights(g, "float32", value.shape[1])] if g.chance(0.5) else []
    g.node("CausalConvWithState", [value, w, *bias], outputs=2, activation=g.choice(["none", "silu"]))


def rotary(g: GraphBuilder) -> None:
    """Pairs turned by an angle for each place."""
    value = g.pick(lambda v: v.dtype == "float32" and len(v.shape) == 4 and v.shape[3] % 2 == 0)
    half = (value.shape[0], value.shape[2], value.shape[3] // 2)
    g.node(
        "RotaryEmbedding",
        [value, weights(g, "float32", *half), weights(g, "float32", *half)],
        interleaved=g.integer(0, 1),
    )


def root_norm(g: GraphBuilder) -> None:
    """RMS normalization from any axis on."""
    value = g.pick(lambda v: v.dtype in ("float32", "float64") and ranked(v))
    axis = g.integer(0, len(value.shape) - 1)
    scale = weights(g, value.dtype, *value.shape[axis:])
    g.node("RMSNormalization", [value, scale], axis=axis, epsilon=0.01, precision="float32")


def gated(g: GraphBuilder) -> None:
    """The gate of SwiGLU on another value of its shape."""
    value = g.pick(lambda v: v.dtype in ("float32", "float64"))
    other = g.pick(lambda v: v.dtype == value.dtype and v.shape == value.shape)
    g.node("SwiGLU", [value, other], alpha=g.choice([1.0, 0.5]), precision="float32")


def cache_write(g: GraphBuilder) -> None:
    """New rows into a cache, at a place for each batch."""
    value = g.pick(lambda v: len(v.shape) in (3, 4) and is_float(v) and v.shape[-2] > 1)
    rows = g.integer(1, value.shape[-2] - 1)
    update = g.constant(g.draw(value.dtype, [*value.shape[:-2], rows, value.shape[-1]]))
    at = g.rng.integers(0, value.shape[-2] - rows + 1, value.shape[:1])
    g.node("TensorScatter", [value, update, g.constant(at)], exact=True, axis=-2)


def reversed_sequences(g: GraphBuilder) -> None:
    """The first elements of each row, from their end."""
    value = g.pick(lambda v: len(v.shape) >= 2 and v.array.size > 0)
    first = g.integer(0, 1)
    lengths = g.constant(g.rng.integers(1, value.shape[1 - first] + 1, value.shape[first]))
    g.node("ReverseSequence", [value, lengths], exact=True, batch_axis=first, time_axis=1 - first)


def class_loss(g: GraphBuilder) -> None:
    """The negative of the score of each row's class."""
    value = g.pick(lambda v: v.dtype == "float32" and len(v.shape) in (2, 3) and v.array.size > 0)
    classes = g.constant(g.rng.integers(0, value.shape[1], [value.shape[0], *value.shape[2:]]))
    weight = [weights(g, "float32", value.shape[1])] if g.chance(0.4) else []
    how = "none" if weight else g.choice(["none", "sum", "mean"])  # a mean divides by the sum of weights
    g.node("NegativeLogLikelihoodLoss", [value, classes, *weight], reduction=how)


def _is_sequence(value: Value) -> bool:
    return value.dtype == "float32" and len(value.shape) == 3 and value.array.size > 0


SEQUENCES: Mapping[Adder, float] = {
    recurrent: 0.4,
    attention: 0.6,
    linear_attention: 0.6,
    causal_conv: 0.6,
    rotary: 0.6,
    root_norm: 0.8,
    gated: 0.8,
    cache_write: 0.6,
    reversed_sequences: 0.5,
    class_loss: 0.4,
}
"""How often each is tried."""
