"""`stepwell check-gradients`: right gradients agree, and a wrong rule is named."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from xdsl.ir import SSAValue

from stepwell.dialects import graph
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import RULES, rule_of_type
from stepwell.tools.cli import main
from tests.support.imports import ROOT

MATRIX, ROWS, SCALAR = "tensor<3x4xf32>", 'tensor<?x4xf32, #graph.dims<["N", 4]>>', "tensor<f32>"
PROGRAM = f"""
func.func @main(%x: {ROWS}, %w: tensor<4x2xf32>, %i: tensor<i64>) -> tensor<f32> {{
  %h = graph.matmul %x, %w : ({ROWS}, tensor<4x2xf32>) -> tensor<?x2xf32, #graph.dims<["N", 2]>>
  %r = graph.relu %h : tensor<?x2xf32, #graph.dims<["N", 2]>> -> tensor<?x2xf32, #graph.dims<["N", 2]>>
  %p = graph.softmax %r axis 1
    : tensor<?x2xf32, #graph.dims<["N", 2]>> -> tensor<?x2xf32, #graph.dims<["N", 2]>>
  %y = graph.reduce %p kind "sum_square" axes [0, 1] keep_dims false
    : tensor<?x2xf32, #graph.dims<["N", 2]>> -> tensor<f32>
  func.return %y : tensor<f32>
}}
func.func @loop(%x: {MATRIX}, %n: tensor<i64>) -> {MATRIX} {{
  %y = graph.for %i to %n (%a = %x : {MATRIX}) -> ({MATRIX}) {{
    %b = graph.sin %a : {MATRIX} -> {MATRIX}
    graph.yield %b : {MATRIX}
  }}
  func.return %y : {MATRIX}
}}
func.func @bits(%x: {SCALAR}) -> {SCALAR} {{
  %i = graph.bitcast %x to i32 : {SCALAR} -> tensor<i32>
  %y = graph.bitcast %i to f32 : tensor<i32> -> {SCALAR}
  func.return %y : {SCALAR}
}}"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.mlir"
    path.write_text(PROGRAM)
    return path


def test_right_gradients_agree(program: Path, capsys: pytest.CaptureFixture[str]):
    for options in ([], ["--wrt", "1"], ["--function", "loop", "--seed", "3"]):
        assert main(["check-gradients", str(program), *options]) == 0
        assert "agrees" in capsys.readouterr().out


def test_the_op_whose_rule_departs_first_is_named(
    program: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def wrong(op: graph.SoftmaxOp, dy: SSAValue, b: GradientBuilder) -> Sequence[SSAValue | None]:
        return [b.multiply(op.result, dy)]

    rule_of_type(graph.SoftmaxOp)  # the rules are read at first use
    monkeypatch.setitem(RULES, "graph.softmax", wrong)
    facts = tmp_path / "facts.json"
    assert main(["check-gradients", str(program), "--json", str(facts)]) == 1
    out = capsys.readouterr().out
    assert "DEPARTS" in out and "departs: graph.softmax" in out
    found = json.loads(facts.read_text())
    assert found["first"]["name"] == "graph.softmax" and not found["function"]["right"]
    assert [row["right"] for row in found["ops"]] == [True, True, False, True]


def test_wrong_functions_and_arguments_are_errors(program: Path, capsys: pytest.CaptureFixture[str]):
    for options, code in (
        (["--function", "unknown"], "unknown-function"),
        (["--wrt", "2"], "not-differentiable"),
        (["--wrt", "7"], "not-differentiable"),
        (["--function", "bits"], "no-derivative"),
    ):
        assert main(["check-gradients", str(program), *options]) == 1
        assert f"error[{code}]" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["check-gradients", str(program), "--wrt", "a"])


def test_models_of_onnx_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["" : 17]>
    net (float[1, 2, 6, 6] x) => (float[1, 3, 3, 3] y) {
        h = Conv <pads = [1, 1, 1, 1]> (x, w)
        n = LRN <size = 3> (h)
        y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (n)
    }""")
    weights = np.random.default_rng(0).standard_normal((3, 2, 3, 3)).astype(np.float32)
    model.graph.initializer.append(numpy_helper.from_array(weights, "w"))
    onnx.save(model, tmp_path / "net.onnx")
    assert main(["check-gradients", str(tmp_path / "net.onnx")]) == 0
    assert "agrees" in capsys.readouterr().out


def test_a_loss_over_trees_has_right_gradients(capsys: pytest.CaptureFixture[str]):
    tree = str(ROOT / "examples" / "tree_lstm.mlir")
    assert main(["check-gradients", tree, "--function", "loss"]) == 0
    assert "agrees" in capsys.readouterr().out


def test_a_wrong_rule_is_named_in_programs_on_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    def wrong(op: graph.ExpOp, dy: SSAValue, b: GradientBuilder) -> Sequence[SSAValue | None]:
        return [dy]

    rule_of_type(graph.ExpOp)
    monkeypatch.setitem(RULES, "graph.exp", wrong)
    (tmp_path / "list.mlir").write_text("""
func.func @main(%l: !adt.data<@List, tensor<f32>>, %x: tensor<f32>) -> tensor<f32> {
  %e = graph.exp %x : tensor<f32> -> tensor<f32>
  %r = adt.match %l : !adt.data<@List, tensor<f32>> -> (tensor<f32>)
  case Cons(%a: tensor<f32>, %t: !adt.data<@List, tensor<f32>>) {
    %u = graph.call @main(%t, %e) : (!adt.data<@List, tensor<f32>>, tensor<f32>) -> tensor<f32>
    %s = graph.add %a, %u : (tensor<f32>, tensor<f32>) -> tensor<f32>
    graph.yield %s : tensor<f32>
  } case Nil {
    graph.yield %e : tensor<f32>
  }
  func.return %r : tensor<f32>
}""")
    assert main(["check-gradients", str(tmp_path / "list.mlir"), "--wrt", "1"]) == 1
    assert "departs: graph.exp" in capsys.readouterr().out
