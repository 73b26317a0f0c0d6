"""Text of every level that `--emit` writes is a program: it compiles, and computes what the model does."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from xdsl.dialects.builtin import ModuleOp

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.lowering.kernels.kernel import compile_kernel
from stepwell.lowering.kernels.program_parts import objects_of_program
from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.compilation import kernels_of
from stepwell.tools.driver.emit import emit_file, lower_to
from stepwell.tools.driver.options import CompileOptions
from tests.onnx_models import onnx_model

OPEN = """g (uint8[N, 8] x, bool[N] keep) => (float[N, 4] y, int64[1, K] kept, uint8[N, 8] z)
  <float[8, 4] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
                    25, 26, 27, 28, 29, 30, 31, 32}>
{ f = Cast <to = 1> (x)  p = MatMul(f, w)  y = Softmax <axis = 0> (p)  kept = NonZero(keep)
  z = Max(x, x) }"""
STATIC = """g (float[3] x, string[2] s) => (float[3] y, string[2] t)
{ zero = Constant <value_float = 0.0> ()  m = ReduceMax <keepdims = 0> (x)  c = Less(m, zero)
  y = If (c) <then_branch = g1 () => (float[3] a) { a = Neg(x) },
              else_branch = g2 () => (float[3] b) { b = Relu(x) }>
  t = StringNormalizer <case_change_action = "UPPER"> (s) }"""


@pytest.mark.sample(6)
@pytest.mark.parametrize("level", ["linalg", "vector", "loops", "llvm"])
def test_open_sizes_and_signs(level: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, keep = rng.integers(0, 256, (5, 8), np.uint8), np.array([True, False, True, True, False])
    _compare(OPEN, level, tmp_path, x, keep)


def test_windows_that_reach_over_borders(tmp_path: Path) -> None:
    body = """g (float[N, 3, 16, 16] x, float[8, 3, 3, 3] w) => (float[N, 8, 16, 16] y)
      { c = Conv <pads = [1, 1, 1, 1]> (x, w)  y = Relu(c) }"""
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape, np.float32) for shape in ((2, 3, 16, 16), (8, 3, 3, 3)))
    _compare(body, "vector", tmp_path, x, w)  # what was tiled is not given schedules again


@pytest.mark.parametrize("level", ["onnx", "loops"])
def test_branches_and_host_calls(level: str, tmp_path: Path) -> None:
    for sign in (1, -1):
        x = np.array([1, 2, 3], np.float32) * np.float32(sign)
        _compare(STATIC, level, tmp_path, x, np.array(["a", "b"], object))


def _compare(body: str, level: str, folder: Path, *inputs: np.ndarray) -> None:
    onnx.save(model := onnx_model(body), str(folder / "m.onnx"))
    emit_file(folder / "m.onnx", CompileOptions(), level, folder / "m.mlir")
    made, wanted = stepwell.compile(folder / "m.mlir"), stepwell.compile(model)
    assert [str(spec) for spec in made.interface.inputs] == [str(spec) for spec in wanted.interface.inputs]
    assert [spec.name for spec in made.interface.outputs] == [spec.name for spec in wanted.interface.outputs]
    for found, expected in zip(made(*inputs), wanted(*inputs), strict=True):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_each_kernel_of_a_program_is_compiled_as_that_of_the_model(tmp_path: Path) -> None:
    """A scalar kernel, which LLVM vectorizes, beside one with vectors and a body for threads."""
    body = "g (float[512, 600] x) => (float[512, 600] y) { s = CumSum(x, one)  y = Softmax(s) }"
    model = onnx_model(body.replace("{", "<int64 one = {1}> {", 1))
    onnx.save(model, str(tmp_path / "m.onnx"))
    lowered = lower_to(tmp_path / "m.onnx", CompileOptions(), "linalg")
    target = lowered.ctx.target
    expected = [
        compile_kernel(lambda f=f: ModuleOp([f.clone()]), StepwellContext(), target).code
        for f in kernels_of(lowered.module)
    ]
    assert len(expected) == 2
    program = lower_to(tmp_path / "m.onnx", CompileOptions(), "llvm").module
    *found, main = objects_of_program(program, target)
    assert found == expected and main
    debugged = objects_of_program(program, replace(target, debug_info=True))
    assert all(b".debug_line" in code for code in debugged)


def test_nothing_leads_back_up(tmp_path: Path) -> None:
    onnx.save(onnx_model("g (float[N] x) => (float[N] y) { y = Relu(x) }"), str(tmp_path / "m.onnx"))
    emit_file(tmp_path / "m.onnx", CompileOptions(), "loops", tmp_path / "m.mlir")
    with pytest.raises(StepwellError, match="on level loops already: nothing leads back up to graph"):
        emit_file(tmp_path / "m.mlir", CompileOptions(), "graph", tmp_path / "n.mlir")
    with pytest.raises(StepwellError, match="input_shapes applies above level 2 only"):
        stepwell.compile(tmp_path / "m.mlir", input_shapes={"x": [3]})
    emit_file(tmp_path / "m.mlir", CompileOptions(), "llvm", tmp_path / "n.mlir")
    assert stepwell.compile(tmp_path / "n.mlir").run({"x": np.array([-1, 2], np.float32)})["y"].tolist() == [
        0,
        2,
    ]


def test_a_description_that_does_not_fit(tmp_path: Path) -> None:
    onnx.save(onnx_model("g (float[2] x) => (float[2] y) { y = Relu(x) }"), str(tmp_path / "m.onnx"))
    emit_file(tmp_path / "m.onnx", CompileOptions(), "loops", tmp_path / "m.mlir")
    text = (tmp_path / "m.mlir").read_text()
    (tmp_path / "m.mlir").write_text(
        text.replace('"interface" =', '"interfaces" =').replace("interface =", "interfaces =")
    )
    with pytest.raises(StepwellError, match="sched.model does not describe the program"):
        stepwell.compile(tmp_path / "m.mlir")
