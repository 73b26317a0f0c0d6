"""Small random decoders as exporters write them, and the loop over explicit past and present."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

Array = npt.NDArray[Any]

LAYERS, HEADS, SHARED, SIZE, VOCABULARY = 2, 4, 2, 16, 50
WIDTH = HEADS * SIZE
BUFFER = 16
"""The size of caches that are buffers."""


class _Graph:
    """A model under construction."""

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []

    def weight(self, name: str, *shape: int) -> str:
        """A random initializer."""
        values = self.rng.standard_normal(shape) / np.sqrt(shape[0])
        return self.constant(name, values.astype(np.float32))

    def constant(self, name: str, value: Array) -> str:
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def node(self, op: str, inputs: Sequence[str], output: str, **attributes: Any) -> str:
        """A node with one output."""
        self.nodes.append(helper.make_node(op, inputs, [output], output, **attributes))
        return output

    def product(self, x: str, name: str, rows: int, columns: int) -> str:
        return self.node("MatMul", [x, self.weight(f"{name}.weight", rows, columns)], name)

    def norm(self, x: str, name: str) -> str:
        scale = self.weight(f"{name}.weight", WIDTH)
        return self.node("LayerNormalization", [x, scale], name, axis=-1)


def decoder(kind: str = "grouped", *, seed: int = 0, layers: int = LAYERS) -> ModelProto:
    """
    A random decoder of two layers.

    Args: `kind` is `grouped` for GroupQueryAttention with rotary embeddings and a mask of tokens, as
    onnxruntime-genai's builder exports; `plain` for Concat, MatMul and Softmax with positions; `attention`
    for Attention of opset 23, which joins keys itself; `scatter` for Attention on a buffer that TensorScatter
    writes into.
    """
    g = _Graph(seed)
    x = g.node("Gather", [g.weight("embedding", VOCABULARY, WIDTH), "input_ids"], "embedded")
    begin = {"grouped": _lengths, "plain": _mask}.get(kind)
    attention = {"grouped": _grouped, "plain": _plain, "attention": _attention, "scatter": _scattered}[kind]
    if begin is not None:
        begin(g)
    for layer in range(layers):
        name = f"layer.{layer}"
        h = g.norm(x, f"{name}.norm")
        found = g.product(attention(g, h, name, layer), f"{name}.out", WIDTH, WIDTH)
        x = g.node("Add", [x, found], f"{name}.attended")
        h = g.norm(x, f"{name}.norm2")
        up = g.node("Tanh", [g.product(h, f"{name}.up", WIDTH, 2 * WIDTH)], f"{name}.tanh")
        x = g.node("Add", [x, g.product(up, f"{name}.down", 2 * WIDTH, WIDTH)], f"{name}.result")
    g.product(g.norm(x, "norm"), "logits", WIDTH, VOCABULARY)
    return _model(g, kind, layers)


def _model(g: _Graph, kind: str, layers: int) -> ModelProto:
    ints, floats = TensorProto.INT64, TensorProto.FLOAT
    new, total = ["batch_size", "sequence_length"], ["batch_size", "total_sequence_length"]
    inputs = [helper.make_tensor_value_info("input_ids", ints, new)]
    if kind in ("grouped", "plain"):
        inputs.append(helper.make_tensor_value_info("attention_mask", ints, total))
    if kind == "plain":
        inputs.append(helper.make_tensor_value_info("position_ids", ints, new))
    lengths = ("past_sequence_length", "total_sequence_length")
    if kind == "scatter":
        lengths = (BUFFER, BUFFER)
        for name in ("write_indices", "nonpad_kv_seqlen"):
            inputs.append(helper.make_tensor_value_info(name, ints, ["batch_size"]))
    outputs = [helper.make_tensor_value_info("logits", floats, ["batch_size", "sequence_length", VOCABULARY])]
    for layer in range(layers):
        for part in ("key", "value"):
            past, total = (["batch_size", SHARED, n, SIZE] for n in lengths)
            inputs.append(helper.make_tensor_value_info(f"past_key_values.{layer}.{part}", floats, past))
            outputs.append(helper.make_tensor_value_info(f"present.{layer}.{part}", floats, total))
    graph = helper.make_graph(g.nodes, "decoder", inputs, outputs, g.weights)
    opsets = [
        helper.make_opsetid("", 24 if kind in ("attention", "scatter") else 21),
        helper.make_opsetid("com.microsoft", 1),
    ]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _lengths(g: _Graph) -> None:
    """The lengths that GroupQueryAttention takes, and the tables of its rotary embedding."""
    one, axis = g.constant("one", np.array([1], np.int64)), g.constant("axis", np.array([1], np.int64))
    count = g.node("ReduceSum", ["attention_mask", axis], "count", keepdims=0)
    g.node("Cast", [g.node("Sub", [count, one], "last")], "seqlens_k", to=TensorProto.INT32)
    shape = g.node("Shape", ["attention_mask"], "mask_shape")
    index = g.constant("index", np.array(1, np.int64))
    total = g.node("Gather", [shape, index], "total")
    g.node("Cast", [total], "total_sequence_length", to=TensorProto.INT32)
    angles = np.arange(256)[:, None] / 100 ** (np.arange(SIZE // 2) / (SIZE // 2))
    g.constant("cos", np.cos(angles).astype(np.float32))
    g.constant("sin", np.sin(angles).astype(np.float32))


def _grouped(g: _Graph, h: str, name: str, layer: int) -> str:
    """Attention by GroupQueryAttention."""
    query = g.product(h, f"{name}.q", WIDTH, WIDTH)
    key, value = (g.product(h, f"{name}.{part}", WIDTH, SHARED * SIZE) for part in "kv")
    pasts = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
    presents = [f"present.{layer}.{part}" for part in ("key", "value")]
    inputs = [query, key, value, *pasts, "seqlens_k", "total_sequence_length", "cos", "sin"]
    outputs = [f"{name}.attention", *presents]
    attributes: dict[str, Any] = {"num_heads": HEADS, "kv_num_heads": SHARED, "do_rotary": 1}
    g.nodes.append(
        helper.make_node("GroupQueryAttention", inputs, outputs, name, domain="com.microsoft", **attributes)
    )
    return outputs[0]


def _mask(g: _Graph) -> None:
    """The additive mask [B, 1, S, T] of keys after a query's position, or hidden by the mask of tokens."""
    shape = g.node("Shape", ["attention_mask"], "mask_shape")
    total = g.node("Gather", [shape, g.constant("index", np.array(1, np.int64))], "total")
    zero, one = (g.constant(name, np.array(n, np.int64)) for name, n in (("zero", 0), ("one", 1)))
    keys = g.node("Range", [zero, total, one], "keys")
    at = g.node(
        "Unsqueeze", ["position_ids", g.constant("query_axes", np.array([1, 3], np.int64))], "queries"
    )
    causal = g.node("LessOrEqual", [keys, at], "causal")
    given = g.node("Cast", ["attention_mask"], "mask_bool", to=TensorProto.BOOL)
    given = g.node("Unsqueeze", [given, g.constant("key_axes", np.array([1, 2], np.int64))], "mask4")
    seen = g.node("And", [causal, given], "seen")
    numbers = [g.constant(name, np.array(n, np.float32)) for name, n in (("nothing", 0), ("hidden", -1e30))]
    g.node("Where", [seen, *numbers], "mask")


