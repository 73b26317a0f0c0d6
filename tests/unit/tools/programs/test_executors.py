"""The executors of programs: equal values, and errors of equal codes."""

from __future__ import annotations

import json
import os
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
from tests.support.samples import whole
from tests.unit.tools.programs.test_compiled_programs import (
    CELLS,
    CLOSURES,
    COMPOSE,
    ENDLESS,
    EVEN,
    LOOP,
    MAP,
    L,
    N,
)

Executor = Literal["native", "vm", "interpreter"]
EXECUTORS: tuple[Executor, ...] = ("native", "vm", "interpreter")
# The last element; two data types have a constructor of the name Leaf, with other tags.
TREES = f"""
adt.data @Left {{
  adt.constructor @Leaf({N})
  adt.constructor @Node(!adt.data<@Left>, !adt.data<@Left>)
}}
adt.data @Right {{
  adt.constructor @Node(!adt.data<@Right>, !adt.data<@Right>)
  adt.constructor @Leaf({N})
}}
func.func @main(%t: !adt.data<@Left>) -> !adt.data<@Right> {{
  %r = adt.match %t : !adt.data<@Left> -> (!adt.data<@Right>) case Leaf(%x: {N}) {{
    %l = adt.make @Right::@Leaf(%x) : ({N}) -> !adt.data<@Right>
    graph.yield %l : !adt.data<@Right>
  }} case Node(%a: !adt.data<@Left>, %b: !adt.data<@Left>) {{
    %u = graph.call @main(%a) : (!adt.data<@Left>) -> !adt.data<@Right>
    %v = graph.call @main(%b) : (!adt.data<@Left>) -> !adt.data<@Right>
    %l = adt.make @Right::@Node(%v, %u) : (!adt.data<@Right>, !adt.data<@Right>) -> !adt.data<@Right>
    graph.yield %l : !adt.data<@Right>
  }}
  func.return %r : !adt.data<@Right>
}}
"""
HEAD = f"""
func.func @main(%l: {L}) -> {N} {{
  %x = graph.call @hd<{N}>(%l) : ({L}) -> {N}
  func.return %x : {N}
}}
"""
PICK = f"""
func.func @main(%l: !adt.data<@List, tensor<3xf32>>, %i: {N}) -> !adt.data<@List, tensor<f32>> {{
  %f = graph.lambda (%x: tensor<3xf32>) -> (tensor<f32>) {{
    %y = graph.gather %x, %i axis 0 batch_dims 0 bounds "check" : (tensor<3xf32>, {N}) -> tensor<f32>
    graph.yield %y : tensor<f32>
  }}
  %r = graph.call @map<tensor<3xf32>, tensor<f32>>(%f, %l) : ((tensor<3xf32>) -> tensor<f32>, !adt.data<@List, tensor<3xf32>>) -> !adt.data<@List, tensor<f32>>
  func.return %r : !adt.data<@List, tensor<f32>>
}}
"""  # noqa: E501
# The gradient of the product of a list, with respect to a factor.
POWER = """
func.func private @product(%l: !adt.data<@List, tensor<f32>>, %x: tensor<f32>) -> tensor<f32> {
  %r = adt.match %l : !adt.data<@List, tensor<f32>> -> (tensor<f32>)
  case Cons(%a: tensor<f32>, %t: !adt.data<@List, tensor<f32>>) {
    %u = graph.call @product(%t, %x) : (!adt.data<@List, tensor<f32>>, tensor<f32>) -> tensor<f32>
    %v = graph.multiply %a, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %s = graph.multiply %u, %v : (tensor<f32>, tensor<f32>) -> tensor<f32>
    graph.yield %s : tensor<f32>
  } case Nil {
    %one = graph.constant dense<1.0> : tensor<f32>
    graph.yield %one : tensor<f32>
  }
  func.return %r : tensor<f32>
}
func.func @main(%l: !adt.data<@List, tensor<f32>>, %x: tensor<f32>) -> (tensor<f32>, tensor<f32>) {
  %g = graph.gradient @product wrt [1] : (!adt.data<@List, tensor<f32>>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  %y, %dx = graph.call %g(%l, %x) : (!adt.data<@List, tensor<f32>>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
  func.return %y, %dx : tensor<f32>, tensor<f32>
}
"""  # noqa: E501


