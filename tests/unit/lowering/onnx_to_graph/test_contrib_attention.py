"""Attention of ONNX Runtime's own domain, compiled, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.runtime.meaning import Array
from tests.contrib_models import agree, expected_of, floats, model_of
from tests.support.samples import whole

RNG = np.random.default_rng(31)
B, S, T, N, H = 2, 3, 5, 4, 8
D = N * H

Q, K, V = floats(B, S, D), floats(B, T, D), floats(B, T, D)
PAST = [floats(B, N, 2, H), floats(B, N, 2, H)]
KEPT = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
SQUARE = RNG.integers(0, 2, (B, S, T)).astype(np.int32)
SQUARE[:, :, 0] = 1
QKV = floats(3 * D)

HEADS: list[tuple[str, list[Array | None], dict[str, Any]]] = [
    # The outputs that the model has, the inputs, the attributes.
    ("o", [Q, K, V], {}),
    ("o", [Q, K, floats(B, T, N * 6)], {"scale": 0.5}),
    ("o", [Q, K, V, QKV], {}),
    ("okv", [Q, K, V], {}),
    ("o", [Q, K, V, None, KEPT], {}),
    ("o", [Q, K, V, None, KEPT], {"mask_filter_value": -5.0}),
    ("o", [Q, K, V, None, SQUARE], {}),
    ("o", [Q, K, V, None, np.array([2, 5], np.int32)], {}),
    ("o", [Q, K, V, None, None, floats(B, N, S, T)], {}),
    ("o", [Q, K, V, None, None, floats(1, 1, S, T)], {}),
    ("o", [K, K, V], {"unidirectional": 1}),
    ("okv", [Q, floats(B, S, D), floats(B, S, D), None, KEPT, None, *PAST], {"unidirectional": 1}),
    ("o", [Q, floats(B, N, T, H), floats(B, N, T, H)], {}),
]


@pytest.mark.sample(6)
@pytest.mark.parametrize(("outputs", "inputs", "attributes"), HEADS)
def test_multi_head_attention(outputs: str, inputs: list[Array | None], attributes: dict[str, Any]) -> None:
    agree(model_of("MultiHeadAttention", inputs, [3], outputs, num_heads=N, **attributes), inputs)


X, WEIGHTS, BIAS = floats(B, T, 16), floats(16, 3 * D), floats(3 * D)
PACKED: list[tuple[str, list[Array | None], dict[str, Any]]] = [
    ("o", [X, WEIGHTS, BIAS], {}),
    ("o", [X, WEIGHTS, BIAS], {"scale": 0.3}),
    ("o", [X, WEIGHTS, BIAS, KEPT], {}),
    ("o", [X, WEIGHTS, BIAS, np.array([2, 5], np.int32)], {}),
    ("o", [X, WEIGHTS, BIAS, np.array([4, 5, 1, 0], np.int32)], {}),
    ("o", [X, WEIGHTS, BIAS, RNG.integers(0, 2, (B, T, T)).astype(np.int32)], {}),
    ("o", [X, WEIGHTS, BIAS, np.ones((B, 1), np.int32)], {"unidirectional": 1}),
    ("op", [X, WEIGHTS, BIAS, None, floats(2, B, N, 3, H)], {"unidirectional": 1}),
    ("o", [X, WEIGHTS, BIAS, None, None, floats(B, N, T, T)], {}),
    ("o", [X, floats(16, 2 * D + 12), floats(2 * D + 12)], {"qkv_hidden_sizes": [D, D, 12]}),
]


@pytest.mark.sample(6)
@pytest.mark.parametrize(("outputs", "inputs", "attributes"), PACKED)
def test_attention(outputs: str, inputs: list[Array | None], attributes: dict[str, Any]) -> None:
    agree(model_of("Attention", inputs, [1, 2], outputs, num_heads=N, **attributes), inputs)


COS, SIN = floats(16, 4), floats(16, 4)
IDS = np.array([[3, 4, 5], [0, 1, 2]], np.int64)
ROTARY: list[tuple[list[Array | None], dict[str, Any]]] = [
    ([Q, IDS, COS, SIN], {}),
    ([Q, np.array([2], np.int64), COS, SIN], {"interleaved": 1}),
    ([floats(B, N, S, H), IDS, COS, SIN], {}),
    ([Q, IDS, floats(16, 2), floats(16, 2)], {"rotary_embedding_dim": 4, "num_heads": N}),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize(("inputs", "attributes"), ROTARY)
def test_rotary_embedding(inputs: list[Array | None], attributes: dict[str, Any]) -> None:
    agree(model_of("RotaryEmbedding", inputs, [2, 3], **attributes), inputs)


GROUPS, SIZE = 2, 16
NEW = [floats(1, 3, N * SIZE), floats(1, 3, GROUPS * SIZE), floats(1, 3, GROUPS * SIZE)]
NEXT = [floats(B, 1, N * SIZE), floats(B, 1, GROUPS * SIZE), floats(B, 1, GROUPS * SIZE)]
CACHE = [floats(B, GROUPS, 6, SIZE), floats(B, GROUPS, 6, SIZE)]
ANGLES = [floats(16, 8), floats(16, 8)]
NONE = [None, None]


def lengths(total: int, *rows: int) -> list[Array | None]:
    """`seqlens_k` and `total_sequence_length`."""
    return [np.array([row - 1 for row in rows], np.int32), np.array([total], np.int32)]


GROUPED: list[tuple[list[Array | None], dict[str, Any]]] = [
    ([*NEW, *NONE, *lengths(3, 3)], {}),
    ([*NEW, *NONE, *lengths(3, 3), *ANGLES], {"do_rotary": 1}),
    ([*NEW, *NONE, *lengths(3, 3), *ANGLES], {"do_rotary": 1, "rotary_interleaved": 1, "scale": 0.7}),
    ([floats(1, 3, 8 * SIZE), None, None, *NONE, *lengths(3, 3), *ANGLES], {"do_rotary": 1}),
    ([*NEXT, *CACHE, *lengths(7, 7, 7)], {}),
    ([*NEXT, *CACHE, *lengths(7, 4, 7), *ANGLES], {"do_rotary": 1}),
    ([*NEXT, *CACHE, *lengths(5, 4, 5)], {}),
    ([*NEXT, *CACHE, *lengths(7, 7, 5)], {"local_window_size": 2}),
    ([*NEXT, *CACHE, *lengths(7, 7, 5)], {"softcap": 2.0, "smooth_softmax": 1}),
    ([*NEXT, *CACHE, *lengths(7, 7, 5), *NONE, None, floats(B, 1, 1, 7)], {}),
    ([*NEXT, *CACHE, *lengths(7, 7, 5), *NONE, None, None, floats(N)], {}),
    ([*NEXT, *CACHE, *lengths(7, 7, 6), *ANGLES, np.array([[3], [9]], np.int64)], {"do_rotary": 1}),
    ([*NEW, floats(1, GROUPS, 2, SIZE), floats(1, GROUPS, 2, SIZE), *lengths(5, 5)], {}),
]


@pytest.mark.sample(6)
@pytest.mark.parametrize(("inputs", "attributes"), GROUPED)
def test_group_query_attention(inputs: list[Array | None], attributes: dict[str, Any]) -> None:
    model = model_of(
        "GroupQueryAttention", inputs, [7, 8], "okv", num_heads=N, kv_num_heads=GROUPS, **attributes
    )
    agree(model, inputs)


@whole
def test_one_compilation_serves_all_lengths() -> None:
    weights = [7, 8]
    calls = [[*NEXT, *CACHE, *lengths(7, 4, 7), *ANGLES], [*NEW, *_empty(), *lengths(3, 3), *ANGLES]]
    model = model_of(
        "GroupQueryAttention", calls[0], weights, "okv", num_heads=N, kv_num_heads=2, do_rotary=1
    )
    names = [["B", "S"]] * 3 + [["B", "", "P"]] * 2 + [["B"]]
    for value, dims in zip(model.graph.input, names, strict=False):
        for dim, name in zip(value.type.tensor_type.shape.dim, dims, strict=False):
            if name:
                dim.dim_param = name
    compiled = stepwell.compile(model)
    for inputs in calls:
        agree(model, inputs, compiled=compiled)


def _empty() -> list[Array]:
    return [floats(1, GROUPS, 0, SIZE), floats(1, GROUPS, 0, SIZE)]


def _same(inputs: list[Array | None], plain: list[Array | None], op_type: str, **attributes: int) -> None:
    """Inputs in a form that ONNX Runtime has for other devices only mean what the plain ones mean to it."""
    domain = "com.microsoft"
    models = [model_of(op_type, each, (), "okv", domain, **attributes) for each in (inputs, plain)]
    feeds = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
    found = stepwell.compile(models[0]).run(feeds)
    for name, value in expected_of(models[1], plain).items():
        assert np.allclose(found[name], value, atol=2e-5)


def test_packed_heads() -> None:
    keys = [x.reshape(B, T, N, H) for x in (K, V)]
    _same([Q, np.stack(keys, 3)], [Q, K, V], "MultiHeadAttention", num_heads=N)
    whole = np.stack([keys[0], *keys], 3)
    _same([whole, None, None, QKV], [K, K, V, QKV], "MultiHeadAttention", num_heads=N)


def test_norm_of_heads() -> None:
    weights = [floats(SIZE), floats(SIZE)]

    def normalized(x: Array, weight: Array) -> Array:
        heads = x.reshape(*x.shape[:2], -1, SIZE).astype(np.float64)
        size = np.sqrt((heads**2).mean(-1, keepdims=True) + 1e-6)
        return (heads / size * weight.astype(np.float64)).astype(np.float32).reshape(x.shape)

    rest = [*NONE, *lengths(3, 3)]
    plain = [normalized(NEW[0], weights[0]), normalized(NEW[1], weights[1]), NEW[2], *rest]
    inputs = [*NEW, *rest, *NONE, *NONE, *NONE, None, *weights]
    _same(inputs, plain, "GroupQueryAttention", num_heads=N, kv_num_heads=GROUPS)
