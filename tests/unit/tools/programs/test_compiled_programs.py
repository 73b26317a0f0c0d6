"""Compiled programs with functions, data and cells: what they compute, from Python and from commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.values import Data
from stepwell.tools import cli
from tests.commands import Capture, shown_error
from tests.support.imports import ROOT

L = "!adt.data<@List, tensor<i64>>"
N = "tensor<i64>"
HOLE = '!graph.hole<"m">'
MAP = f"""
func.func @main(%l: {L}, %k: {N}) -> {L} {{
  %f = graph.lambda (%x: {N}) -> ({N}) {{
    %y = graph.add %x, %k : ({N}, {N}) -> {N}
    graph.yield %y : {N}
  }}
  %m = graph.call @map<{N}, {N}>(%f, %l) : (({N}) -> {N}, {L}) -> {L}
  func.return %m : {L}
}}
"""
COMPOSE = f"""
func.func @main(%k: {N}) -> (({N}) -> {N}) {{
  %f = graph.lambda (%x: {N}) -> ({N}) {{
    %y = graph.add %x, %k : ({N}, {N}) -> {N}
    graph.yield %y : {N}
  }}
  %g = graph.lambda (%x: {N}) -> ({N}) {{
    %y = graph.multiply %x, %x : ({N}, {N}) -> {N}
    graph.yield %y : {N}
  }}
  %h = graph.call @compose<{N}, {N}, {N}>(%f, %g) : (({N}) -> {N}, ({N}) -> {N}) -> (({N}) -> {N})
  func.return %h : ({N}) -> {N}
}}
"""


def _parity(name: str, other: str, last: int) -> str:
    return f"""
