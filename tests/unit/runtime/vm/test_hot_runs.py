"""Runs as functions: equal results of compiled segments, and errors with the place of their instruction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.vm import linked
from stepwell.runtime.vm.hot_runs import HotRun

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


def test_results_and_errors_are_those_of_steps(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[HotRun] = []

    def noted(*given: Any) -> HotRun:
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