def _plain(g: _Graph, h: str, name: str, layer: int) -> str:
    """Attention in parts, with the keys of each group repeated."""
    parts = _heads(g, h, name)
    repeated: list[str] = []
    for part, new in zip(("key", "value"), parts[1:], strict=True):
        past, present = f"past_key_values.{layer}.{part}", f"present.{layer}.{part}"
        g.node("Concat", [past, new], present, axis=2)
        axes = g.constant(f"{name}.{part}.axes", np.array([2], np.int64))
        wide = g.node("Unsqueeze", [present, axes], f"{name}.{part}.wide")
        ones = g.constant(f"{name}.{part}.ones", np.array([1, 1, HEADS // SHARED, 1, 1], np.int64))
        wide = g.node("Expand", [wide, ones], f"{name}.{part}.expanded")
        shape = g.constant(f"{name}.{part}.flat", np.array([0, HEADS, -1, SIZE], np.int64))
        repeated.append(g.node("Reshape", [wide, shape], f"{name}.{part}.repeated"))
    keys = g.node("Transpose", [repeated[0]], f"{name}.keys", perm=[0, 1, 3, 2])
    scores = g.node("MatMul", [parts[0], keys], f"{name}.scores")
    scale = g.constant(f"{name}.scale", np.array(SIZE**-0.5, np.float32))
    masked = g.node("Add", [g.node("Mul", [scores, scale], f"{name}.scaled"), "mask"], f"{name}.masked")
    weights = g.node("Softmax", [masked], f"{name}.softmax", axis=-1)
    found = g.node("MatMul", [weights, repeated[1]], f"{name}.sums")
    return _merged(g, found, name)


def _heads(g: _Graph, h: str, name: str) -> list[str]:
    """Queries, keys and values [B, heads, S, size]."""
    parts: list[str] = []
    for part, heads in (("q", HEADS), ("k", SHARED), ("v", SHARED)):
        flat = g.product(h, f"{name}.{part}", WIDTH, heads * SIZE)
        shape = g.constant(f"{name}.{part}.shape", np.array([0, 0, heads, SIZE], np.int64))
        split = g.node("Reshape", [flat, shape], f"{name}.{part}.split")
        parts.append(g.node("Transpose", [split], f"{name}.{part}.heads", perm=[0, 2, 1, 3]))
    return parts


def _merged(g: _Graph, found: str, name: str) -> str:
    rows = g.node("Transpose", [found], f"{name}.rows", perm=[0, 2, 1, 3])
    shape = g.constant(f"{name}.merged", np.array([0, 0, WIDTH], np.int64))
    return g.node("Reshape", [rows, shape], f"{name}.joined")


def _attention(g: _Graph, h: str, name: str, layer: int) -> str:
    """Attention that joins past and new keys."""
    pasts, presents = (
        [f"{n}.{layer}.{part}" for part in ("key", "value")] for n in ("past_key_values", "present")
    )
    inputs, outputs = [*_heads(g, h, name), "", *pasts], [f"{name}.attention", *presents]
    g.nodes.append(helper.make_node("Attention", inputs, outputs, name, is_causal=1))
    return _merged(g, outputs[0], name)


def _scattered(g: _Graph, h: str, name: str, layer: int) -> str:
    """Attention on buffers of keys and values, into which new ones are written."""
    query, *news = _heads(g, h, name)
    presents: list[str] = []
    for part, new in zip(("key", "value"), news, strict=True):
        inputs = [f"past_key_values.{layer}.{part}", new, "write_indices"]
        presents.append(g.node("TensorScatter", inputs, f"present.{layer}.{part}", axis=-2))
    inputs = [query, *presents, "", "", "", "nonpad_kv_seqlen"]
    found = g.node("Attention", inputs, f"{name}.attention", is_causal=1)
    return _merged(g, found, name)


class Explicit:
    """A decoder with explicit past and present, called as a session is; `run` takes feeds by name."""

    def __init__(self, run: Any, model: ModelProto, batch: int = 1):
        self._run, self._batch = run, batch
        self._names = [value.name for value in model.graph.input]
        caches = [n for n in self._names if n.startswith("past_key_values")]
        self._length, self._has_buffers = 0, "write_indices" in self._names
        size = BUFFER if self._has_buffers else 0
        self.past: Mapping[str, Array] = {
            n: np.zeros((batch, SHARED, size, SIZE), np.float32) for n in caches
        }

    def __call__(self, ids: Sequence[int] | Array) -> Array:
        """The logits of new tokens, which become past ones."""
        tokens = np.asarray(ids, np.int64).reshape(self._batch, -1)
        before, total = self._length, self._length + tokens.shape[1]
        self._length = total
        feeds: dict[str, Array] = {
            "input_ids": tokens,
            "attention_mask": np.ones((self._batch, total), np.int64),
            "position_ids": np.arange(before, total)[None].repeat(self._batch, 0),
            "write_indices": np.full(self._batch, before),
            "nonpad_kv_seqlen": np.full(self._batch, total),
            **self.past,
        }
        found = self._run({name: feeds[name] for name in self._names})
        self.past = {n: found[n.replace("past_key_values", "present")] for n in self.past}
        return found["logits"]
