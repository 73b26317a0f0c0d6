"""Whole models by one compilation each on all devices that are here; those that are missing are counted."""

import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import stepwell as sw
from stepwell.runtime.devices.table import devices
from stepwell.runtime.errors import StepwellError
from stepwell.tools.measure.device_limits import kept_limits, measured_limits
from tests.support.devices.gpu_models import MODELS, small_model
from tests.support.devices.integers import interpreted
from tests.support.imports import ROOT

pytestmark = pytest.mark.slow
KINDS = ("gpu-interpreter", "opencl", "webgpu")
REQUIRED = os.environ.get("TEST_DEVICES") == "1"


def expect_here(kind: str) -> None:
    """Skip the test where no device of the kind is here; `make test-devices` fails then."""
    found, missing = devices()
    if kind not in {info.kind for info in found}:
        assert not REQUIRED, missing
        pytest.skip(f"no {kind}: {missing.get(kind)}")


def numbers(result: object) -> Any:
    """The only result of a call."""
    assert isinstance(result, np.ndarray)
    return result


def on_device(path: Path, kind: str) -> sw.CompiledModel:
    """A model compiled for a device of a kind."""
    if kind == "gpu-interpreter":
        return sw.compile(path, device=kind, use_cache=False)
    return sw.compile(path, target=kind, use_cache=False)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODELS)
