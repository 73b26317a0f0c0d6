"""A decoder with weights of 4 bits as onnxruntime-genai exports it, random, of the sizes of known models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

BLOCK = 32
"""Steps of a product that share a scale."""
VOCABULARY = 4096
_LEVEL = 4
_POSITIONS = 4096


@dataclass(frozen=True)
class Shape:
    """The sizes of a decoder with grouped heads."""

    name: str
    layers: int
    width: int
    inner: int
    heads: int
    shared: int
    size: int = 64

    def of(self, layers: int | None) -> Shape:
        """The same with at most so many layers."""
        return self if layers is None else replace(self, layers=min(layers, self.layers))


QWEN = Shape("Qwen2-0.5B", 24, 896, 4864, 14, 2)
TINY_LLAMA = Shape("TinyLlama", 22, 2048, 5632, 32, 4)


class _Graph:
    """A decoder under construction."""

    def __init__(self, shape: Shape):
        self.shape, self.rng = shape, np.random.default_rng(0)
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []

    def constant(self, name: str, value: npt.NDArray[Any]) -> str:
        """An initializer."""
        self.weights.append(numpy_helper.from_array(value, name))
        return name

    def node(self, op: str, inputs: Sequence[str], outputs: str, domain: str = "", **attributes: Any) -> str:
        """The first output of a node; `outputs` are separated by spaces."""
        names = outputs.split()
        self.nodes.append(helper.make_node(op, inputs, names, names[0], domain=domain, **attributes))
        return names[0]

    def product(self, x: str, name: str, steps: int, columns: int) -> str:
        """A product with random codes of 4 bits."""
        blocks = steps // BLOCK
        codes = np.frombuffer(self.rng.bytes(columns * steps // 2), np.uint8)
        scales = self.rng.uniform(0.5, 1.5, (columns, blocks)) * 0.2 / np.sqrt(steps)
        scales = scales.astype(np.float16)  # as other files of such models have them
        constants = [
            self.constant(f"{name}.codes", codes.reshape(columns, blocks, BLOCK // 2)),
            self.constant(f"{name}.scales", scales.astype(np.float32)),
        ]
        sizes: dict[str, Any] = {"K": steps, "N": columns, "bits": 4, "block_size": BLOCK}
        inputs = [x, *constants]
        return self.node("MatMulNBits", inputs, name, "com.microsoft", accuracy_level=_LEVEL, **sizes)

    def norm(self, x: str, name: str) -> str:
        """A division by the root of the mean of squares."""
        gain = self.constant(f"{name}.gain", np.ones(self.shape.width, np.float32))
        return self.node("SimplifiedLayerNormalization", [x, gain], name, axis=-1, epsilon=1e-6)

    def lengths(self) -> None:
        """The lengths and the tables of positions that attention takes."""
        one, index = self.constant("one", np.array([1])), self.constant("index", np.array(1))
        count = self.node("ReduceSum", ["attention_mask", one], "count", keepdims=0)
        self.node("Cast", [self.node("Sub", [count, one], "last")], "seqlens_k", to=TensorProto.INT32)
        total = self.node("Gather", [self.node("Shape", ["attention_mask"], "mask_shape"), index], "total")
        self.node("Cast", [total], "total_length", to=TensorProto.INT32)
        half = self.shape.size // 2
        angles = np.arange(_POSITIONS)[:, None] / 10000 ** (np.arange(half) / half)
        self.constant("cos", np.cos(angles).astype(np.float32))
        self.constant("sin", np.sin(angles).astype(np.float32))

    def attention(self, h: str, name: str, layer: int) -> str:
        """Attention of grouped heads with rotary positions, and its last product."""
        of = self.shape
        query = self.product(h, f"{name}.q", of.width, of.heads * of.size)
        key, value = (self.product(h, f"{name}.{part}", of.width, of.shared * of.size) for part in "kv")
        pasts = [f"past_key_values.{layer}.{part}" for part in ("key", "value")]
        presents = [f"present.{layer}.{part}" for part in ("key", "value")]
        inputs = [query, key, value, *pasts, "seqlens_k", "total_length", "cos", "sin"]
        heads = {"num_heads": of.heads, "kv_num_heads": of.shared, "do_rotary": 1}
        outputs = " ".join([f"{name}.attention", *presents])
        found = self.node("GroupQueryAttention", inputs, outputs, "com.microsoft", **heads)
        return self.product(found, f"{name}.out", of.heads * of.size, of.width)

    def gated(self, h: str, name: str) -> str:
        """The two products of a layer's second half, of which one is a gate."""
        of = self.shape
        gate = self.product(h, f"{name}.gate", of.width, of.inner)
        gate = self.node("Mul", [gate, self.node("Sigmoid", [gate], f"{name}.sigmoid")], f"{name}.silu")
        wide = self.node("Mul", [gate, self.product(h, f"{name}.up", of.width, of.inner)], f"{name}.wide")
        return self.product(wide, f"{name}.down", of.inner, of.width)


def decoder(shape: Shape) -> onnx.ModelProto:
    """A decoder with random weights and 4096 logits."""
    g = _Graph(shape)
    g.lengths()
    table = g.rng.standard_normal((VOCABULARY, shape.width)).astype(np.float32)
    x = g.node("Gather", [g.constant("table", table), "input_ids"], "embedded")
    for layer in range(shape.layers):
        name = f"layer.{layer}"
        found = g.attention(g.norm(x, f"{name}.norm"), name, layer)
        x = g.node("Add", [x, found], f"{name}.attended")
        x = g.node("Add", [x, g.gated(g.norm(x, f"{name}.norm2"), name)], f"{name}.result")
    g.product(g.norm(x, "norm"), "logits", shape.width, VOCABULARY)
    return _model(g)


def _model(g: _Graph) -> onnx.ModelProto:
    value, ints, floats = helper.make_tensor_value_info, TensorProto.INT64, TensorProto.FLOAT
    inputs = [value("input_ids", ints, ["batch", "new"]), value("attention_mask", ints, ["batch", "total"])]
    outputs = [value("logits", floats, ["batch", "new", VOCABULARY])]
    for layer in range(g.shape.layers):
        for part in ("key", "value"):
            past, total = (["batch", g.shape.shared, n, g.shape.size] for n in ("past", "total"))
            inputs.append(value(f"past_key_values.{layer}.{part}", floats, past))
            outputs.append(value(f"present.{layer}.{part}", floats, total))
    graph = helper.make_graph(g.nodes, "decoder", inputs, outputs, g.weights)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)
