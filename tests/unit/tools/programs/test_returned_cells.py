"""Function values with cells that outlive a call: shared, in circles, after errors, in all executors."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.vm.native import NativeMachine
from stepwell.runtime.vm.objects import Cell
from tests.support.forks import Result, forked
from tests.support.samples import whole

Executor = Literal["native", "vm", "interpreter"]
EXECUTORS: tuple[Executor, ...] = ("native", "vm", "interpreter")
N, L = "tensor<i64>", "!adt.data<@List, tensor<i64>>"
# Two functions on one cell: adds to it and returns the sum; the product of a number and its content.
SHARED = f"""
func.func @main(%x: {N}) -> (({N}) -> {N}, ({N}) -> {N}) {{
  %r = ref.new %x : {N} -> !ref.cell<{N}>
  %add = graph.lambda (%y: {N}) -> ({N}) {{
    %v = ref.read %r : !ref.cell<{N}> -> {N}
    %w = graph.add %v, %y : ({N}, {N}) -> {N}
    ref.write %r, %w : !ref.cell<{N}>, {N}
    graph.yield %w : {N}
  }}
  %times = graph.lambda (%y: {N}) -> ({N}) {{
    %v = ref.read %r : !ref.cell<{N}> -> {N}
    %w = graph.multiply %v, %y : ({N}, {N}) -> {N}
    graph.yield %w : {N}
  }}
  func.return %add, %times : ({N}) -> {N}, ({N}) -> {N}
}}
"""
# Pushes to a list in a cell, whose length is in another cell, and returns both; then takes the head of it.
PUSH = f"""
func.func @main(%f: {L}) -> (({L}) -> ({L}, {N}), ({N}) -> {N}) {{
  %zero = graph.constant dense<0> : {N}
  %one = graph.constant dense<1> : {N}
  %l = ref.new %f : {L} -> !ref.cell<{L}>
  %n = ref.new %zero : {N} -> !ref.cell<{N}>
  %push = graph.lambda (%y: {L}) -> ({L}, {N}) {{
    %c = ref.read %n : !ref.cell<{N}> -> {N}
    %d = graph.add %c, %one : ({N}, {N}) -> {N}
    ref.write %n, %d : !ref.cell<{N}>, {N}
    %v = ref.read %l : !ref.cell<{L}> -> {L}
    %w = graph.call @concat<{N}>(%v, %y) : ({L}, {L}) -> {L}
    ref.write %l, %w : !ref.cell<{L}>, {L}
    graph.yield %w, %d : {L}, {N}
  }}
  %head = graph.lambda (%y: {N}) -> ({N}) {{
    ref.write %n, %y : !ref.cell<{N}>, {N}
    %v = ref.read %l : !ref.cell<{L}> -> {L}
    %w = graph.call @hd<{N}>(%v) : ({L}) -> {N}
    graph.yield %w : {N}
  }}
  func.return %push, %head : ({L}) -> ({L}, {N}), ({N}) -> {N}
}}
"""
# A function in a cell that it reads itself: a factorial, as a circle.
CIRCLE = f"""
func.func @main(%x: {N}) -> (({N}) -> {N}) {{
  %zero = graph.constant dense<0> : {N}
  %one = graph.constant dense<1> : {N}
  %id = graph.lambda (%y: {N}) -> ({N}) {{
    graph.yield %y : {N}
  }}
  %r = ref.new %id : ({N}) -> {N} -> !ref.cell<({N}) -> {N}>
  %f = graph.lambda (%y: {N}) -> ({N}) {{
    %d = graph.equal %y, %zero : ({N}, {N}) -> tensor<i1>
    %p = graph.if %d : tensor<i1> -> ({N}) {{
      graph.yield %x : {N}
    }} else {{
      %g = ref.read %r : !ref.cell<({N}) -> {N}> -> ({N}) -> {N}
      %m = graph.subtract %y, %one : ({N}, {N}) -> {N}
      %s = graph.call %g(%m) : ({N}) -> {N}
      %q = graph.multiply %y, %s : ({N}, {N}) -> {N}
      graph.yield %q : {N}
    }}
    graph.yield %p : {N}
  }}
  ref.write %r, %f : !ref.cell<({N}) -> {N}>, ({N}) -> {N}
  func.return %f : ({N}) -> {N}
}}
"""


def compiled(folder: Path, text: str, executor: Executor, **limits: Any) -> Any:
    (folder / "m.mlir").write_text(text)
    model: Any = stepwell.compile(folder / "m.mlir", executor=executor)
    assert isinstance(model.machine, NativeMachine) == (executor == "native")
    return model.with_limits(**limits) if limits else model


@pytest.mark.parametrize("executor", EXECUTORS)
def test_functions_share_a_cell(tmp_path: Path, executor: Executor) -> None:
    model = compiled(tmp_path, SHARED, executor)
    (add, times), (other, _) = model(10), model(1)
    assert [int(add(1)), int(times(2)), int(add(5)), int(times(1))] == [11, 22, 16, 16]
    assert int(other(1)) == 2 and int(add(0)) == 16


@pytest.mark.parametrize("executor", EXECUTORS)
def test_contents_with_parts_and_errors(tmp_path: Path, executor: Executor) -> None:
    push, head = compiled(tmp_path, PUSH, executor)([])
    with pytest.raises(StepwellError, match="no case"):
        head(7)
    # What was written before the error stays written.
    assert push([1, 2]) == ([1, 2], 8) and push([]) == ([1, 2], 9) and push([3]) == ([1, 2, 3], 10)
    assert int(head(0)) == 1


@pytest.mark.parametrize("executor", EXECUTORS)
def test_circles(tmp_path: Path, executor: Executor) -> None:
    model = compiled(tmp_path, CIRCLE, executor)
    function = model(1)
    assert [int(function(n)) for n in (0, 1, 5, 10)] == [1, 1, 120, 3628800]
    assert int(function(0)) == 1 and int(model(2)(3)) == 12


@whole
def test_a_deep_call_runs_twice_and_counts_once(tmp_path: Path) -> None:
    """A call that needs another stack begins again, with the contents of before."""
    push, _ = compiled(tmp_path, PUSH, "native")([])
    long = list(range(30_000))
    assert push([1]) == ([1], 1)
    items, count = push(long)
    assert items == [1, *long] and count == 2
    items, count = push(long)
    assert len(items) == 60_001 and count == 3


def test_too_deep_calls_leave_what_they_wrote(tmp_path: Path) -> None:
    push, head = compiled(tmp_path, PUSH, "native", max_depth=100)([5])
    push([1] * 50)
    with pytest.raises(StepwellError, match="too-deep"):
        [push([1] * 50) for _ in range(3)]
    assert int(head(0)) == 5


def test_threads_take_turns(tmp_path: Path) -> None:
    add, times = compiled(tmp_path, SHARED, "native")(0)
    threads = [threading.Thread(target=lambda: [add(1) for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert int(times(1)) == 800


def test_circles_are_collected(tmp_path: Path) -> None:
    """In a fork, whose objects of before the collector leaves alone: a test process has millions."""
    model = compiled(tmp_path, CIRCLE, "native")

    def cells() -> int:
        gc.collect()
        return sum(isinstance(each, Cell) for each in gc.get_objects())

    def run() -> Result:
        gc.freeze()
        functions = [model(np.int64(n)) for n in range(5)]
        assert [int(each(3)) for each in functions] == [0, 6, 12, 18, 24] and cells() == 5
        functions.clear()
        assert cells() == 0
        return 0, "", ""

    status, _, errors = forked(run)
    assert status == 0, errors
