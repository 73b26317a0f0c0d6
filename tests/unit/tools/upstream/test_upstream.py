"""Text for upstream MLIR: its own verifier and passes judge it; read back, it is the same program."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from xdsl.parser import Parser

import stepwell
from stepwell import mlir
from stepwell.dialects._xdsl import StepwellContext
from stepwell.tools.api.module import Module
from stepwell.tools.cli import main
from tests.onnx_models import onnx_model
from tests.support.imports import ROOT
from tests.support.upstream import run_there, verify

TEXT = """
net (float[N, 4] x) => (float[N, 5] y)
<float[4, 5] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1}> {
  h = MatMul(x, w)
  r = Relu(h)
  y = Softmax(r)
}
"""
LEVELS = ("linalg", "vector", "loops", "llvm")


def _module(level: str = "linalg") -> Module:
    return stepwell.read(onnx_model(TEXT)).to(level)


@pytest.mark.sample(3)
@pytest.mark.parametrize("level", LEVELS)
def test_upstream_verifies_the_text(level: str) -> None:
    verify(mlir.to_upstream(_module(level)))
    verify(mlir.to_upstream(_module(level), keep_info=False))


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("name", ["gru_seq", "silero_seq", "basic_pitch"])
def test_upstream_verifies_models(name: str, level: str) -> None:
    verify(mlir.to_upstream(stepwell.read(ROOT / f"tests/models/{name}.onnx").to(level)))


def test_flags_of_intrinsics_have_the_names_of_mlir() -> None:
    context = StepwellContext()
    text = """llvm.func @main(%x: i32) -> i32 {
      %a = llvm.intr.abs(%x) : (i32) -> i32
      %y = llvm.intr.ctlz(%a) {is_zero_poison = true} : (i32) -> i32
      llvm.return %y : i32
    }"""
    printed = mlir.to_upstream(Module(Parser(context, text).parse_module(), context=context))
    assert "is_int_min_poison = false" in printed
    assert "is_zero_poison = true" in printed
    verify(printed)


def test_text_that_is_read_back_is_the_same_program() -> None:
    module = _module()
    back = mlir.from_upstream(mlir.to_upstream(module))
    assert (back.level, str(back.inputs), str(back.outputs)) == (
        "linalg",
        str(module.inputs),
        str(module.outputs),
    )
    ours, theirs = module.compile(), back.compile()
    for rows in (1, 3):
        x = np.linspace(-2, 2, rows * 4, dtype=np.float32).reshape(rows, 4)
        np.testing.assert_array_equal(np.asarray(ours(x)), np.asarray(theirs(x)))


_LOWERED = """
import ctypes, json, sys
import numpy as np
from torch_mlir import ir, passmanager, runtime
from torch_mlir.execution_engine import ExecutionEngine

text, x = json.loads(sys.stdin.read())
x = np.array(x, np.float32)
context = ir.Context()
module = ir.Module.parse(text, context)
module.operation.verify()
with context:
    for op in module.body.operations:
        if op.attributes["sym_name"].value == "main":
            op.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
    passmanager.PassManager.parse(
        "builtin.module(one-shot-bufferize{bufferize-function-boundaries=true "
        "function-boundary-type-conversion=identity-layout-map},convert-linalg-to-loops,"
        "expand-strided-metadata,lower-affine,convert-scf-to-cf,convert-math-to-llvm,convert-math-to-libm,"
        "convert-arith-to-llvm,finalize-memref-to-llvm,convert-cf-to-llvm,convert-func-to-llvm,"
        "reconcile-unrealized-casts)"
    ).run(module.operation)
engine = ExecutionEngine(module, opt_level=2)
result = runtime.make_nd_memref_descriptor(2, ctypes.c_float)()
arguments = [ctypes.pointer(ctypes.pointer(result)),
             ctypes.pointer(ctypes.pointer(runtime.get_ranked_memref_descriptor(x))),
             ctypes.pointer(ctypes.c_long(len(x)))]
