"""Models for `benchmarks.gpu`: single kernels and those of the zoo, with weights that seeds make."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.parser

import stepwell as sw
from benchmarks.gpu_runs.draws import Draw
from benchmarks.zoo import F32_MODELS, OPEN_MODELS, QUANTIZED_MODELS, Input, Model, model_path
from stepwell.runtime.errors import StepwellError

_ROOT = Path(__file__).resolve().parents[2]
_LEAST_BYTES = 1 << 14
"""Smaller constants are stored: scales, offsets, shapes and statistics among them."""
_FEW = 8
"""A constant with fewer different elements is a mask or a fill, and is stored: it takes no space."""
_FOLDS = (
    "convert-onnx-to-graph,fold-constant,dynamic-to-static,simplify-expr,"
    "simplify-inference{only=batch_norm},fold-constant,"
    "fold-scale-axis{direction=backward},fold-scale-axis{direction=forward},fold-constant"
)
"""The passes that compute weights: afterwards a compilation leaves the drawn ones as they are."""


@dataclass(frozen=True)
class Source:
    """A model before it is compiled, with inputs for each batch size."""

    name: str
    model: onnx.ModelProto
    draws: Sequence[Draw]
    inputs: Mapping[int, Mapping[str, Draw]]
    fixed: Mapping[str, Sequence[int]]
    """The shapes of inputs to compile for; empty where the file's are kept."""


_KERNELS: Mapping[str, tuple[str, Sequence[Sequence[int]]]] = {
    "copy": ("z = Neg(x)", [(4096, 4096)]),
    **{f"matmul-{n}": ("z = MatMul(x, y)", [(n, n), (n, n)]) for n in (4096, 1024, 256)},
    "softmax": ("z = Softmax(x)", [(4096, 1024)]),
    "elementwise": ("t = Tanh(x) z = Relu(t)", [(4096, 4096)]),
    "transpose": ("z = Transpose(x)", [(4096, 4096)]),
    "convolution": ("z = Conv<pads = [1, 1, 1, 1]>(x, y)", [(1, 64, 56, 56), (64, 64, 3, 3)]),
}
"""Single kernels: nodes, shapes of inputs. The first ones are the ceilings of the others."""
KERNELS = tuple(_KERNELS)
_DIGITS = Model("digits", {"x": Input("float32", (1, 64))})
_ZOO: Mapping[str, Model] = {"digits": _DIGITS, **OPEN_MODELS, **F32_MODELS, **QUANTIZED_MODELS}


def names() -> list[str]:
    """The names of all models, ceilings first."""
    return [*KERNELS, *_ZOO]


def source(name: str, batches: Sequence[int]) -> Source | None:
    """A model by its name; None where its file is not here."""
    if name in _KERNELS:
        nodes, shapes = _KERNELS[name]
        drawn = {f: Draw.normalized(i, s) for i, (f, s) in enumerate(zip("xy", shapes, strict=False))}
        return Source(name, onnx.parser.parse_model(_text(nodes, shapes)), [], {1: drawn}, {})
    model = _ZOO[name]
    if (path := _ROOT / "examples/digits.onnx" if model is _DIGITS else model_path(name)) is None:
        return None
    made = onnx.load(path) if name in QUANTIZED_MODELS else _folded(path)
    return Source(name, made, _draw_weights(made), _inputs(model, path, batches), model.input_shapes())


def _text(nodes: str, shapes: Sequence[Sequence[int]]) -> str:
    """The text of a model with the inputs x, y and the output z."""
    typed = (f"float[{', '.join(map(str, s))}] {name}" for name, s in zip("xy", shapes, strict=False))
    rank = ", ".join("abcd"[: len(shapes[0])])
    return (
        f'<ir_version: 8, opset_import: ["" : 18]>\ng ({", ".join(typed)}) => (float[{rank}] z) {{ {nodes} }}'
    )


def _inputs(model: Model, path: Path, batches: Sequence[int]) -> dict[int, dict[str, Draw]]:
    """The inputs for each batch size; for 1 alone where sizes are fixed."""
    infos = sw.read(path).inputs
    is_open = not model.fixed and all(info.shape and isinstance(info.shape[0], str) for info in infos)
    names = [info.name for info in infos]
    given = model.inputs if model is not _DIGITS else dict(zip(names, model.inputs.values(), strict=True))
    found: dict[int, dict[str, Draw]] = {}
    for batch in batches:
        if batch == 1 or is_open:
            found[batch] = {name: _input(number, given[name], batch) for number, name in enumerate(names)}
    return found


def _input(seed: int, spec: Input, batch: int) -> Draw:
    """The recipe of an input of the zoo, whose first dimension is repeated."""
    shape = (spec.shape[0] * batch, *spec.shape[1:])
    match spec.kind:
        case "normal":
            return Draw.normalized(seed, shape)
        case "uniform":
            return Draw.normalized(seed, shape, 0.5, 12**-0.5)
        case "ones":
            return Draw(seed, shape, spec.dtype, offset=1)
        case _:
            return Draw(seed, shape, spec.dtype, count=spec.high)


def _draw_weights(model: onnx.ModelProto) -> list[Draw]:
    """Draw weights in place of a model's own large ones; returns their recipes."""
    draws: list[Draw] = []
    for tensor in _constants(model.graph):
        if (draw := _draw_like(tensor)) is not None:
            draws.append(draw)
            tensor.CopyFrom(onnx.numpy_helper.from_array(draw.array(), tensor.name))
    return draws


def _folded(path: Path) -> onnx.ModelProto:
    """A model whose weights are computed; as it is where that cannot be written."""
    try:
        return sw.read(path).run(_FOLDS).to_onnx()
    except StepwellError:
        return onnx.load(path)


def _constants(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """The constants of a graph and of those inside of it."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                yield from _constants(attribute.g)
            elif attribute.type == onnx.AttributeProto.TENSOR:
                yield attribute.t


def _draw_like(tensor: onnx.TensorProto) -> Draw | None:
    """A recipe for numbers in the range of a large constant; None for a constant that is stored."""
    array: Any = onnx.numpy_helper.to_array(tensor)
    if array.nbytes < _LEAST_BYTES or np.unique(array.ravel()[: 1 << 12]).size < _FEW:
        return None
    seed = int.from_bytes(hashlib.sha256(tensor.name.encode()).digest()[:6], "little")
    if array.dtype == np.float32:
        mean, deviation = float(array.mean(dtype=np.float64)), float(array.std(dtype=np.float64))
        is_usual = np.isfinite([mean, deviation]).all() and deviation > abs(mean) / 64
        return Draw.normalized(seed, array.shape, mean, deviation) if is_usual else None
    if array.dtype in (np.int8, np.uint8):
        low, high = int(array.min()), int(array.max())
        return Draw(seed, array.shape, str(array.dtype), 0.0, low, high - low + 1)
    return None