func.func private @{name}(%n: {N}) -> tensor<i1> {{
  %zero = graph.constant dense<0> : {N}
  %done = graph.equal %n, %zero : ({N}, {N}) -> tensor<i1>
  %r = graph.if %done : tensor<i1> -> (tensor<i1>) {{
    %t = graph.constant dense<{last}> : tensor<i1>
    graph.yield %t : tensor<i1>
  }} else {{
    %one = graph.constant dense<1> : {N}
    %m = graph.subtract %n, %one : ({N}, {N}) -> {N}
    %s = graph.call @{other}(%m) : ({N}) -> tensor<i1>
    graph.yield %s : tensor<i1>
  }}
  func.return %r : tensor<i1>
}}
"""


EVEN = f"""{_parity("even", "odd", 1)}{_parity("odd", "even", 0)}
func.func @main(%n: {N}) -> tensor<i1> {{
  %r = graph.call @even(%n) : ({N}) -> tensor<i1>
  func.return %r : tensor<i1>
}}
"""
# A list of closures over different values, each called.
CLOSURES = f"""
func.func @main(%l: {L}, %x: {N}) -> {L} {{
  %make = graph.lambda (%k: {N}) -> (({N}) -> {N}) {{
    %f = graph.lambda (%v: {N}) -> ({N}) {{
      %p = graph.multiply %v, %k : ({N}, {N}) -> {N}
      graph.yield %p : {N}
    }}
    graph.yield %f : ({N}) -> {N}
  }}
  %fs = graph.call @map<{N}, ({N}) -> {N}>(%make, %l) : (({N}) -> (({N}) -> {N}), {L}) -> !adt.data<@List, ({N}) -> {N}>
  %call = graph.lambda (%f: ({N}) -> {N}) -> ({N}) {{
    %r = graph.call %f(%x) : ({N}) -> {N}
    graph.yield %r : {N}
  }}
  %ys = graph.call @map<({N}) -> {N}, {N}>(%call, %fs) : ((({N}) -> {N}) -> {N}, !adt.data<@List, ({N}) -> {N}>) -> {L}
  func.return %ys : {L}
}}
"""  # noqa: E501
# Two calls of a function with a cell inside: it counts.
CELLS = f"""
func.func @main(%n: {N}) -> ({N}, {N}) {{
  %zero = graph.constant dense<0> : {N}
  %r = ref.new %zero : {N} -> !ref.cell<{N}>
  %up = graph.lambda (%by: {N}) -> () {{
    %v = ref.read %r : !ref.cell<{N}> -> {N}
    %w = graph.add %v, %by : ({N}, {N}) -> {N}
    ref.write %r, %w : !ref.cell<{N}>, {N}
    graph.yield
  }}
  graph.call %up(%n) : ({N}) -> ()
  %once = ref.read %r : !ref.cell<{N}> -> {N}
  graph.call %up(%n) : ({N}) -> ()
  %twice = ref.read %r : !ref.cell<{N}> -> {N}
  func.return %once, %twice : {N}, {N}
}}
"""
LOOP = f"""
func.func @main(%l: {L}) -> {N} {{
  %zero = graph.constant dense<0> : {N}
  %more = graph.constant dense<true> : tensor<i1>
  %sum, %rest, %go = graph.while (%s = %zero : {N}, %xs = %l : {L}, %c = %more : tensor<i1>) -> ({N}, {L}, tensor<i1>) {{
    graph.yield %c : tensor<i1>
  }} do (%s: {N}, %xs: {L}, %c: tensor<i1>) {{
    %a, %b, %d = adt.match %xs : {L} -> ({N}, {L}, tensor<i1>) case Cons(%x: {N}, %t: {L}) {{
      %u = graph.add %s, %x : ({N}, {N}) -> {N}
      graph.yield %u, %t, %c : {N}, {L}, tensor<i1>
    }} case Nil {{
      %stop = graph.constant dense<false> : tensor<i1>
      graph.yield %s, %xs, %stop : {N}, {L}, tensor<i1>
    }}
    graph.yield %a, %b, %d : {N}, {L}, tensor<i1>
  }}
  func.return %sum : {N}
}}
"""  # noqa: E501


class Both:
    """A program with native functions and on the machine: each call is made by both, which must agree."""

    def __init__(self, *models: Any):
        self.models = models

    def __call__(self, *inputs: Any) -> Any:
        first, second = (model(*inputs) for model in self.models)
        if callable(first):
            return Both(first, second)
        assert first == second
        return first

    def __getattr__(self, name: str) -> Any:
        return getattr(self.models[0], name)


def compiled(text: str, tmp_path: Path) -> Any:
    file = tmp_path / "program.mlir"
    file.write_text(text)
    return Both(stepwell.compile(file, executor="native"), stepwell.compile(file, executor="vm"))


def interpreted(text: str, *inputs: Any) -> list[Any]:
    module = stepwell.parse(text).run("link-prelude")
    return module.interpret(*inputs)


def test_map_of_a_closure(tmp_path: Path) -> None:
    assert compiled(MAP, tmp_path)([1, 2, 3], 10) == [11, 12, 13]


def test_a_returned_function_is_called(tmp_path: Path) -> None:
    assert compiled(COMPOSE, tmp_path)(np.int64(3))(np.int64(4)) == 19


def test_mutual_recursion_is_deep(tmp_path: Path) -> None:
    model = compiled(EVEN, tmp_path)
    assert model(np.int64(20000)) == True and model(np.int64(20001)) == False  # noqa: E712  # arrays


def test_closures_keep_what_they_captured(tmp_path: Path) -> None:
    assert compiled(CLOSURES, tmp_path)([2, 3, 5], np.int64(7)) == [14, 21, 35]


def test_cells_are_written_in_order(tmp_path: Path) -> None:
    assert compiled(CELLS, tmp_path)(np.int64(5)) == (5, 10)
    assert interpreted(CELLS, np.int64(5)) == [5, 10]


def test_a_loop_carries_data(tmp_path: Path) -> None:
    assert compiled(LOOP, tmp_path)([3, 4, 5]) == 12


def test_an_artifact_computes_the_same(tmp_path: Path) -> None:
    model = compiled(MAP, tmp_path)
    model.save(tmp_path / "map.stepwell")
    assert stepwell.load(tmp_path / "map.stepwell")([1, 2], np.int64(1)) == [2, 3]  # pyright: ignore


def test_a_wrong_input_names_its_place(tmp_path: Path) -> None:
    with pytest.raises(StepwellError, match="input|expected") as raised:
        compiled(MAP, tmp_path)([1, np.zeros(2, np.int64)], np.int64(1))
    assert raised.value.code in ("type-mismatch", "shape-mismatch")
    assert "[1]" in str(raised.value)


def _state(tree: Any, w: Any, u: Any, uf: Any, b: Any) -> tuple[Any, Any]:
    """The states of a child-sum Tree-LSTM in numpy."""

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    x, children = tree
    q = x @ w + b
    states = [_state(child, w, u, uf, b) for child in children]
    memory = sum((sigmoid(q[:, 96:] + h @ uf) * c for h, c in states), np.zeros((1, 32), np.float32))
    gates = q[:, :96] + sum((h for h, _ in states), np.zeros((1, 32), np.float32)) @ u
    i, o, v = sigmoid(gates[:, :32]), sigmoid(gates[:, 32:64]), np.tanh(gates[:, 64:])
    memory = i * v + memory
    return o * np.tanh(memory), memory


@pytest.mark.sample(3)
@pytest.mark.parametrize("executor", ["native", "vm"])
def test_tree_lstm_against_numpy(executor: Literal["native", "vm"]) -> None:
    model: Any = stepwell.compile(ROOT / "examples" / "tree_lstm.mlir", executor=executor)
    rng = np.random.default_rng(0)

    def value(*shape: int) -> Any:
        return (rng.standard_normal(shape) / 4).astype(np.float32)

    weights = value(32, 128), value(32, 96), value(32, 32), value(128)
    leaves = [(value(1, 32), []) for _ in range(4)]
    tree = (value(1, 32), [leaves[0], (value(1, 32), leaves[1:3]), leaves[3]])

    def data(node: Any) -> Data:
        return Data("Rose", [node[0], [data(child) for child in node[1]]])

    np.testing.assert_allclose(model(data(tree), *weights), _state(tree, *weights)[0], rtol=1e-5, atol=1e-6)


def test_a_command_runs_a_program_on_json(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "map.mlir").write_text(MAP)
    (tmp_path / "in.json").write_text(json.dumps({"l": [1, 2], "k": 5}))
    inputs = ["--inputs-json", str(tmp_path / "in.json")]
    assert cli.main(["run", str(tmp_path / "map.mlir"), *inputs, "--profile"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("[6, 7]")
    assert "invoke_closure" in out


def test_edited_instructions_run(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "even.mlir").write_text(EVEN)
    assert cli.main(["compile", str(tmp_path / "even.mlir"), "--emit", "vm"]) == 0
    text = capsys.readouterr().out
    assert "vm.tail_invoke" in text
    (tmp_path / "edited.mlir").write_text(text.replace("#0 = dense<true>", "#0 = dense<false>"))
    (tmp_path / "in.json").write_text('{"n": 4}')
    for name, answer in (("even", "True"), ("edited", "False")):
        file = tmp_path / f"{name}.mlir"
        assert cli.main(["run", str(file), "--inputs-json", str(tmp_path / "in.json")]) == 0
        assert capsys.readouterr().out.strip() == answer


ENDLESS = f"""
func.func @main(%n: {N}) -> {N} {{
  %one = graph.constant dense<1> : {N}
  %m = graph.call @main(%n) : ({N}) -> {N}
  %r = graph.add %m, %one : ({N}, {N}) -> {N}
  func.return %r : {N}
}}
"""


def test_endless_recursion_is_an_error_with_the_calls(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "endless.mlir").write_text(ENDLESS)
    error = shown_error(capsys, cli.main, "run", tmp_path / "endless.mlir", "--max-depth", "5000")
    assert "error[too-deep]" in error
    assert "… 4,991 more of @main" in error, "the calls that are left out are counted"


def test_a_program_whose_calls_end_is_compiled_as_any_other(tmp_path: Path) -> None:
    text = f"""