def test_small_models(name: str, kind: str, tmp_path: Path) -> None:
    expect_here(kind)
    path, inputs = small_model(name, tmp_path)
    found, expected = on_device(path, kind)(*inputs), sw.compile(path)(*inputs)
    np.testing.assert_allclose(numbers(found), numbers(expected), rtol=3e-6, atol=2e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_trained_model_for_several_sizes(kind: str) -> None:
    expect_here(kind)
    model, here = on_device(ROOT / "examples/digits.onnx", kind), sw.compile(ROOT / "examples/digits.onnx")
    for rows in (1, 7, 0, 64):
        x = np.random.default_rng(rows).standard_normal((rows, 64), np.float32)
        np.testing.assert_allclose(numbers(model(x)), numbers(here(x)), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("sizes", "mask"), [((40, 40), "N, N"), ((33, 64), "1, N"), ((9, 128), "B, 1, N")])
def test_attention_of_several_lengths(sizes: tuple[int, int], mask: str, kind: str, tmp_path: Path) -> None:
    """One kernel, for each number of queries and keys; a causal mask among others."""
    expect_here(kind)
    length, depth = sizes
    signature = f"(float[B, N, {depth}] q, float[B, {depth}, N] k, float[B, N, 24] v, float[{mask}] m)"
    nodes = "s = MatMul(q, k) t = Add(s, m) p = Softmax(t) y = MatMul(p, v)"
    text = f'<ir_version: 8, opset_import: ["" : 18]> g {signature} => (float[B, N, 24] y) {{ {nodes} }}'
    onnx.save(onnx.parser.parse_model(text), path := tmp_path / "m.onnx")
    model, here, rng = on_device(path, kind), sw.compile(path), np.random.default_rng(length)
    assert not model.image.summary.get("on the host")
    for batch, count in ((1, length), (2, 2 * length + 1)):
        shapes = (batch, count, depth), (batch, depth, count), (batch, count, 24)
        of = {"N": count, "B": batch, "1": 1}
        m = np.zeros([of[each] for each in mask.split(", ")], np.float32)
        m = np.where(np.tri(*m.shape, dtype=bool), m, -np.inf) if mask == "N, N" else m + rng.random(m.shape)
        inputs = [*(rng.standard_normal(shape, np.float32) for shape in shapes), m.astype(np.float32)]
        found, expected = numbers(model(*inputs)), numbers(here(*inputs))
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(3, 700), (70, 50), (2, 65, 3)])
def test_cumulative_sums(shape: tuple[int, ...], kind: str, tmp_path: Path) -> None:
    """All attributes of `CumSum`, along all axes: by blocks and by threads."""
    expect_here(kind)
    dims, axes = ", ".join(map(str, shape)), range(len(shape))
    cases = [(axis, exclusive, reverse) for axis in axes for exclusive in (0, 1) for reverse in (0, 1)]
    nodes = " ".join(
        f"y{i} = CumSum<exclusive = {exclusive}, reverse = {reverse}>(x, a{axis})"
        for i, (axis, exclusive, reverse) in enumerate(cases)
    )
    outputs = ", ".join(f"float[{dims}] y{i}" for i in range(len(cases)))
    numbers_of = ", ".join(f"int64 a{axis} = {{{axis}}}" for axis in axes)
    text = f"g (float[{dims}] x) => ({outputs}) <{numbers_of}> {{ {nodes} }}"
    onnx.save(
        onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}'),
        path := tmp_path / "m.onnx",
    )
    model = on_device(path, kind)
    assert not model.image.summary.get("on the host")
    x = np.random.default_rng(1).standard_normal(shape, np.float32)
    for found, (axis, exclusive, reverse) in zip(model(x), cases, strict=True):
        wide = np.flip(x, axis).astype(np.float64) if reverse else x.astype(np.float64)
        total = np.cumsum(wide, axis) - (wide if exclusive else 0)
        np.testing.assert_allclose(found, np.flip(total, axis) if reverse else total, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("columns", [300, 7])
def test_vectors_of_neighbours(columns: int, kind: str, tmp_path: Path) -> None:
    """Rows of 7 elements begin anywhere; the last elements of open sizes are no whole vector."""
    expect_here(kind)
    signature = f"g (float[N, {columns}] x, float[{columns}] b) => (float[N, {columns}] z)"
    text = f'<ir_version: 8, opset_import: ["" : 18]> {signature} {{ s = Add(x, b) z = Relu(s) }}'
    onnx.save(onnx.parser.parse_model(text), path := tmp_path / "m.onnx")
    fixed = tmp_path / "fixed.onnx"
    onnx.save(onnx.parser.parse_model(text.replace("N,", "2401,")), fixed)
    model = on_device(path, kind)
    for rows, found in ((1, model), (3, model), (602, model), (2401, on_device(fixed, kind))):
        rng = np.random.default_rng(rows)
        x, b = rng.standard_normal((rows, columns), np.float32), rng.standard_normal(columns, np.float32)
        np.testing.assert_array_equal(numbers(found(x, b)), np.maximum(x + b, 0))


SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-40, 2.5, -3, 0], np.float32)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "node",
    ["Relu(x)", "Max(x, x)", "ReduceMax<keepdims = 1>(x)", "Exp(x)", "Tanh(x)", "Log(x)", "Sin(x)", "Tan(x)"],
)
def test_nan_stays_nan(node: str, kind: str, tmp_path: Path) -> None:
    expect_here(kind)
    shape = "1" if "Reduce" in node else "8"
    text = f'<ir_version: 8, opset_import: ["" : 18]> g (float[8] x) => (float[{shape}] y) {{ y = {node} }}'
    onnx.save(onnx.parser.parse_model(text), path := tmp_path / "m.onnx")
    found, expected = numbers(on_device(path, kind)(SPECIAL)), numbers(sw.compile(path)(SPECIAL))
    tiny: Any = np.abs(expected) < 2.0**-126  # results below the normal numbers may be 0 on devices
    found = np.where(tiny & (found == 0), expected, found)
    if not np.isnan(expected).all():
        np.testing.assert_allclose(found, expected, rtol=1e-5, equal_nan=True)
    assert (np.isnan(found) == np.isnan(expected)).all()


