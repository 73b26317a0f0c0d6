"""Texts of every level become the model's code: kernels of each family, and the tool for models."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from xdsl.dialects.func import FuncOp

from benchmarks.replay import Replay, fixed_target
from benchmarks.texts import LEVELS, Texts, main
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.locations import node_names
from stepwell.dialects.parser import parse_module
from stepwell.tools.driver.compilation import kernels_of
from tests.onnx_models import onnx_model
from tests.support.samples import ALL_CASES, whole

FAMILIES = """g (float[1, 8, 6, 6] x, float[2, 1, 8] s, float[6, 16] m, float[N, 16] o, uint8[4, 16] b)
  => (float[1, 8, 3, 3] conv, float[1, 8, 6, 6] depthwise, float[2, 1, 1, 8] lstm, float[6, 16] softmax,
      float[6, 16] norm, int64[6, 3] best, float[6, 16] sums, float[1, 8, 12, 12] larger, float[16, 6] across,
      float[N, 24] product, int32[4, 8] bytes, float[6] reduced)
  <float[8, 8, 3, 3] w, float[8, 1, 3, 3] d, float[1, 32, 8] lw, float[1, 32, 8] lr, float[16] scale,
   float[16] bias, float[16, 24] u, int8[16, 8] c, int64[1] three = {3}, int64[1] last = {1}, int64 one = {1},
   float[4] twice = {1, 1, 2, 2}>
{ conv = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, w)
  depthwise = Conv <pads = [1, 1, 1, 1], group = 8> (x, d)
  lstm = LSTM <hidden_size = 8> (s, lw, lr)
  softmax = Softmax <axis = -1> (m)
  norm = LayerNormalization (m, scale, bias)
  values, best = TopK <axis = -1> (m, three)
  sums = CumSum (m, one)
  larger = Resize <mode = "nearest"> (x, , twice)
  across = Transpose <perm = [1, 0]> (m)
  pr = MatMul(o, u)  product = Relu(pr)
  bytes = MatMulInteger (b, c)
  reduced = ReduceMax <keepdims = 0> (m, last) }"""
NODES = """Conv#0 Conv#1 LSTM#2 Softmax#3 LayerNormalization#4 TopK#5 CumSum#6 Resize#7 Transpose#8 MatMul#9
MatMulInteger#11 ReduceMax#12"""
WITH_FORMS = Path(__file__).parents[2] / "filecheck" / "tensor" / "schedule" / "choose-forms.mlir"
TARGET = fixed_target("x86-64-v3")
TRIED = LEVELS if os.environ.get(ALL_CASES) else ("choose-schedules", "vector", "loops")


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> list[FuncOp]:
    """The kernels of a model with a layer of each family, its weights random."""
    model, rng = onnx_model(FAMILIES), np.random.default_rng(0)
    given = {weight.name for weight in model.graph.initializer}
    for info in model.graph.value_info:
        if info.name not in given:
            shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
            array = (8 * rng.standard_normal(shape)).astype(dtype)
            model.graph.initializer.append(numpy_helper.from_array(array, info.name))
    onnx.save(model, str(path := tmp_path_factory.mktemp("families") / "families.onnx"))
    return kernels_of(Replay("x86-64-v3").lowered(str(path)).module)


@pytest.mark.sample(4)
@pytest.mark.parametrize("node", NODES.split())
def test_texts_of_each_family(node: str, kernels: list[FuncOp]) -> None:
    found = [kernel for kernel in kernels if node in " ".join(node_names(kernel.location)).split()]
    assert found
    for kernel in found:
        _expect_same(kernel, TRIED)


@pytest.mark.sample(9)
@pytest.mark.parametrize("name", ["pool", "trees", "winograd", pytest.param("given", marks=whole), "many"])
def test_texts_of_each_op_with_forms(name: str) -> None:
    module = parse_module(StepwellContext(), WITH_FORMS.read_text(), WITH_FORMS.name)
    (kernel,) = (op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == name)
    _expect_same(kernel, TRIED)


def _expect_same(kernel: FuncOp, levels: tuple[str, ...]) -> None:
    texts = Texts(kernel, TARGET)
    assert {level: texts.verdict(level) for level in levels} == dict.fromkeys(levels, "same")


def test_verdicts_on_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another model of a run that ended, and code that is slower, in the file of what was found."""
    for name, op in (("first", "Relu"), ("second", "Neg")):
        model = onnx_model(f"g (float[4] x) => (float[4] y) {{ y = {op}(x) }}")
        onnx.save(model, str(tmp_path / f"{name}.onnx"))
    models = [str(tmp_path / f"{name}.onnx") for name in ("first", "second")]
    file = tmp_path / "texts.json"
    assert main([*models, "--shard", "1/2", "--file", str(file)]) == 0
    content = json.loads(file.read_text())
    (first,) = content["kernels"].values()
    assert first == dict.fromkeys(LEVELS, "same")
    first |= {"loops": "0.50", "vector": "1.20", "llvm": "error[bad-schedule]: no"}
    file.write_text(json.dumps(content))
    capsys.readouterr()
    assert main([*models, "--file", str(file)]) == 1
    printed = capsys.readouterr().out
    assert f"| {models[0]} | 1 | 8 | 5 | 0 | 1 | 2 |\n| {models[1]} | 1 | 8 | 8 | 0 | 0 | 0 |" in printed
    for line in ("k0, vector: 1.20", "k0, loops: 0.50", "k0, llvm: error[bad-schedule]: no"):
        assert f"{models[0]} {line}" in printed
    content["state"] = "of another compiler"
    file.write_text(json.dumps(content))
    assert main([models[0], "--file", str(file)]) == 0
    with pytest.raises(SystemExit):
        main(["--shard", "3/2"])


def test_code_that_differs_is_timed() -> None:
    module = parse_module(StepwellContext(), WITH_FORMS.read_text(), WITH_FORMS.name)
    (kernel,) = (op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == "pool")
    texts = Texts(kernel, TARGET)
    texts.written["vector"] = texts.written["vector"].replace("cmpf ogt", "cmpf olt")
    assert texts.verdict("vector") == "differs"
    assert texts.ratio("vector") > 0
