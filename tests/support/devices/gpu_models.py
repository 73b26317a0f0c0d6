"""Small models whose kernels are mapped to a GPU naively, compared with level 2."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
from xdsl.dialects.builtin import ModuleOp

from stepwell.lowering.interpret import interpret
from stepwell.passes.manager import run_pipeline
from stepwell.passes.pipelines import GPU_PIPELINE
from stepwell.tools.driver.emit import lower_to
from stepwell.tools.driver.options import CompileOptions
from tests.support.devices.shaders import Launcher

MODELS: Mapping[str, tuple[str, str, Sequence[tuple[int, ...]]]] = {
    "elementwise": (
        "(float[3, 41] x, float[41] y) => (float[3, 41] z)",
        "s = Add(x, y) z = Tanh(s)",
        [(3, 41), (41,)],
    ),
    "product": (
        "(float[33, 65] x, float[65, 17] y, float[17] b) => (float[33, 17] z)",
        "p = MatMul(x, y) s = Add(p, b) z = Relu(s)",
        [(33, 65), (65, 17), (17,)],
    ),
    "sum": (
        "(float[7, 300] x) => (float[7, 1] z) <int64[1] a = {1}>",
        "z = ReduceSum<keepdims = 1>(x, a)",
        [(7, 300)],
    ),
    "everything": ("(float[7, 30] x) => (float[1, 1] z)", "z = ReduceMax(x)", [(7, 30)]),
    "softmax": ("(float[3, 33] x) => (float[3, 33] z)", "z = Softmax(x)", [(3, 33)]),
    "convolution": (
        "(float[1, 3, 9, 10] x, float[4, 3, 3, 3] w) => (float[1, 4, 5, 5] z)",
        "c = Conv<strides = [2, 2], pads = [1, 1, 1, 1]>(x, w) z = Relu(c)",
        [(1, 3, 9, 10), (4, 3, 3, 3)],
    ),
    "pool": (
        "(float[1, 2, 8, 8] x) => (float[1, 2, 4, 4] z)",
        "z = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)",
        [(1, 2, 8, 8)],
    ),
    "moves": (
        "(float[3, 4, 5] x) => (float[5, 8, 3] z)",
        "t = Transpose<perm = [2, 1, 0]>(x) z = Concat<axis = 1>(t, t)",
        [(3, 4, 5)],
    ),
    "roots": ("(float[3, 33] x) => (float[3, 33] z)", "a = Abs(x) s = Sqrt(a) z = Reciprocal(s)", [(3, 33)]),
    "transpose": (
        "(float[2, 40, 70] x, float[2, 70, 40] y) => (float[2, 70, 40] z)",
        "t = Transpose<perm = [0, 2, 1]>(x) z = Add(t, y)",
        [(2, 40, 70), (2, 70, 40)],
    ),
    "recurrence": (
        "(float[3, 2, 5] x, float[1, 120, 5] w, float[1, 120, 40] r) => (float[3, 1, 2, 40] z)",
        "z = GRU<hidden_size = 40>(x, w, r)",
        [(3, 2, 5), (1, 120, 5), (1, 120, 40)],
    ),
    "bytes": ("(float[4, 41] x) => (int8[41, 4] z)", "q = Cast<to = 3>(x) z = Transpose(q)", [(4, 41)]),
    "positions": ("(float[7, 30] x) => (int64[7, 1] z)", "z = ArgMax<axis = 1>(x)", [(7, 30)]),
    "norm": (
        "(float[3, 24] x, float[24] s, float[24] b) => (float[3, 24] z)",
        "z = LayerNormalization(x, s, b)",
        [(3, 24), (24,), (24,)],
    ),
}
WITH_BARRIERS = ("recurrence",)
"""The models with threads that wait for each other."""


def small_model(name: str, folder: Path) -> tuple[Path, list[Any]]:
    """A model of the table as a file in a folder, and inputs."""
    signature, nodes, shapes = MODELS[name]
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]>\ng {signature} {{ {nodes} }}')
    onnx.save(model, path := folder / f"{name}.onnx")
    rng = np.random.default_rng(5)
    return path, [rng.standard_normal(shape, np.float32) for shape in shapes]


def agree(
    path: Path, inputs: Sequence[Any], launcher: Callable[[ModuleOp], Launcher] | None = None
) -> ModuleOp:
    """
    Compare a model's outputs on the gpu level with those of level 2; returns the module.

    Args: `launcher` makes what runs the kernels; None for the interpreter.
    """
    compilation = lower_to(path, CompileOptions(opt_level=1), "linalg")
    reference = compilation.module.clone()
    run_pipeline(compilation.module, GPU_PIPELINE, compilation.ctx)
    compilation.module.verify()
    expected: list[Any] = list(interpret(reference, compilation.ctx, "main", inputs))
    elsewhere = None if launcher is None else launcher(compilation.module)
    found: list[Any] = list(
        interpret(compilation.module, compilation.ctx, "main", inputs, launcher=elsewhere)
    )
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=3e-6, atol=1e-6)
    return compilation.module