engine.invoke("main", *arguments)
print(json.dumps(runtime.ranked_memref_to_numpy(ctypes.pointer(result)).tolist()))
"""


def test_upstream_computes_the_same() -> None:
    """Lowered by upstream's own passes and run by its engine: a second implementation of level 2."""
    module = _module()
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
    printed = run_there(_LOWERED, json.dumps([mlir.to_upstream(module), x.tolist()]))
    np.testing.assert_allclose(
        np.array(json.loads(printed)), np.asarray(module.compile()(x), np.float32), rtol=1e-5, atol=1e-6
    )


def test_levels_above_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(stepwell.StepwellError, match="level graph has ops that upstream"):
        mlir.to_upstream(stepwell.read(onnx_model(TEXT)).to("graph"))
    file = tmp_path / "m.onnx"
    file.write_bytes(onnx_model(TEXT).SerializeToString())
    assert main(["compile", str(file), "--upstream"]) == 1
    assert "--emit linalg --upstream" in capsys.readouterr().err
    assert main(["compile", str(file), "--emit", "graph", "--upstream"]) == 1
    assert "level graph" in capsys.readouterr().err
    assert main(["compile", str(file), "--emit", "linalg", "--upstream", "-o", str(tmp_path / "u.mlir")]) == 0
    assert mlir.from_upstream((tmp_path / "u.mlir").read_text()).level == "linalg"


def test_text_that_cannot_be_read() -> None:
    with pytest.raises(stepwell.StepwellError) as caught:
        mlir.from_upstream("func.func @f() { some.unknown }")
    assert caught.value.code == "syntax"
    with pytest.raises(stepwell.StepwellError, match="no bytes for the resource"):
        mlir.from_upstream(
            '"func.func"() <{sym_name = "f", function_type = () -> ()}> ({'
            '%0 = "arith.constant"() <{value = dense_resource<w> : tensor<4xf32>}> : () -> tensor<4xf32>'
            '"func.return"() : () -> ()}) : () -> ()'
        )


OTHERS = """
#rows = affine_map<(d0, d1) -> (d0, d1)>
"builtin.module"() ({
  "func.func"() <{function_type = (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>, sym_name = "net"}> ({
  ^bb0(%arg0: tensor<?x8xf32>, %arg1: tensor<8x4xf32>):
    %0 = "arith.constant"() <{value = 0 : index}> : () -> index
    %1 = "arith.constant"() <{value = 0.000000e+00 : f32}> : () -> f32
    %2 = "tensor.dim"(%arg0, %0) : (tensor<?x8xf32>, index) -> index
    %3 = "tensor.empty"(%2) : (index) -> tensor<?x4xf32>
    %4 = "linalg.fill"(%1, %3) <{operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%a: f32, %b: f32):
      "linalg.yield"(%a) : (f32) -> ()
    }) : (f32, tensor<?x4xf32>) -> tensor<?x4xf32>
    %5 = "linalg.matmul"(%arg0, %arg1, %4) <{operandSegmentSizes = array<i32: 2, 1>}> ({
    ^bb0(%c: f32, %d: f32, %e: f32):
      %9 = "arith.mulf"(%c, %d) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      %10 = "arith.addf"(%e, %9) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32
      "linalg.yield"(%10) : (f32) -> ()
    }) : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %7 = "linalg.generic"(%5, %3) <{indexing_maps = [#rows, #rows],
      iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<parallel>],
      operandSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%f: f32, %g: f32):
      %8 = "math.tanh"(%f) <{fastmath = #arith.fastmath<none>}> : (f32) -> f32
      "linalg.yield"(%8) : (f32) -> ()
    }) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    "func.return"(%7) : (tensor<?x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
"""


def test_a_program_of_others_compiles_for_every_size() -> None:
    module = mlir.from_upstream(OTHERS).run("generalize-named-ops,outline-kernels")
    model = module.compile()
    w = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
    for rows in (1, 5):
        x = np.linspace(-2, 1, rows * 8, dtype=np.float32).reshape(rows, 8)
        np.testing.assert_allclose(np.asarray(model(x, w), np.float32), np.tanh(x @ w), rtol=1e-5, atol=1e-6)