def compiled(text: str, executor: Executor, tmp_path: Path) -> Any:
    file = tmp_path / "program.mlir"
    file.write_text(text)
    return stepwell.compile(file, executor=executor)


# Two results of a branch in a tuple; without calls the rest is tensors.
BRANCH = f"""
func.func @main(%c: tensor<i1>, %x: {N}) -> {N} {{
  %p = graph.if %c : tensor<i1> -> (tuple<{N}, {N}>) {{
    %y = graph.add %x, %x : ({N}, {N}) -> {N}
    %t = graph.tuple %x, %y : {N}, {N}
    graph.yield %t : tuple<{N}, {N}>
  }} else {{
    %y = graph.multiply %x, %x : ({N}, {N}) -> {N}
    %t = graph.tuple %y, %x : {N}, {N}
    graph.yield %t : tuple<{N}, {N}>
  }}
  %a = graph.get %p [0] : tuple<{N}, {N}> -> {N}
  %b = graph.get %p [1] : tuple<{N}, {N}> -> {N}
  %d = graph.subtract %a, %b : ({N}, {N}) -> {N}
  func.return %d : {N}
}}
"""

ONE, TWO, THREE = (Data("Leaf", [np.array(n)]) for n in (1, 2, 3))
TREE, SEERT = Data("Node", [ONE, Data("Node", [TWO, THREE])]), Data("Node", [Data("Node", [THREE, TWO]), ONE])


@pytest.mark.sample(4)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(
    ("text", "inputs", "expected"),
    [
        (MAP, ([1, 2, 3], 10), [11, 12, 13]),
        (CLOSURES, ([2, 3, 5], 7), [14, 21, 35]),
        (CELLS, (5,), (5, 10)),
        (LOOP, ([3, 4, 5],), 12),
        (EVEN, (301,), False),
        (TREES, (TREE,), SEERT),
        (HEAD, ([4, 5],), 4),
        (PICK, ([np.arange(3, dtype=np.float32)] * 2, 2), [2, 2]),
        (POWER, ([2, 3, 4], 2), (192, 288)),
        (BRANCH, (True, 7), -7),
        (BRANCH, (False, 7), 42),
    ],
    ids=("map", "closures", "cells", "loop", "even", "trees", "head", "pick", "power", "then", "else"),
)
def test_values(text: str, inputs: Any, expected: Any, executor: Executor, tmp_path: Path) -> None:
    assert compiled(text, executor, tmp_path)(*inputs) == expected


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_returned_function(executor: Executor, tmp_path: Path) -> None:
    function = compiled(COMPOSE, executor, tmp_path)(3)
    assert function(4) == 19
    with pytest.raises(StepwellError) as raised:
        function([4])
    assert raised.value.code in ("type-mismatch", "shape-mismatch")


@pytest.mark.sample(3)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(
    ("text", "inputs", "code"),
    [
        (HEAD, ([],), "no-case"),
        (ENDLESS, (1,), "too-deep"),
        (PICK, ([np.zeros(3, np.float32)], 3), "index-out-of-range"),
        (MAP, ([1, np.zeros(2, np.int64)], 1), "shape-mismatch"),
        (MAP, (5, 1), "type-mismatch"),
        (MAP, ([1],), "missing-input"),
        (MAP, ([1], 1, 1), "extra-input"),
    ],
)
def test_errors(text: str, inputs: Any, code: str, executor: Executor, tmp_path: Path) -> None:
    model = compiled(text, executor, tmp_path).with_limits(max_depth=1000)
    with pytest.raises(StepwellError) as raised:
        model(*inputs)
    assert raised.value.code == code


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_function_that_is_not_there(executor: Executor, tmp_path: Path) -> None:
    with pytest.raises(StepwellError, match="the public functions are main") as raised:
        compiled(MAP, executor, tmp_path).run("mian", [1], 1)
    assert raised.value.code == "unknown-function"


def test_the_interpreter_runs_models_of_tensors() -> None:
    digits = ROOT / "examples" / "digits.onnx"
    model: Any = stepwell.compile(digits, executor="interpreter")
    native: Any = stepwell.compile(digits)
    x = np.linspace(0, 1, 64, dtype=np.float32).reshape(1, 64)
    np.testing.assert_allclose(model(x), native(x), rtol=1e-5, atol=1e-7)


