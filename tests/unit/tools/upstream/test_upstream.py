"""Text for upstream MLIR: its own verifier and passes judge it; read back, it is the same program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.parser import Parser

import stepwell
from stepwell import mlir
from stepwell.dialects._xdsl import StepwellContext
from stepwell.runtime.interface import Array
from stepwell.tools.api.module import Module
from stepwell.tools.cli import main
from tests.onnx_models import onnx_model
from tests.support.imports import ROOT
from tests.support.upstream import run_level_2, verify

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


@pytest.mark.parametrize("rows", [3, 1])
def test_upstream_computes_the_same(rows: int) -> None:
    """Lowered by upstream's own passes and run by its engine: a second implementation of level 2."""
    module = _module()
    x = np.linspace(-2, 2, 4 * rows, dtype=np.float32).reshape(rows, 4)
    (found,) = run_level_2(mlir.to_upstream(module), [x, np.array(rows)])
    np.testing.assert_allclose(
        np.asarray(found, np.float32), np.asarray(module.compile()(x), np.float32), rtol=1e-5, atol=1e-6
    )


_BRANCH = """
net (bool c, float[N] x, float[M] z) => (float[K] y) {
  t = If (c) <then_branch = a () => (float[P] p) { p = Neg(x) },
              else_branch = b () => (float[Q] q) { q = Identity(z) }>
  y = Relu(t)
}
"""
_LOOP = """
net (int64 n, bool c, float[N] x) => (float[K] y, float[n, 2] ys)
<float[2] w = {1, 2}> {
  y, ys = Loop(n, c, x) <body = b (int64 i, bool ci, float[M] s) => (bool co, float[P] t, float[2] u) {
    t = Concat<axis=0>(s, w)
    fi = Cast<to=1>(i)
    u = Add(w, fi)
    co = Identity(ci)
  }>
}
"""
_WHILE = """
net (bool c, float[N] x) => (float[K] y)
<int64 most = {100}, float limit = {40}> {
  y = Loop(most, c, x) <body = b (int64 i, bool ci, float[M] s) => (bool co, float[P] t) {
    t = Concat<axis=0>(s, s)
    sum = ReduceSum<keepdims=0>(t)
    co = Less(sum, limit)
  }>
}
"""
_X = np.array([3, -1, 2], np.float32)
_YES, _NO = np.array(True), np.array(False)


@pytest.mark.parametrize(
    ("text", "inputs", "sizes"),
    [
        (_BRANCH, (_YES, _X, -_X[:2]), (3, 2)),
        (_BRANCH, (_NO, _X, -_X[:2]), (3, 2)),
        (_LOOP, (np.array(3), _YES, _X), (3,)),
        (_WHILE, (_YES, _X), (3,)),
    ],
    ids=["then", "else", "for", "while"],
)
def test_upstream_runs_control_flow(text: str, inputs: tuple[Array, ...], sizes: tuple[int, ...]) -> None:
    module = stepwell.read(onnx_model(text)).to("linalg")
    printed = mlir.to_upstream(module)
    found = run_level_2(printed, [*inputs, *map(np.array, sizes)])
    wanted = module.compile()(*inputs)
    for theirs, ours in zip(found, wanted if isinstance(wanted, tuple) else [wanted], strict=True):
        np.testing.assert_array_equal(theirs, np.asarray(ours))


def test_objects_in_control_flow_are_refused() -> None:
    text = """net (bool c, float[2] x, float[3] z) => (seq(float[K]) y, float[2] r) {
      r = Relu(x)
      y = If (c) <then_branch = a () => (seq(float[2]) p) { p = SequenceConstruct(x) },
                  else_branch = b () => (seq(float[3]) q) { q = SequenceConstruct(z) }>
    }"""
    module = stepwell.read(onnx_model(text)).to("linalg")
    with pytest.raises(stepwell.StepwellError, match=r"no counterpart in upstream MLIR for .*graph.if"):
        mlir.to_upstream(module)


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
