"""A call that does next to nothing, and the growth of memory over 1,000 calls with closures and cells."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import stepwell
from benchmarks.functional.recursion import COUNT_DOWN
from benchmarks.functional.rows import EXECUTORS, Row

CALLS, GROWING_CALLS, MOST_MB = 2_000, 1_000, 2.0
CLOSURES = """
func.func @main(%l: !adt.data<@List, tensor<i64>>) -> tensor<i64> {
  %zero = graph.constant dense<0> : tensor<i64>
  %r = ref.new %zero : tensor<i64> -> !ref.cell<tensor<i64>>
  %add = graph.lambda (%x: tensor<i64>) -> (tensor<i64>) {
    %v = ref.read %r : !ref.cell<tensor<i64>> -> tensor<i64>
    %w = graph.add %v, %x : (tensor<i64>, tensor<i64>) -> tensor<i64>
    ref.write %r, %w : !ref.cell<tensor<i64>>, tensor<i64>
    graph.yield %w : tensor<i64>
  }
  %m = graph.call @map<tensor<i64>, tensor<i64>>(%add, %l) : ((tensor<i64>) -> tensor<i64>, !adt.data<@List, tensor<i64>>) -> !adt.data<@List, tensor<i64>>
  %s = graph.call @sum<i64>(%m) : (!adt.data<@List, tensor<i64>>) -> tensor<i64>
  func.return %s : tensor<i64>
}
"""  # noqa: E501


def growth_rows(folder: Path) -> Iterator[Row]:
    """Rows of the growth of the process's memory."""
    (folder / "closures.mlir").write_text(CLOSURES)
    values = list(range(50))
    for executor in EXECUTORS:
        model: Any = stepwell.compile(folder / "closures.mlir", executor=executor)
        for _ in range(100):
            model(values)
        before = _resident()
        for _ in range(GROWING_CALLS):
            model(values)
        growth = (_resident() - before) / 1e6
        what = f"memory after {GROWING_CALLS:,} calls with closures and cells, {executor}"
        yield Row(what, f"{growth:+.2f} MB", "within 2 MB", abs(growth) <= MOST_MB)


def call_rows(folder: Path) -> Iterator[Row]:
    """Rows of a call of depth 0, which has no bound."""
    (folder / "down.mlir").write_text(COUNT_DOWN)
    zero = np.zeros((), np.int64)
    for executor in EXECUTORS:
        model: Any = stepwell.compile(folder / "down.mlir", executor=executor)
        model(zero)
        start = perf_counter()
        for _ in range(CALLS):
            model(zero)
        microseconds = 1e6 * (perf_counter() - start) / CALLS
        yield Row(f"a call of depth 0, {executor}", f"{microseconds:.1f} us", "-", None)


def _resident() -> int:
    """The bytes of the process in memory."""
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