@pytest.mark.parametrize("kind", ["opencl", "webgpu"])
@pytest.mark.parametrize("columns", [1, 31, 32, 33, 1000, 65537])
def test_softmax(columns: int, kind: str, tmp_path: Path) -> None:
    expect_here(kind)
    signature = f"(float[2, {columns}] x) => (float[2, {columns}] y)"
    text = f'<ir_version: 8, opset_import: ["" : 18]> g {signature} {{ y = Softmax(x) }}'
    onnx.save(onnx.parser.parse_model(text), path := tmp_path / "m.onnx")
    x = np.random.default_rng(1).standard_normal((2, columns), np.float32)
    exp = np.exp(x.astype(np.float64))
    found = numbers(on_device(path, kind)(x))
    np.testing.assert_allclose(found, exp / exp.sum(-1, keepdims=True), rtol=3e-5 + 6e-8 * columns)


@pytest.mark.parametrize(
    "op", ["Softmax<axis = 1>(x)", "ReduceMin<keepdims = 0>(x, k)", "ReduceMax(x, k)", "ReduceSum(x, k)"]
)
@pytest.mark.parametrize("columns", [31, 1000])
def test_rows_by_subgroups(columns: int, op: str, tmp_path: Path) -> None:
    """The standard's directive is left out for wgpu; NaN stays NaN in the largest and least of a row."""
    expect_here("webgpu")
    shape = f"5, {columns}" if "Softmax" in op else "5" if "Min" in op else "5, 1"
    signature = f"(float[5, {columns}] x) => (float[{shape}] y) <int64[1] k = {{1}}>"
    text = f'<ir_version: 8, opset_import: ["" : 18]> g {signature} {{ y = {op} }}'
    onnx.save(onnx.parser.parse_model(text), path := tmp_path / "m.onnx")
    x = np.random.default_rng(1).standard_normal((5, columns), np.float32)
    x[1, 7], x[2, 3], x[3] = np.nan, -np.inf, -1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = sw.compile(path, target="webgpu{features=subgroups}", use_cache=False)
        found = numbers(model(x))
    np.testing.assert_allclose(found, numbers(sw.compile(path)(x)), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("kind", ["opencl", "webgpu"])
def test_copies_within_a_buffer(kind: str) -> None:
    """WebGPU refuses copies from a buffer to itself: magika has one."""
    expect_here(kind)
    found = sw.device(f"{kind}:0")
    memory, data = found.allocate(1024), np.arange(1024, dtype=np.int32).astype(np.uint8)
    found.copy_in(memory, 0, data)
    for begin, to, size in ((0, 512, 8), (4, 768, 200), (768, 256, 12)):
        found.copy(memory, begin, memory, to, size)
        data[to : to + size] = data[begin : begin + size]
    back = np.empty_like(data)
    found.copy_out(memory, 0, back)
    found.free(memory)
    np.testing.assert_array_equal(back, data)


def test_constants_of_f16_have_their_type(tmp_path: Path) -> None:
    """Constants and the operands of helpers had the type of f32, which WGSL refuses beside halves."""
    expect_here("webgpu")
    nodes = "o = Constant<value_float = 0.5>() h = CastLike(o, x) g = Greater(x, h) w = Where(g, x, h)"
    nodes += " n = Neg(w) r = Max(n, w) s = Softmax(r) y = Mul(s, h)"
    text = (
        f'<ir_version: 8, opset_import: ["" : 18]> g (float16[5, 41] x) => (float16[5, 41] y) {{ {nodes} }}'
    )
    onnx.save(onnx.parser.parse_model(text), path := tmp_path / "m.onnx")
    x = np.random.default_rng(1).standard_normal((5, 41)).astype(np.float16)
    model = sw.compile(path, target="webgpu{features=f16}", use_cache=False)
    assert not model.image.summary.get("on the host")
    np.testing.assert_allclose(numbers(model(x)), numbers(sw.compile(path)(x)), rtol=2e-3)


def test_a_device_that_is_not_here() -> None:
    model = sw.compile(ROOT / "examples/digits.onnx", target="webgpu").on("webgpu:9")
    with pytest.raises(StepwellError) as error:
        model(np.zeros((1, 64), np.float32))
    assert error.value.code in ("no-device", "missing-package")


def test_resnet18_of_bytes_on_the_accelerator(tmp_path: Path, models_folder: Path) -> None:
    from tests.devices.zoo import models

    paths = models(models_folder, tmp_path, only="resnet18_qdq")
    model = sw.compile(paths[-1], device="npu", use_cache=False)
    here = sw.compile(paths[-1])
    for seed in range(2):
        x = np.random.default_rng(seed).standard_normal((1, 3, 224, 224), np.float32)
        found = numbers(model(x))
        np.testing.assert_array_equal(found, interpreted(paths[-1], x))
        assert found.argmax() == numbers(here(x)).argmax()


@pytest.mark.parametrize("kind", ["opencl", "webgpu"])
def test_devices_are_measured(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expect_here(kind)
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path))
    found = measured_limits(kind)
    assert found.copy_gbps > 0 and found.gflops > 0 and kept_limits(f"{kind}:0") == found


