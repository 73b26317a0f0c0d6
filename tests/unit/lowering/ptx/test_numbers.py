"""Elementary functions, NaN, infinities and zeros in PTX: the bounds of the CPU hold."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import stepwell as sw
from stepwell import Target
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.emit_ptx import emit_ptx
from stepwell.lowering.interpret.ptx import Buffer, PtxProgram
from stepwell.passes.manager import run_pipeline
from tests.support.numbers.elementary import FUNCTIONS, check, errors_in_ulp, samples

_THREADS = 256


def applied(op: str, *operands: Any) -> Any:
    """The results of an op of `math` on f32, by PTX."""
    count = -(-len(operands[0]) // _THREADS) * _THREADS
    names = [f"%x{number}" for number in range(len(operands))]
    arguments = ", ".join(f"{name}: memref<{count}xf32>" for name in (*names, "%y"))
    loads = "\n".join(f"%v{n} = memref.load {x}[%i] : memref<{count}xf32>" for n, x in enumerate(names))
    values = ", ".join(f"%v{n}" for n in range(len(names)))
    text = f"""
gpu.module @m {{
  gpu.func @k({arguments}) kernel attributes {{gpu.known_block_size = array<i32: {_THREADS}, 1, 1>}} {{
    %i = gpu.global_id x
    {loads}
    %r = {op} {values} : f32
    memref.store %r, %y[%i] : memref<{count}xf32>
    gpu.return
  }}
}}"""
    ctx = StepwellContext()
    module = parse_module(ctx, text, "k.mlir")
    run_pipeline(module, "expand-math{mcpu=x86-64 calls=false},use-rounding-ops", ctx)
    program = PtxProgram(emit_ptx(module, Target("cuda")).text)
    arrays = [np.resize(each, count) for each in operands] + [np.zeros(count, np.float32)]
    buffers = [Buffer(each.ctypes.data, each.nbytes, "x") for each in arrays]
    addresses = [each.ctypes.data for each in arrays]
    program.launch("k", (count // _THREADS, 1, 1), (_THREADS, 1, 1), addresses, buffers)
    return arrays[-1][: len(operands[0])]


@pytest.mark.sample(4)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_errors_over_all_of_f32(function: str) -> None:
    x = samples()[::7]
    check(function, x, applied(f"math.{function}", x))


def test_powers() -> None:
    special = np.array([0, 1, 2, 3, 0.5, 1.5, np.inf, 1e-45, 3e38, 1 + 2**-23, 8388609, 1e30], np.float32)
    numbers = np.concatenate([special, -special, [np.float32(np.nan)]])
    rng = np.random.default_rng(4)
    drawn = np.exp(rng.standard_normal(10_000) * 20).astype(np.float32)
    fitting = (rng.standard_normal(10_000) * 60 / np.log(drawn.astype(np.float64))).astype(np.float32)
    grid = [axis.ravel() for axis in np.meshgrid(numbers, numbers)]
    x, e = np.concatenate([grid[0], drawn]), np.concatenate([grid[1], fitting])
    with np.errstate(all="ignore"):
        exact = np.power(x.astype(np.float64), e.astype(np.float64))
        errors = errors_in_ulp(applied("math.powf", x, e), exact)
    assert errors.max() <= 1.6


SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-40, -1e-40, 1.0, -1.0, 3.4e38], np.float32)
NODES: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "relu": ("r_ID = Relu(x)", lambda x: np.where(np.isnan(x), x, np.maximum(x, 0))),
    "max": ("r_ID = Max(x, y)", lambda x: np.maximum(x, x[::-1])),
    "min": ("r_ID = Min(x, y)", lambda x: np.minimum(x, x[::-1])),
    "sum": ("r_ID = Add(x, y)", lambda x: x + x[::-1]),
    "quotient": ("r_ID = Div(x, y)", lambda x: x / x[::-1]),
    "is_nan": ("n = IsNaN(x) r_ID = Cast<to = 1>(n)", lambda x: np.isnan(x).astype(np.float32)),
    "clip": ("r_ID = Clip(x, low, high)", lambda x: np.clip(x, np.float32(-1), np.float32(2))),
}


@pytest.fixture(scope="module")
def special(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """The results of all of `NODES` on special numbers, by one model."""
    nodes = " ".join(text.replace("ID", name) for name, (text, _) in NODES.items())
    outputs = ", ".join(f"float[1, 10] r_{name}" for name in NODES)
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]>\n'
        f"g (float[1, 10] x, float[1, 10] y) => ({outputs}, float[1] top)\n"
        f"<float low = {{-1}}, float high = {{2}}, int64[1] axis = {{1}}> {{\n{nodes}\n"
        "top = ReduceMax<keepdims = 0>(x, axis) }"
    )
    onnx.save(model, path := tmp_path_factory.mktemp("special") / "special.onnx")
    compiled = sw.compile(path, target="cuda", device="ptx-interpreter", use_cache=False)
    return list(compiled(SPECIAL[None], SPECIAL[None, ::-1].copy()))


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", NODES)
def test_special_numbers(name: str, special: list[Any]) -> None:
    with np.errstate(all="ignore"):
        expected = NODES[name][1](SPECIAL)
    found = special[list(NODES).index(name)]
    np.testing.assert_array_equal(found[0], expected)
    assert np.isnan(special[-1]).all()


@pytest.mark.sample(2)
@pytest.mark.parametrize("columns", [1, 31, 32, 33, 1000, pytest.param(65_537, marks=pytest.mark.slow)])
def test_softmax_of_any_width(columns: int, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        f'<ir_version: 8, opset_import: ["" : 18]>\ng (float[2, {columns}] x) => (float[2, {columns}] y)'
        " { y = Softmax(x) }"
    )
    onnx.save(model, path := tmp_path / "softmax.onnx")
    x = np.random.default_rng(columns).standard_normal((2, columns), np.float32)
    compiled = sw.compile(path, target="cuda", device="ptx-interpreter", use_cache=False)
    wide = np.exp(x.astype(np.float64))
    found: Any = compiled(x)
    np.testing.assert_allclose(found, wide / wide.sum(axis=1, keepdims=True), rtol=3e-5, atol=1e-9)


@pytest.mark.sample(3)
@pytest.mark.parametrize("op", ["Sin(x)", "Exp(x)", "Log(x)", "Tanh(x)", "Atan(x)", "Pow(x, x)"])
def test_functions_of_f64_are_our_own(op: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    special = [0, -0.0, np.inf, -np.inf, np.nan, 1e300, 1e-310]
    x = np.concatenate(
        [rng.uniform(-3, 3, 120), rng.standard_normal(120) * 10.0 ** rng.integers(-8, 20, 120)]
    )
    x = np.concatenate([x, special])
    signature = f"(double[{len(x)}] x) => (double[{len(x)}] y)"
    text = f'<ir_version: 8, opset_import: ["" : 18]> g {signature} {{ y = {op} }}'
    onnx.save(onnx.parser.parse_model(text), path := tmp_path / "m.onnx")
    found = sw.compile(path, target="cuda", device="ptx-interpreter", use_cache=False)
    assert not found.image.summary.get("on the host")
    results: list[Any] = [found(x), sw.compile(path)(x)]
    np.testing.assert_allclose(results[0], results[1], rtol=1e-15)
