"""TFLite files without any package: modules of level 0, and results equal to those of LiteRT's kernels."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.frontend.tflite.read import read_tflite
from stepwell.lowering.interpret import Program
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import FROM_MODELS
from stepwell.runtime.interface import Array
from tests.support.imports import ROOT

SAMPLES = ROOT / "tests" / "models" / "tflite"
OPERATORS = zipfile.ZipFile(SAMPLES / "operators.zip")
CASES = [name.removesuffix(".tflite") for name in OPERATORS.namelist() if name.endswith(".tflite")]


def arrays_of(file: Path | io.BytesIO, kind: str) -> list[Array]:
    """The inputs (`in`) or results (`out`) of a sample."""
    with np.load(file) as arrays:
        return [arrays[key] for key in sorted(arrays) if key.startswith(kind)]


def interpreted(path: Path, inputs: Sequence[Array]) -> list[Array]:
    """The results of level 1."""
    context = StepwellContext()
    module = read_tflite(path, context)
    run_pipeline(module, FROM_MODELS["tflite"], context)
    return [np.asarray(each) for each in Program(module, context, quick=True)(inputs)]


def close(found: Array, wanted: Array, steps: int = 1) -> bool:
    """Whether results agree: codes to some steps, other integers exactly, floats to 1e-4."""
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return False
    if wanted.dtype.name in ("int8", "uint8", "int16"):
        return int(np.abs(found.astype(np.int64) - wanted.astype(np.int64)).max(initial=0)) <= steps
    if wanted.dtype.kind != "f":
        return np.array_equal(found, wanted)
    return np.allclose(found, wanted, rtol=1e-4, atol=1e-5, equal_nan=True)


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", CASES)
def test_an_operator_gives_what_litert_gives(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.tflite"
    path.write_bytes(OPERATORS.read(f"{name}.tflite"))
    stream = io.BytesIO(OPERATORS.read(f"{name}.npz"))
    found = interpreted(path, arrays_of(stream, "in"))
    wanted = arrays_of(io.BytesIO(OPERATORS.read(f"{name}.npz")), "out")
    steps = 0 if name.startswith(("average_pool", "max_pool")) else 1
    assert all(close(a, b, steps) for a, b in zip(found, wanted, strict=True))


@pytest.mark.parametrize("name", ["classifier", "quantized"])
def test_a_classifier_gives_what_litert_gives(name: str) -> None:
    found = interpreted(SAMPLES / f"{name}.tflite", arrays_of(SAMPLES / f"{name}.npz", "in"))
    assert all(map(close, found, arrays_of(SAMPLES / f"{name}.npz", "out")))
    assert not {"flatbuffers", "tensorflow", "ai_edge_litert"} & set(sys.modules)


@pytest.mark.slow
def test_a_classifier_of_bytes_is_compiled_to_integer_kernels() -> None:
    model = stepwell.compile(SAMPLES / "quantized.tflite")
    found = [np.asarray(each) for each in model(*arrays_of(SAMPLES / "quantized.npz", "in"))]
    assert all(map(close, found, arrays_of(SAMPLES / "quantized.npz", "out")))


def test_names_are_those_of_the_signature_and_open_sizes_have_the_inputs_name() -> None:
    module = stepwell.read(SAMPLES / "classifier.tflite")
    assert [str(each) for each in module.inputs] == ["image: float32[image_0, 16, 16, 3]"]
    assert [each.name for each in module.outputs] == ["probabilities"]


def test_reading_twice_gives_the_same_text() -> None:
    texts = {str(stepwell.read(SAMPLES / "quantized.tflite")) for _ in range(2)}
    assert len(texts) == 1


def test_layers_between_convolutions_need_no_transposes() -> None:
    context = StepwellContext()
    module = read_tflite(SAMPLES / "quantized.tflite", context)
    run_pipeline(module, FROM_MODELS["tflite"] + ",fold-constant,dead-code-elimination", context)
    transposes = [op for op in module.walk() if op.name == "graph.transpose"]
    # Of the image, and before the reshape; that of the dense layer is of a constant.
    assert len(transposes) <= 4, transposes


def test_most_builtin_operators_are_converted() -> None:
    from stepwell.lowering.tflite_to_graph import converted_operators

    assert len(converted_operators()) >= 110


@pytest.mark.parametrize(
    ("rows", "columns", "activation", "bounds"),
    [
        (2, 2, "NONE", (-128, 127)),
        (3, 2, "RELU", (3, 127)),
        (2, 2, "RELU6", (3, 15)),
        (3, 3, "NONE", (-128, 127)),
    ],
)
def test_means_of_codes_are_rounded_as_integers_are(
    rows: int, columns: int, activation: str, bounds: tuple[int, int]
) -> None:
    """The bounds of a fused activation are codes: of 0, which has the code 3, and of 6."""
    scales = "{scale = dense<0.5> : tensor<f32>, zero_point = dense<3> : tensor<i8>}"
    result = f"tensor<1x{12 // rows}x{12 // columns}x1xi8>"
    text = f"""
    func.func @main(%x: tensor<1x12x12x1xi8>) -> {result} {{
      %y = "tflite.average_pool_2d"(%x) {{padding = "VALID", stride_w = {columns} : i64,
        stride_h = {rows} : i64, filter_width = {columns} : i64, filter_height = {rows} : i64,
        fused_activation_function = "{activation}",
        tflite.quantized = [{scales}, {scales}]}} : (tensor<1x12x12x1xi8>) -> {result}
      func.return %y : {result}
    }}"""
    context = StepwellContext()
    module = parse_module(context, text)
    run_pipeline(module, FROM_MODELS["tflite"], context)
    high = 4 if activation == "NONE" else 20
    x = np.random.default_rng(rows).integers(-4, high, [1, 12, 12, 1]).astype(np.int8)
    sums = x.astype(int).reshape(1, 12 // rows, rows, 12 // columns, columns, 1).sum((2, 4))
    count = rows * columns
    wanted = np.clip(np.sign(sums) * ((abs(sums) + count // 2) // count), *bounds)
    (found,) = Program(module, context)([x], {})
    np.testing.assert_array_equal(found, wanted)
    if rows == columns == 2:
        assert (np.clip(np.round(sums / count), *bounds) != wanted).any()  # halves to even would differ