@pytest.mark.parametrize("kind", ["opencl", "webgpu"])
@pytest.mark.parametrize("rows", [1, 3, 130])
def test_truth_values(kind: str, rows: int, tmp_path: Path) -> None:
    """Four share 32 bits of WebGPU, which several threads and blocks write; rows of 7 begin within."""
    expect_here(kind)
    text = """<ir_version: 8, opset_import: ["" : 18]>
g (float[N, 7] x, bool[N, 7] m) => (bool[N, 7] y, float[N, 7] z) <float c = {0.5}> {
    g = Greater(x, c) y = And(g, m) z = Where(y, x, c)
}"""
    onnx.save(onnx.parser.parse_model(text), path := tmp_path / "m.onnx")
    rng = np.random.default_rng(rows)
    x, m = rng.standard_normal((rows, 7)).astype(np.float32), rng.random((rows, 7)) < 0.5
    model = on_device(path, kind)
    assert not model.image.summary.get("on the host")
    for _ in range(2):
        y, z = (np.asarray(each) for each in model(x, m))
        np.testing.assert_array_equal(y, (x > 0.5) & m)
        np.testing.assert_array_equal(z, np.where(y, x, np.float32(0.5)))


def test_loops_that_lavapipe_ends_are_warned_of(tmp_path: Path) -> None:
    """Its threads have 65,535 iterations: the sum of more products in one thread is too small there."""
    expect_here("webgpu")
    name = next(info.about for info in sw.devices() if info.name == "webgpu:0")
    if "llvmpipe" not in name:
        pytest.skip(f"the adapter is {name}")
    text = "g (float[2, K] x, float[K, 2] w) => (float[2, 2] y) { y = MatMul(x, w) }"
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]> {text}')
    onnx.save(made, path := tmp_path / "m.onnx")
    model = on_device(path, "webgpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(numbers(model(*(np.ones(s, np.float32) for s in ((2, 9), (9, 2))))), 9)
    with pytest.warns(RuntimeWarning, match="llvmpipe.* ends them after 65535 without an error"):
        model(*(np.ones(shape, np.float32) for shape in ((2, 70_000), (70_000, 2))))


def test_more_blocks_than_a_dispatch_has(tmp_path: Path) -> None:
    """
    A dispatch has 65,535 blocks along x: a second one begins near the end of the array.

    Truth values share words, so that a thread has one of them and no vector.
    """
    expect_here("webgpu")
    rows = 65_535 * 256 // 1024 + 3
    signature = f"g (float[{rows}, 1024] x) => (bool[{rows}, 1024] y) <float c = {{7}}>"
    text = f'<ir_version: 8, opset_import: ["" : 18]> {signature} {{ y = Greater(x, c) }}'
    onnx.save(onnx.parser.parse_model(text), path := tmp_path / "m.onnx")
    x = np.arange(rows * 1024, dtype=np.float32).reshape(rows, 1024)
    model = on_device(path, "webgpu")
    for _ in range(2):
        np.testing.assert_array_equal(numbers(model(x)), x > 7)
