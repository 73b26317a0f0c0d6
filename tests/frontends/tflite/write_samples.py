"""
Writes the samples of `tests/models/tflite/`: models as TFLite files, with the results of LiteRT's reference
kernels. Run `python -m tests.frontends.tflite.write_samples` where ai-edge-litert is installed.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.frontends.tflite import programs
from tests.frontends.tflite.case_list import cases
from tests.frontends.tflite.models import Array, ModelBuilder, Quantized, reference, schema

FOLDER = Path(__file__).resolve().parents[2] / "models" / "tflite"
Sample = tuple[bytes, Sequence[Array]]


def classifier() -> Sample:
    """Convolutions, a mean and a fully connected layer, in floats, for any number of images."""
    rng, m = np.random.default_rng(0), ModelBuilder()
    activation, padding = schema().ActivationFunctionType, schema().Padding

    def weight(name: str, *shape: int) -> int:
        return m.constant(name, rng.normal(0, 0.5, shape).astype(np.float32))

    x = m.input("image", [-1, 16, 16, 3])
    conv = m.tensor("conv/Relu6", [-1, 8, 8, 8])
    options: dict[str, Any] = dict(padding=padding.SAME, strideW=2, strideH=2)
    m.operator(
        "CONV_2D",
        [x, weight("conv/w", 8, 3, 3, 3), weight("conv/b", 8)],
        [conv],
        "Conv2D",
        fusedActivationFunction=activation.RELU6,
        **options,
    )
    depth = m.tensor("depthwise/Relu", [-1, 4, 4, 8])
    m.operator(
        "DEPTHWISE_CONV_2D",
        [conv, weight("depthwise/w", 1, 3, 3, 8), weight("depthwise/b", 8)],
        [depth],
        "DepthwiseConv2D",
        fusedActivationFunction=activation.RELU,
        depthMultiplier=1,
        **options,
    )
    pooled = m.tensor("pooled", [-1, 8])
    axes = m.constant("axes", np.array([1, 2], np.int32))
    m.operator("MEAN", [depth, axes], [pooled], "Reducer", keepDims=False)
    logits, y = m.tensor("logits", [-1, 5]), m.tensor("probabilities", [-1, 5])
    m.operator(
        "FULLY_CONNECTED", [pooled, weight("head/w", 5, 8), weight("head/b", 5)], [logits], "FullyConnected"
    )
    m.operator("SOFTMAX", [logits], [y], "Softmax", beta=1.0)
    signature = {"inputs": {"image": x}, "outputs": {"probabilities": y}}
    return m.finish([y], signature), [rng.normal(size=[2, 16, 16, 3]).astype(np.float32)]


def quantized() -> Sample:
    """A classifier of bytes: scales of channels, a residual sum, a fully connected layer, a softmax."""
    rng, m = np.random.default_rng(1), ModelBuilder()
    activation, padding = schema().ActivationFunctionType, schema().Padding

    def layer(
        name: str, kind: str, x: int, scale: float, shape: Sequence[int], out: int, **options: Any
    ) -> None:
        axis = 3 if kind == "DEPTHWISE_CONV_2D" else 0
        count = shape[axis]
        scales = rng.uniform(0.01, 0.03, count).astype(np.float32)
        w = m.constant(
            f"{name}/w", rng.integers(-127, 128, shape).astype(np.int8), Quantized(scales.tolist(), 0, axis)
        )
        bias = rng.integers(-300, 300, count).astype(np.int32)
        b = m.constant(f"{name}/b", bias, Quantized((scales * np.float32(scale)).tolist()))
        tables = {
            "CONV_2D": "Conv2D",
            "DEPTHWISE_CONV_2D": "DepthwiseConv2D",
            "FULLY_CONNECTED": "FullyConnected",
        }
        m.operator(kind, [x, w, b], [out], tables[kind], **options)

    strides: dict[str, Any] = dict(padding=padding.SAME, strideW=1, strideH=1)
    x = m.input("image", [1, 8, 8, 3], "int8", quantized=Quantized(0.02, 3))
    a = m.tensor("a", [1, 8, 8, 8], "int8", quantized=Quantized(6 / 255, -128))
    layer("a", "CONV_2D", x, 0.02, [8, 3, 3, 3], a, fusedActivationFunction=activation.RELU6, **strides)
    b = m.tensor("b", [1, 8, 8, 8], "int8", quantized=Quantized(0.08, -10))
    layer("b", "DEPTHWISE_CONV_2D", a, 6 / 255, [1, 3, 3, 8], b, depthMultiplier=1, **strides)
    c = m.tensor("c", [1, 8, 8, 8], "int8", quantized=Quantized(0.09, -5))
    m.operator("ADD", [a, b], [c], "Add")
    d = m.tensor("d", [1, 4, 4, 8], "int8", quantized=Quantized(0.09, -5))
    pool: dict[str, Any] = dict(strideW=2, strideH=2, filterWidth=2, filterHeight=2)
    m.operator("AVERAGE_POOL_2D", [c], [d], "Pool2D", padding=padding.VALID, **pool)
    e = m.tensor("e", [1, 128], "int8", quantized=Quantized(0.09, -5))
    m.operator(
        "RESHAPE", [d, m.constant("shape", np.array([-1, 128], np.int32))], [e], "Reshape", newShape=[-1, 128]
    )
    f = m.tensor("logits", [1, 5], "int8", quantized=Quantized(0.5, 10))
    layer("head", "FULLY_CONNECTED", e, 0.09, [5, 128], f)
    y = m.tensor("probabilities", [1, 5], "int8", quantized=Quantized(1 / 256, -128))
    m.operator("SOFTMAX", [f], [y], "Softmax", beta=1.0)
    return m.finish([y, f]), [rng.integers(-128, 128, [1, 8, 8, 3]).astype(np.int8)]


SAMPLES: dict[str, Callable[[], Sample]] = {"classifier": classifier, "quantized": quantized}


def write_operators() -> None:
    """Write the models of one operator each, with inputs and results, into one archive."""
    with zipfile.ZipFile(FOLDER / "operators.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for case in cases():
            model, inputs, results = case.built()
            archive.writestr(zipfile.ZipInfo(f"{case.name}.tflite"), model, zipfile.ZIP_DEFLATED)
            stream = io.BytesIO()
            np.savez(stream, **numbered("in", inputs), **numbered("out", results))
            archive.writestr(zipfile.ZipInfo(f"{case.name}.npz"), stream.getvalue(), zipfile.ZIP_DEFLATED)


def write_programs() -> None:
    """Write the models of several graphs, with the inputs and results of calls, into one archive."""
    with zipfile.ZipFile(FOLDER / "programs.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, make in programs.PROGRAMS.items():
            calls, stream = make(), io.BytesIO()
            given, found = calls.inputs, calls.results()
            arrays = programs.numbered(given, "in") | programs.numbered(found, "out")
            np.savez(stream, **arrays)
            archive.writestr(zipfile.ZipInfo(f"{name}.tflite"), calls.model, zipfile.ZIP_DEFLATED)
            archive.writestr(zipfile.ZipInfo(f"{name}.npz"), stream.getvalue(), zipfile.ZIP_DEFLATED)


def numbered(kind: str, arrays: Sequence[Array]) -> dict[str, Any]:
    """Arrays by names: `in0`, `in1`, …."""
    return {f"{kind}{i}": each for i, each in enumerate(arrays)}


def main() -> None:
    """Write all samples."""
    FOLDER.mkdir(exist_ok=True)
    write_operators()
    write_programs()
    for name, make in SAMPLES.items():
        model, inputs = make()
        (FOLDER / f"{name}.tflite").write_bytes(model)
        results = reference(model, inputs)
        np.savez(FOLDER / f"{name}.npz", **numbered("in", inputs), **numbered("out", results))


if __name__ == "__main__":
    main()
