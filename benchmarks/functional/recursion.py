"""
A recursion that counts down, three scalar ops a level: against Relax VM (apache-tvm), and deep.

Relax VM's process ends at a depth of 5,000: it is measured at 1,000.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import stepwell
from benchmarks.fresh import run_fresh
from benchmarks.functional.rows import EXECUTORS, Row
from stepwell.runtime.rpc.interleaved import interleave, ratio

DEPTH, ROUNDS = 1_000, 7
SHARE = {"native": 0.3, "vm": 6.0}
"""The most time of ours over that of Relax VM."""
MOST_MB = 1_500
COUNT_DOWN = """
func.func @main(%n: tensor<i64>) -> tensor<i64> {
  %zero = graph.constant dense<0> : tensor<i64>
  %done = graph.equal %n, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = graph.if %done : tensor<i1> -> (tensor<i64>) {
    graph.yield %zero : tensor<i64>
  } else {
    %one = graph.constant dense<1> : tensor<i64>
    %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %d = graph.call @main(%m) : (tensor<i64>) -> tensor<i64>
    %e = graph.add %d, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %e : tensor<i64>
  }
  func.return %r : tensor<i64>
}
"""
COUNT_DOWN_LAST = """
func.func private @down(%n: tensor<i64>, %s: tensor<i64>) -> tensor<i64> {
  %zero = graph.constant dense<0> : tensor<i64>
  %done = graph.equal %n, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %r = graph.if %done : tensor<i1> -> (tensor<i64>) {
    graph.yield %s : tensor<i64>
  } else {
    %one = graph.constant dense<1> : tensor<i64>
    %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %t = graph.add %s, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %other = graph.call @other(%m, %t) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    graph.yield %other : tensor<i64>
  }
  func.return %r : tensor<i64>
}
func.func private @other(%n: tensor<i64>, %s: tensor<i64>) -> tensor<i64> {
  %r = graph.call @down(%n, %s) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  func.return %r : tensor<i64>
}
func.func @main(%n: tensor<i64>) -> tensor<i64> {
  %zero = graph.constant dense<0> : tensor<i64>
  %r = graph.call @down(%n, %zero) : (tensor<i64>, tensor<i64>) -> tensor<i64>
  func.return %r : tensor<i64>
}
"""
_RELAX = """
@I.ir_module
class Module:
    @R.function
    def main(n: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        done = R.equal(n, R.const(0, "int64"))
        if done:
            r = R.const(0, "int64")
        else:
            m = R.subtract(n, R.const(1, "int64"))
            d = Module.main(m)
            r = R.add(d, R.const(1, "int64"))
        return r
"""
_DEEP = """
import numpy as np, stepwell
path, executor, depth = sys.argv[2:]
model = stepwell.compile(path, executor=executor)
started = time.perf_counter()
right = int(model(np.int64(depth))) == int(depth)
report(right=right, seconds=time.perf_counter() - started)
"""


def recursion_rows(folder: Path) -> Iterator[Row]:
    """The rows at a depth of 1,000, and the deep ones."""
    (folder / "down.mlir").write_text(COUNT_DOWN)
    (folder / "last.mlir").write_text(COUNT_DOWN_LAST)
    runs: dict[str, Callable[[], Any]] = {}
    for executor in EXECUTORS:
        model: Any = stepwell.compile(folder / "down.mlir", executor=executor)
        assert model(np.int64(DEPTH)) == DEPTH
        runs[executor] = partial(model, np.int64(DEPTH))
    if importlib.util.find_spec("tvm") is not None:
        runs["Relax VM"] = _relax()
    times = interleave(runs, ROUNDS)
    for executor in EXECUTORS:
        found = f"{1e6 * times[executor].median / DEPTH:.2f} us a level"
        holds = None
        if "Relax VM" in times:
            share = 1 / ratio(times["Relax VM"], times[executor]).median
            theirs = 1e6 * times["Relax VM"].median / DEPTH
            found, holds = f"{found}, Relax VM {theirs:.2f}: {share:.2f} x its time", share <= SHARE[executor]
        bound = f"<= {SHARE[executor]} x Relax VM's time"
        yield Row(f"count-down of depth {DEPTH:,}, {executor}", found, bound, holds)
    for name, file, depth in (("calls", "down", 999_999), ("calls in tail position", "last", 10_000_000)):
        for executor in EXECUTORS:
            yield _deep_row(name, folder / f"{file}.mlir", depth, executor)


def _deep_row(name: str, path: Path, depth: int, executor: str) -> Row:
    """The row of a deep recursion in a process of its own, whose peak memory is its own."""
    figures = run_fresh(_DEEP, str(path), executor, str(depth), cache=str(path.parent / "cache"))
    level, megabytes = 1e6 * figures["seconds"] / depth, figures["megabytes"]
    return Row(
        f"{depth:,} {name}, {executor}",
        f"{level:.2f} us a level, {megabytes:.0f} MB",
        f"runs, < {MOST_MB} MB",
        bool(figures["right"]) and megabytes < MOST_MB,
    )


def _relax() -> Callable[[], Any]:
    """The same program in Relax VM, with TVM's default pipeline for the CPU."""
    tvm = importlib.import_module("tvm")
    relax, script = importlib.import_module("tvm.relax"), importlib.import_module("tvm.script")
    executable = tvm.compile(script.from_source(_RELAX), target="llvm")
    function = relax.VirtualMachine(executable, tvm.cpu())["main"]
    depth = tvm.runtime.tensor(np.array(DEPTH))
    assert int(function(depth).numpy()) == DEPTH
    return partial(function, depth)
