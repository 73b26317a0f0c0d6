"""Runs as functions: equal results of compiled segments, and errors with the place of their instruction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.values import compiled
from stepwell.runtime.vm import linked
from stepwell.runtime.vm.hot_runs import HotRun
from stepwell.runtime.vm.machine import Machine
from tests.support.vm import LIST, PACKED, parsed

Array = np.ndarray[Any, Any]
SUM = """
func.func @main(%l: !adt.data<@List, tensor<i64>>, %x: tensor<8xf32>) -> tensor<f32> {
  %r = adt.match %l : !adt.data<@List, tensor<i64>> -> (tensor<f32>)
  case Cons(%i: tensor<i64>, %t: !adt.data<@List, tensor<i64>>) {
    %rest = graph.call @main(%t, %x) : (!adt.data<@List, tensor<i64>>, tensor<8xf32>) -> tensor<f32>
    %v = graph.gather %x, %i axis 0 batch_dims 0 bounds "check" : (tensor<8xf32>, tensor<i64>) -> tensor<f32>
    %s = graph.add %v, %rest : (tensor<f32>, tensor<f32>) -> tensor<f32>
    graph.yield %s : tensor<f32>
  } case Nil {
    %zero = graph.constant dense<0.0> : tensor<f32>
    graph.yield %zero : tensor<f32>
  }
  func.return %r : tensor<f32>
}
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(linked, "OFTEN", 5)
    (tmp_path / "m.mlir").write_text(SUM)
    return stepwell.compile(tmp_path / "m.mlir", threads=1, executor="vm")


def failure(model: Any, *values: object) -> StepwellError:
    with pytest.raises(StepwellError) as caught:
        model(*values)
    return caught.value


@pytest.mark.parametrize("is_native", [True, False])
def test_results_and_errors_are_those_of_steps(
    model: Any, monkeypatch: pytest.MonkeyPatch, is_native: bool
) -> None:
    made: list[HotRun[Any]] = []
    if not is_native:
        monkeypatch.setattr(compiled, "has_expected_layout", lambda: False)
        model = model.with_limits()

    def noted(*given: Any) -> HotRun[Any]:
        made.append(HotRun(*given))
        return made[-1]

    monkeypatch.setattr(linked, "HotRun", noted)
    x = np.arange(8, dtype=np.float32)
    first = failure(model, [1, 2, 9], x)
    assert first.code == "index-out-of-range" and "m.mlir:6" in first.where
    for count in range(20):
        numbers = [n % 8 for n in range(count)]
        assert model(numbers, x) == sum(numbers)
    assert made, "no run has become a function"
    again = failure(model, [1, 2, 9], x)
    assert (again.where, again.notes, again.render()) == (first.where, first.notes, first.render())


def test_arrays_with_gaps_are_copied_first(model: Any) -> None:
    x: Array = np.arange(16, dtype=np.float32)[::2]
    for _ in range(8):
        assert model([1, 2, 3], x) == 12


TWICE = """
func.func @main(%l: !adt.data<@List, tensor<i64>>, %x: tensor<4xf32>) -> !adt.data<@List, tensor<4xf32>> {
  %f = graph.lambda (%i: tensor<i64>) -> (tensor<4xf32>) {
    %c = graph.cast %i to f32 saturate false round "nearest" : tensor<i64> -> tensor<f32>
    %y = graph.add %x, %c : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
    graph.yield %y : tensor<4xf32>
  }
  %r = graph.call @map<tensor<i64>, tensor<4xf32>>(%f, %l) : ((tensor<i64>) -> tensor<4xf32>, !adt.data<@List, tensor<i64>>) -> !adt.data<@List, tensor<4xf32>>
  func.return %r : !adt.data<@List, tensor<4xf32>>
}
"""  # noqa: E501


def test_memory_is_used_again_only_when_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What callers keep, views of it too, stays as it is; what they reshape is no memory of ours any more."""
    monkeypatch.setattr(linked, "OFTEN", 3)
    (tmp_path / "m.mlir").write_text(TWICE)
    model: Any = stepwell.compile(tmp_path / "m.mlir", threads=1, executor="vm")
    x = np.zeros(4, np.float32)
    kept: list[tuple[float, Array]] = []
    rng = np.random.default_rng(0)
    for call in range(60):
        numbers = rng.integers(0, 1000, 5).tolist()
        results = model(numbers, x)
        for number, result in zip(numbers, results, strict=True):
            assert result.shape == (4,) and (result == number).all() and result.flags.writeable
            if rng.random() < 0.3:
                kept.append((number, result[1:] if rng.random() < 0.5 else result))
            elif rng.random() < 0.3:
                result.flags.writeable = False
            else:
                result[:] = -1
        if call % 3 == 0:
            kept = kept[::2]
        assert all((array == number).all() for number, array in kept)


def test_runs_of_branches_and_loops_are_those_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop inside a function, whose jumps back end the text, and branches on both sides of it."""
    text = f"""{LIST}
vm.constant #0 = dense<0> : tensor<i64>
vm.constant #1 = dense<1> : tensor<i64>
func.func private @add(tensor<i64>, tensor<i64>) -> tensor<i64> attributes {{vm.segment}}
func.func private @less(tensor<i64>, tensor<i64>) -> tensor<i1> attributes {{vm.segment}}
vm.func @main (2) registers 6 : (tensor<i64>, !adt.data<@List, tensor<i64>>) -> tensor<i64> {{
  vm.load_const r2, #0
  vm.goto ^bb1
^bb1:
  vm.invoke_packed @less(r2, r0) -> (r3)
  vm.if r3, ^bb2, ^bb5
^bb2:
  vm.load_const r4, #1
  vm.invoke_packed @add(r2, r4) -> (r2)
  vm.get_tag r4, r1
  vm.switch r4, [^bb3, ^bb4]
^bb3:
  vm.get_field r1, r1 [1]
  vm.goto ^bb1
^bb4:
  vm.fatal "no-case", "the list is over"
^bb5:
  vm.ret r2
}}
"""
    monkeypatch.setattr(linked, "OFTEN", 4)
    machine = Machine(parsed(text), PACKED)

    def chain(count: int) -> Any:
        cons, nil = machine.tags[0]
        made: Any = (nil,)
        for _ in range(count):
            made = (cons, np.array(0), made)
        return made

    for count in range(12):
        assert machine.call("main", np.array(count), chain(count)) == count
    with pytest.raises(StepwellError, match="the list is over") as caught:
        machine.call("main", np.array(9), chain(3))
    assert caught.value.code == "no-case" and "instruction 10 (fatal)" in caught.value.notes[0]
    with pytest.raises(StepwellError, match="expected data, found the tensor i64") as caught:
        machine.call("main", np.array(9), np.array(3))
    assert "instruction 6 (get_tag)" in caught.value.notes[0]
    with pytest.raises(StepwellError, match="@less gets a tuple|@less gets the data|@less gets"):
        machine.call("main", (machine.tags[0][1],), chain(3))
