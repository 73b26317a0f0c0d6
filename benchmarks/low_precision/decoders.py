"""Decoders with weights of 4 bits as onnxruntime-genai exports them: a step, a prompt, a large capacity."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx
from onnx import NodeProto, TensorProto, helper, numpy_helper

from benchmarks.deploy.figures import Figure, judged, skipped
from benchmarks.low_precision.measuring import Measuring, is_installed, ratios
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc.interleaved import Runner
from stepwell.runtime.sessions.session import Session
from stepwell.tools.driver.compile import compile
from stepwell.tools.measure.peers import onnxruntime_session

_LEVEL = 4
_BLOCK = 32
_VOCABULARY = 4096
_POSITIONS = 4096
_CACHES = (128, 1500)
_PROMPT = 128
_NOISE = 0.1
"""More than activations of 8 bits, which level 4 has, make of logits."""
_FEW_BYTES = 16 << 10
"""More than Python's own objects of a call; less than any cache or logits."""


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
        blocks = steps // _BLOCK
        codes = np.frombuffer(self.rng.bytes(columns * steps // 2), np.uint8)
        scales = self.rng.uniform(0.5, 1.5, (columns, blocks)) * 0.2 / np.sqrt(steps)
        constants = [
            self.constant(f"{name}.codes", codes.reshape(columns, blocks, _BLOCK // 2)),
            self.constant(f"{name}.scales", scales.astype(np.float32)),
        ]
        sizes: dict[str, Any] = {"K": steps, "N": columns, "bits": 4, "block_size": _BLOCK}
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
    table = g.rng.standard_normal((_VOCABULARY, shape.width)).astype(np.float32)
    x = g.node("Gather", [g.constant("table", table), "input_ids"], "embedded")
    for layer in range(shape.layers):
        name = f"layer.{layer}"
        found = g.attention(g.norm(x, f"{name}.norm"), name, layer)
        x = g.node("Add", [x, found], f"{name}.attended")
        x = g.node("Add", [x, g.gated(g.norm(x, f"{name}.norm2"), name)], f"{name}.result")
    g.product(g.norm(x, "norm"), "logits", shape.width, _VOCABULARY)
    return _model(g)


def _model(g: _Graph) -> onnx.ModelProto:
    value, ints, floats = helper.make_tensor_value_info, TensorProto.INT64, TensorProto.FLOAT
    inputs = [value("input_ids", ints, ["batch", "new"]), value("attention_mask", ints, ["batch", "total"])]
    outputs = [value("logits", floats, ["batch", "new", _VOCABULARY])]
    for layer in range(g.shape.layers):
        for part in ("key", "value"):
            past, total = (["batch", g.shape.shared, n, g.shape.size] for n in ("past", "total"))
            inputs.append(value(f"past_key_values.{layer}.{part}", floats, past))
            outputs.append(value(f"present.{layer}.{part}", floats, total))
    graph = helper.make_graph(g.nodes, "decoder", inputs, outputs, g.weights)
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def _ours(model: CompiledModel, length: int, ids: npt.NDArray[np.int64], capacity: int) -> Runner:
    """A call on new tokens after `length` others, which are zeros; it is forgotten before the next."""
    session: Session[CompiledModel] = model.session(capacity=capacity, batch=1)
    numbers = [name for name, state in session.state.items() if np.ndim(state) == 0]
    (name,) = numbers
    session.state[name] = length

    def run() -> Sequence[Any]:
        logits = session(ids)
        session.rewind(ids.shape[1])
        return [logits]

    return run


def _theirs(session: Any, shape: Shape, length: int, ids: npt.NDArray[np.int64]) -> Mapping[str, Runner]:
    """The same in ONNX Runtime: with caches that are copied, and with caches written in place."""
    total, size = length + ids.shape[1], shape.size
    feeds = {"input_ids": ids, "attention_mask": np.ones((1, total), np.int64)}
    names = [f"{layer}.{part}" for layer in range(shape.layers) for part in ("key", "value")]
    pasts = {f"past_key_values.{n}": np.zeros((1, shape.shared, length, size), np.float32) for n in names}
    runtime = __import__("onnxruntime")
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_cpu_input(name, array)
    buffers = {n: np.zeros((1, shape.shared, total + _BLOCK, size), np.float32) for n in names}
    for name, array in buffers.items():
        shared = runtime.OrtValue.ortvalue_from_numpy(array)
        binding.bind_ortvalue_input(f"past_key_values.{name}", shared)
        binding.bind_ortvalue_output(f"present.{name}", shared)
    binding.bind_output("logits")
    return {
        "copied": partial(session.run, ["logits"], feeds | pasts),
        "shared": partial(session.run_with_iobinding, binding),
    }


def decoder_figures(how: Measuring, shape: Shape) -> Iterator[Figure]:
    """Steps and a prompt of a decoder against the faster way of ONNX Runtime."""
    shape = shape.of(how.layers)
    title = f"{shape.name}, {shape.layers} layers, w4, f32 activations"
    if not is_installed("onnxruntime"):
        yield skipped(title, "onnxruntime is not installed", "1.5 of ONNX Runtime, a prompt 1.6")
        return
    path = how.folder / "decoder.onnx"
    onnx.save(decoder(shape), path)
    model = compile(path, threads=how.threads, states="auto", activations="f32")
    peer = onnxruntime_session(path, how.threads)
    steps: dict[str, float] = {}
    for length in _CACHES:
        steps[f"{length}"] = _ratio(how, model, peer, shape, length, 1)
    yield ratios(f"{title}, a step by cache", steps, 1.5, "ONNX Runtime (level 4)")
    prompt = {f"{_PROMPT}": _ratio(how, model, peer, shape, 0, _PROMPT)}
    yield ratios(f"{title}, a prompt", prompt, 1.6, "ONNX Runtime (level 4)")
    yield skipped(f"{title}: llama.cpp", "its files are not written here", ">= 1.0 of Q4_0; prompt in int8")
    if shape.name == QWEN.name:
        yield from _capacity(how, model, path)


def _ratio(how: Measuring, model: CompiledModel, peer: Any, shape: Shape, length: int, new: int) -> float:
    """ONNX Runtime's time over ours for new tokens after others. Raises: SystemExit for other logits."""
    ids = np.random.default_rng(1).integers(0, _VOCABULARY, (1, new))
    ours = _ours(model, length, ids, length + new + _BLOCK)
    theirs = _theirs(peer, shape, length, ids)
    found, wanted = (np.asarray(list(cast("Any", run()))[0]) for run in (ours, theirs["copied"]))
    error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    if error > _NOISE:
        raise SystemExit(f"logits differ by {error:.2f} of their size")
    least = how.least({"stepwell": ours, **theirs})
    return min(least["copied"], least["shared"]) / least["stepwell"]


def _capacity(how: Measuring, model: CompiledModel, path: Path) -> Iterator[Figure]:
    """A step at a length with a large capacity, and the memory that it allocates."""
    ids = np.zeros((1, 1), np.int64)
    runners = {f"{size}": _ours(model, _PROMPT, ids, size) for size in (256, 2048)}
    least = how.least(runners)
    ratio = least["2048"] / least["256"]
    what = f"a step at length {_PROMPT}, capacity 2048 against 256"
    yield judged(what, f"{ratio:.3f}", "<= 1.05", ratio <= 1.05)
    yield _allocated(runners["2048"])


def _allocated(run: Runner) -> Figure:
    """The bytes that a call allocates besides its logits, by numpy and Python."""
    run()
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1] - _VOCABULARY * np.float32().nbytes
    tracemalloc.stop()
    what = "bytes allocated in a step, without its logits"
    return judged(what, f"{peak}", f"<= {_FEW_BYTES}: objects of Python", peak <= _FEW_BYTES)
