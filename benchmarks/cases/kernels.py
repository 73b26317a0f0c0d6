"""Kernels as models of one or a few nodes: matrix products, convolutions, recurrences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import onnx
from onnx import helper, numpy_helper

from stepwell.runtime.interface import Array

Shapes: TypeAlias = Mapping[str, Sequence[int]]
_OPSET = 23
_DTYPES = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


@dataclass(frozen=True)
class Case:
    """A kernel to measure: nodes that compute `y` from inputs and constant weights."""

    name: str
    nodes: Sequence[onnx.NodeProto]
    inputs: Shapes
    weights: Shapes = field(default_factory=dict[str, Sequence[int]])
    constants: Mapping[str, Array] = field(default_factory=dict[str, Array])
    flops: int = 0
    """
    Floating-point operations, two for a multiply-add; 0 for a kernel that is judged by the bytes it moves.
    """
    element: str = "f32"
    open: Mapping[str, Sequence[int | str]] = field(default_factory=dict[str, Sequence[int | str]])
    """Shapes of inputs with open dimensions, as the model declares them."""

    def feeds(self) -> dict[str, Array]:
        """Inputs in (0.1, 1.1), where every function is defined and far from its limits."""
        rng = np.random.default_rng(0)
        return {name: self._draw(rng, shape) for name, shape in self.inputs.items()}

    def model(self) -> onnx.ModelProto:
        """The nodes as a model."""
        rng = np.random.default_rng(1)
        held = {name: self._draw(rng, shape) for name, shape in self.weights.items()} | dict(self.constants)
        element = helper.np_dtype_to_tensor_dtype(self._type)
        graph = helper.make_graph(
            list(self.nodes),
            "kernel",
            [
                helper.make_tensor_value_info(name, element, list(self.open.get(name, shape)))
                for name, shape in self.inputs.items()
            ],
            [onnx.ValueInfoProto(name="y")],
            [numpy_helper.from_array(value, name) for name, value in held.items()],
        )
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", 3)]
        return onnx.shape_inference.infer_shapes(
            helper.make_model(graph, opset_imports=opsets, ir_version=10)
        )

    @property
    def _type(self) -> np.dtype[np.generic]:
        return _DTYPES[self.element]

    def _draw(self, rng: np.random.Generator, shape: Sequence[int]) -> Array:
        return rng.uniform(0.1, 1.1, tuple(shape)).astype(self._type)


def node(op: str, inputs: str, **attributes: Any) -> onnx.NodeProto:
    """A node that computes `y`; inputs and outputs with spaces between, as in `x w -> h`."""
    before, _, after = inputs.partition(" -> ")
    return helper.make_node(op, before.split(" "), (after or "y").split(" "), name=op.lower(), **attributes)


def product(m: int, n: int, k: int, element: str = "f32") -> Case:
    """`[m, k] @ [k, n]` with a constant right side."""
    name = f"{m}x{n}x{k}" + ("" if element == "f32" else f" {element}")
    return Case(
        name, [node("MatMul", "x w")], {"x": [m, k]}, {"w": [k, n]}, flops=2 * m * n * k, element=element
    )


def two_inputs(
    batch: Sequence[int], m: int, n: int, k: int, transposed: str = "", element: str = "f32"
) -> Case:
    """The product of two activations; `transposed` names operands that are stored transposed: `a`, `b`."""
    a = [*batch, k, m] if "a" in transposed else [*batch, m, k]
    b = [*batch, n, k] if "b" in transposed else [*batch, k, n]
    how = {"": "AB", "a": "AᵀB", "b": "ABᵀ"}[transposed] + ("" if element == "f32" else f" {element}")
    name = f"{'x'.join(map(str, batch)) or 1} x {m}x{n}x{k} {how}"
    if not batch:
        nodes = [node("Gemm", "x w", transA=int("a" in transposed), transB=int("b" in transposed))]
    else:
        perm = [*range(len(batch)), len(batch) + 1, len(batch)]
        transposes = [
            node("Transpose", f"{v} -> {v}t", perm=perm)
            for v, t in (("x", "a"), ("w", "b"))
            if t in transposed
        ]
        nodes = [
            *transposes,
            node("MatMul", f"{'xt' if 'a' in transposed else 'x'} {'wt' if 'b' in transposed else 'w'}"),
        ]
    return Case(name, nodes, {"x": a, "w": b}, flops=2 * prod(batch) * m * n * k, element=element)


@dataclass(frozen=True)
class Conv:
    """A convolution of an image (or signal, or volume) with size-preserving padding."""

    channels: int
    filters: int
    size: Sequence[int]
    kernel: Sequence[int]
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    batch: int = 1
    channels_last: bool = False
    element: str = "f32"

    def case(self) -> Case:
        """
        The convolution as a case; channels last with the transposes that a converter from TensorFlow writes.
        """
        rank = len(self.size)
        pads = [self.dilation * (k - 1) // 2 for k in self.kernel]
        out = [
            (s + 2 * p - self.dilation * (k - 1) - 1) // self.stride + 1
            for s, p, k in zip(self.size, pads, self.kernel, strict=True)
        ]
        names = ("h", "w -> g") if self.channels_last else ("x", "w")
        conv = node(
            "Conv",
            " ".join(names),
            kernel_shape=list(self.kernel),
            strides=[self.stride] * rank,
            dilations=[self.dilation] * rank,
            pads=pads * 2,
            group=self.groups,
        )
        nodes, shape = [conv], [self.batch, self.channels, *self.size]
        if self.channels_last:
            before = node("Transpose", "x -> h", perm=[0, rank + 1, *range(1, rank + 1)])
            nodes = [before, conv, node("Transpose", "g", perm=[0, *range(2, rank + 2), 1])]
            shape = [self.batch, *self.size, self.channels]
        weight = [self.filters, self.channels // self.groups, *self.kernel]
        flops = 2 * self.batch * prod(out) * prod(weight)
        return Case(self._name(), nodes, {"x": shape}, {"w": weight}, flops=flops, element=self.element)

    def _name(self) -> str:
        kernel, size = ("x".join(map(str, extents)) for extents in (self.kernel, self.size))
        parts = [f"{kernel} {self.channels}->{self.filters} @{size}"]
        marks = (
            ("stride", self.stride),
            ("dilation", self.dilation),
            ("groups", self.groups),
            ("batch", self.batch),
        )
        parts += [f"{word} {value}" for word, value in marks if value != 1]
        parts += ["channels last"] * self.channels_last + [self.element] * (self.element != "f32")
        return ", ".join(parts)


def transposed_conv(channels: int, filters: int, size: int, kernel: int, stride: int) -> Case:
    """A transposed convolution that enlarges an image by the factor `stride`."""
    pad = (kernel - stride) // 2
    conv = node("ConvTranspose", "x w", strides=[stride] * 2, pads=[pad] * 4, kernel_shape=[kernel] * 2)
    weight = [channels, filters, kernel, kernel]
    flops = 2 * size * size * prod(weight)
    name = f"transposed {kernel}x{kernel} {channels}->{filters} @{size}, stride {stride}"
    return Case(name, [conv], {"x": [1, channels, size, size]}, {"w": weight}, flops=flops)


def recurrence(cell: str, steps: int, batch: int, inputs: int, hidden: int) -> Case:
    """A layer of LSTM, GRU or RNN."""
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[cell]
    weights = {
        "w": [1, gates * hidden, inputs],
        "r": [1, gates * hidden, hidden],
        "b": [1, 2 * gates * hidden],
    }
    flops = 2 * steps * batch * gates * hidden * (inputs + hidden)
    name = f"{cell} {steps} steps, batch {batch}, {inputs}->{hidden}"
    return Case(
        name, [node(cell, "x w r b", hidden_size=hidden)], {"x": [steps, batch, inputs]}, weights, flops=flops
    )


def _square(
    channels: int,
    filters: int,
    size: int,
    kernel: int,
    stride: int = 1,
    groups: int = 1,
    dilation: int = 1,
    batch: int = 1,
) -> Case:
    return Conv(channels, filters, [size] * 2, [kernel] * 2, stride, dilation, groups, batch).case()


MATMUL: tuple[Case, ...] = (
    product(1024, 1024, 1024),
    product(128, 768, 768),
    product(128, 3072, 768),
    product(128, 768, 3072),
    product(196, 1024, 256),
    product(784, 128, 1152),
    product(49, 2048, 512),
    product(16, 768, 768),
    product(4, 4096, 1024),
    product(3136, 64, 576),
    product(12544, 64, 32),
    product(12544, 32, 27),
    product(2048, 16, 2048),
    product(100, 1000, 2048),
    product(513, 129, 257),
    product(1, 4096, 4096),
    two_inputs([], 256, 256, 256),
    two_inputs([], 256, 256, 256, "b"),
    two_inputs([], 256, 256, 256, "a"),
    two_inputs([12], 128, 128, 64, "b"),
    two_inputs([12], 128, 64, 128),
    two_inputs([8], 197, 197, 64, "b"),
    two_inputs([64], 49, 49, 32, "b"),
)
CONV: tuple[Case, ...] = (
    _square(64, 64, 56, 3),
    _square(128, 128, 28, 3),
    _square(256, 256, 14, 3),
    _square(512, 512, 7, 3),
    _square(64, 256, 56, 1),
    _square(256, 64, 56, 1),
    _square(512, 128, 28, 1),
    _square(256, 1024, 14, 1),
    _square(512, 2048, 7, 1),
    _square(2048, 512, 7, 1),
    _square(96, 24, 56, 1),
    _square(3, 64, 224, 7, 2),
    _square(3, 32, 224, 3, 2),
    _square(3, 64, 112, 3),
    _square(128, 128, 56, 3, 2),
    _square(256, 512, 56, 1, 2),
    _square(192, 192, 56, 3, groups=192),
    _square(384, 384, 56, 3, 2, groups=384),
    _square(480, 480, 28, 5, groups=480),
    _square(128, 128, 56, 3, groups=32),
    _square(256, 256, 28, 3, dilation=2),
    _square(32, 64, 28, 5),
    _square(64, 64, 28, 3, batch=4),
    Conv(128, 128, [17, 17], [1, 7]).case(),
    Conv(256, 256, [1000], [3]).case(),
    Conv(80, 384, [300], [9]).case(),
    Conv(32, 64, [16, 16, 16], [3, 3, 3]).case(),
    transposed_conv(128, 64, 28, 4, 2),
    transposed_conv(128, 64, 28, 2, 2),
)
CHANNELS_LAST: tuple[Case, ...] = (
    Conv(64, 64, [56, 56], [3, 3], channels_last=True).case(),
    Conv(64, 256, [56, 56], [1, 1], channels_last=True).case(),
    Conv(3, 32, [224, 224], [3, 3], 2, channels_last=True).case(),
    Conv(192, 192, [56, 56], [3, 3], groups=192, channels_last=True).case(),
)
SMALL_FLOATS: tuple[Case, ...] = (
    product(128, 768, 768, "f16"),
    product(128, 768, 768, "bf16"),
    two_inputs([12], 128, 128, 64, "b", "f16"),
    Conv(64, 64, [56, 56], [3, 3], element="f16").case(),
    Conv(64, 256, [56, 56], [1, 1], element="f16").case(),
    Conv(64, 64, [56, 56], [3, 3], element="bf16").case(),
)
RECURRENT: tuple[Case, ...] = (
    recurrence("LSTM", 64, 1, 256, 256),
    recurrence("LSTM", 32, 16, 128, 128),
    recurrence("GRU", 64, 1, 256, 256),
    recurrence("GRU", 32, 16, 128, 128),
    recurrence("RNN", 64, 1, 256, 256),
)