def test_the_interpreter_has_nothing_to_save(tmp_path: Path, capsys: Capture) -> None:
    model = compiled(MAP, "interpreter", tmp_path)
    with pytest.raises(StepwellError, match="an artifact does not have") as raised:
        model.save(tmp_path / "map.stepwell")
    assert raised.value.code == "no-source"
    out = ["-o", tmp_path / "map.stepwell"]
    error = shown_error(
        capsys, cli.main, "compile", tmp_path / "program.mlir", "--executor", "interpreter", *out
    )
    assert "error[no-source]" in error and not (tmp_path / "map.stepwell").exists()
    with pytest.raises(StepwellError, match="the interpreter has no max_memory") as raised:
        model.with_limits(max_memory=1000)
    assert raised.value.code == "bad-option"


def test_executors_of_an_artifact(tmp_path: Path, capsys: Capture) -> None:
    artifact = tmp_path / "map.stepwell"
    compiled(MAP, "native", tmp_path).save(artifact)
    names = [
        type(stepwell.load(artifact, executor=each).machine).__name__  # pyright: ignore
        for each in ("auto", "native", "vm")
    ]
    assert names == ["NativeMachine", "NativeMachine", "Machine"]
    error = shown_error(capsys, cli.main, "run", artifact, "--executor", "interpreter")
    assert "error[no-source]" in error
    compiled(MAP, "vm", tmp_path).save(artifact)
    with pytest.raises(StepwellError, match="no native functions") as raised:
        stepwell.load(artifact, executor="native")
    assert raised.value.code == "unsupported"
    assert cli.main(["run", str(artifact), "--executor", "vm", "--profile"]) == 0
    assert "invoke_closure" in capsys.readouterr().out
    with pytest.raises(StepwellError, match="one of auto, native, vm"):
        stepwell.load(artifact, executor="fast")


def test_a_profile_as_json_has_all_that_the_table_has(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "map.mlir").write_text(MAP)
    (tmp_path / "in.json").write_text('{"l": [1, 2, 3], "k": 5}')
    words = [
        "run",
        tmp_path / "map.mlir",
        "--inputs-json",
        tmp_path / "in.json",
        "--executor",
        "vm",
        "--profile",
    ]
    assert cli.main([*map(str, words), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["outputs"] == [6, 7, 8]
    assert {row["kind"] for row in facts["profile"]} == {"function", "instruction", "segment"}
    assert facts["allocated_bytes"]["alloc_adt"] > 0 and facts["deepest_stack"] == 4


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory of a process from Linux")
@pytest.mark.parametrize("executor", ["native", pytest.param("vm", marks=whole)])
def test_calls_with_closures_and_cells_leave_no_memory_behind(executor: Executor, tmp_path: Path) -> None:
    model = compiled(CLOSURES, executor, tmp_path)
    cells = compiled(CELLS, executor, tmp_path)

    def calls(count: int) -> int:
        for number in range(count):
            assert model([2, 3, 5] * 10, number)[1] == 3 * number
            assert cells(number) == (number, 2 * number)
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    before = calls(200)
    assert calls(1000) - before < 2_000_000


@pytest.mark.parametrize(("name", "near"), [("concta", "concat"), ("hlper", "helper")])
def test_a_function_that_is_not_there_has_near_names(name: str, near: str, tmp_path: Path) -> None:
    text = f"""
func.func private @helper(%x: {L}) -> {L} {{
  %y = graph.call @helper(%x) : ({L}) -> {L}
  %z = graph.call @concat<{N}>(%x, %y) : ({L}, {L}) -> {L}
  func.return %z : {L}
}}
func.func @main(%x: {L}) -> {L} {{
  %y = graph.call @helper(%x) : ({L}) -> {L}
  %z = graph.call @{name}(%y) : ({L}) -> {L}
  func.return %z : {L}
}}
"""
    (tmp_path / "m.mlir").write_text(text)
    with pytest.raises(StepwellError, match=f"@{name} is called and has no body") as caught:
        stepwell.compile(tmp_path / "m.mlir", executor="vm")
    assert caught.value.help is not None and f"did you mean {near}?" in caught.value.help