func.func @twice(%x: {N}) -> {N} {{
  %y = graph.add %x, %x : ({N}, {N}) -> {N}
  func.return %y : {N}
}}
func.func @main(%x: {N}) -> {N} {{
  %f = graph.function @twice : ({N}) -> {N}
  %y = graph.call %f(%x) : ({N}) -> {N}
  func.return %y : {N}
}}
"""
    (tmp_path / "twice.mlir").write_text(text)
    model: Any = stepwell.compile(tmp_path / "twice.mlir")
    assert model.image.program == b""
    assert model(np.int64(4)) == 8


def test_a_model_of_tensors_runs_as_bytecode_too() -> None:
    digits = ROOT / "examples" / "digits.onnx"
    program: Any = stepwell.compile(digits, executor="vm")
    assert len(program.segments) == 1
    x = np.linspace(0, 1, 64, dtype=np.float32).reshape(1, -1)
    shape = [int(dim) if dim.isdecimal() else 1 for dim in program.signature().inputs[0].dims]
    np.testing.assert_array_equal(program(x.reshape(shape)), stepwell.compile(digits)(x.reshape(shape)))


def test_types_may_be_left_out(tmp_path: Path) -> None:
    text = MAP.replace(
        f"@map<{N}, {N}>(%f, %l) : (({N}) -> {N}, {L}) -> {L}",
        f"@map(%f, %l) : (({N}) -> {N}, {L}) -> {HOLE}",
    )
    text = text.replace(f"func.return %m : {L}", f"func.return %m : {HOLE}")
    assert text.count(HOLE) == 2
    assert compiled(text, tmp_path)([1, 2], np.int64(1)) == [2, 3]


@pytest.mark.parametrize("executor", ["auto", "vm", "interpreter"])
def test_types_may_be_left_out_of_tensors(executor: Any, tmp_path: Path) -> None:
    """Known types at one place alone, backwards: %h is tensor<3x1x1xf32>, which only its use says."""
    (tmp_path / "add.mlir").write_text(f"""
    func.func @main(%x: tensor<3x2xf32>, %h: {HOLE}) -> !graph.hole<"y"> {{
      %y = graph.add %x, %h : (tensor<3x2xf32>, {HOLE}) -> !graph.hole<"y">
      %z = graph.neg %h : {HOLE} -> tensor<3x1x1xf32>
      %w = graph.multiply %y, %z : (!graph.hole<"y">, tensor<3x1x1xf32>) -> !graph.hole<"y">
      func.return %w : !graph.hole<"y">
    }}""")
    x, h = np.arange(6, dtype=np.float32).reshape(3, 2), np.array([1, 2, 4], np.float32).reshape(3, 1, 1)
    model: Any = stepwell.compile(tmp_path / "add.mlir", executor=executor)
    np.testing.assert_array_equal(model(x, h), (x + h) * -h)


def test_unknown_sizes_that_a_callee_names_must_agree(tmp_path: Path) -> None:
    """Both rows are as long as another, which nothing but the callee says."""
    row, named = "tensor<?xf32>", 'tensor<?xf32, #graph.dims<["N"]>>'
    (tmp_path / "sum.mlir").write_text(f"""
func.func private @sum_of(%x: {named}, %y: {named}) -> {named} {{
  %z = graph.add %x, %y : ({named}, {named}) -> {named}
  func.return %z : {named}
}}
func.func @main(%x: {row}, %y: {row}) -> {row} {{
  %z = graph.call @sum_of(%x, %y) : ({row}, {row}) -> {row}
  func.return %z : {row}
}}
""")
    model = stepwell.compile(tmp_path / "sum.mlir")
    two, three = np.ones(2, np.float32), np.ones(3, np.float32)
    np.testing.assert_array_equal(model(three, three), 2 * three)
    with pytest.raises(StepwellError, match="argument 1 of a call has another size along axis 0"):
        model(three, two)
