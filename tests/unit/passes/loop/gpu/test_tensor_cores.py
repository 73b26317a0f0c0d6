"""Products on tensor cores: the digits of f32, on the `gpu` level and as PTX."""

from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell import Target
from stepwell.dialects._xdsl import StepwellContext
from stepwell.lowering.interpret import interpret
from stepwell.lowering.interpret.lanes.tensor_cores import to_tf32
from stepwell.lowering.interpret.ptx import ptx_launcher
from stepwell.tools.cli import main
from tests.support.devices.gpu_kernels import ProductCase, run
from tests.support.samples import examples

TILES = [((16, 16, 8), (16, 8)), ((32, 16, 16), (16, 16)), ((32, 32, 16), (32, 8))]


@examples(20)
@given(
    st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40)),
    st.sampled_from(TILES),
    st.integers(1, 4),
    st.booleans(),
)
def test_products(sizes: Any, tile: Any, stages: int, transposed: bool) -> None:
    case = ProductCase(
        sizes, tile[0], tile[1], stages, transposed, split=3, target='#target.spec<"cuda", {}>'
    )
    inputs = case.inputs()
    case.check(run(case.module(), inputs), inputs)


def error(case: ProductCase, found: Any, inputs: Any) -> float:
    """The largest error, relative to the product of both operands without signs."""
    x, y, b, _ = inputs
    expected = np.maximum(x.astype(np.float64) @ y.astype(np.float64) + b, 0)
    return float((np.abs(found - expected) / (np.abs(x) @ np.abs(y) + np.abs(b))).max())


def in_order(case: ProductCase, inputs: Any) -> float:
    """The error of f32, whose sums are added up one by one."""
    x, y, b, _ = inputs
    total = np.zeros((x.shape[0], y.shape[1]), np.float32)
    for k in range(x.shape[1]):
        total += x[:, k : k + 1] * y[k]
    return error(case, np.maximum(total + b, 0), inputs)


@pytest.mark.parametrize("is_positive", [False, True])
def test_three_products_of_tf32_have_the_digits_of_f32_in_ptx(is_positive: bool) -> None:
    errors: list[float] = []
    for split in (3, 1):
        case = ProductCase((32, 32, 512), (32, 32, 16), (16, 16), 2, split=split)
        module, inputs = case.module(), case.inputs()
        if is_positive:  # each sum that is cut off is too low then
            inputs[:2] = [np.abs(each) for each in inputs[:2]]
        launcher = ptx_launcher(module, Target("cuda"))
        found = interpret(module, StepwellContext(), "main", inputs, launcher=launcher)[-1]
        np.testing.assert_array_equal(found, run(module, inputs))
        errors.append(error(case, found, inputs))
    assert errors[0] < in_order(case, inputs) / 2
    assert 1e-6 < errors[1] < 1e-3


@pytest.mark.parametrize("arch", ["sm_80", "sm_86"])
def test_the_precision_of_a_model(arch: str, tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Products have 10 bits where that is asked for, on GPUs whose f32 are no tensor cores' too."""
    text = "g (float[32, 64] x, float[64, 32] y) => (float[32, 32] z) { z = MatMul(x, y) }"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]>\n{text}')
    onnx.save(model, tmp_path / "m.onnx")
    rng = np.random.default_rng(1)
    x, y = (rng.standard_normal(shape, np.float32) for shape in ((32, 64), (64, 32)))
    options: Any = {"target": f"cuda{{arch={arch}}}", "device": "ptx-interpreter", "use_cache": False}
    errors: list[float] = []
    for precision in ("f32", "tf32"):
        compiled = stepwell.compile(tmp_path / "m.onnx", precision=precision, **options)
        found: Any = compiled(x, y)
        errors.append(float((np.abs(found - x.astype(np.float64) @ y) / (np.abs(x) @ np.abs(y))).max()))
        assert compiled.image.summary.get("precision", "f32") == precision
    assert errors[0] < 1e-6 < errors[1] < 2.0**-11
    line = ["compile", str(tmp_path / "m.onnx"), "--target", options["target"], "--precision", "tf32"]
    assert main([*line, "--emit", "asm"]) == 0
    assert "mma.sync" in capsys.readouterr().out
    assert main([*line, "-o", str(tmp_path / "m.stepwell")]) == 0
    assert "products in tf32: results are approximate" in capsys.readouterr().err


def test_values_that_are_not_finite_and_the_largest_ones() -> None:
    case = ProductCase((16, 16, 16), (16, 16, 16), (16, 8), split=3)
    inputs = case.inputs()
    x, y = inputs[:2]
    x[0], y[:, 0] = 1, 1
    x[1, 8], x[2, 0], x[3, 3] = np.inf, np.nan, -np.inf
    x[4], x[4, 5], y[5] = 0, np.finfo(np.float32).max, 0.5
    found = run(case.module(), inputs)
    assert np.isnan(found[2]).all()
    assert np.isinf(found[1][y[8] > 0]).all() and (found[1][y[8] < 0] == 0).all()
    assert np.isinf(found[3][y[3] < 0]).all()
    np.testing.assert_allclose(found[4], np.float32(0.5) * x[4, 5], rtol=1e-6)
    y[6, 2] = np.inf
    assert run(case.module(), inputs)[0, 2] == np.inf


def test_numbers_of_tf32() -> None:
    numbers = np.array([1 + 2**-11, 1 + 2**-10, -1 - 2**-11, np.inf, np.nan, 0.0, 3e38], np.float32)
    found = to_tf32(numbers)
    expected = np.array([1 + 2**-10, 1 + 2**-10, -1 - 2**-10, np.inf, 0], np.float32)
    np.testing.assert_array_equal(found[[0, 1, 2, 3, 5]], expected)
    assert np.isnan(found[4]) and abs(found[6] / 3e38 - 1) < 2**-11
