"""Kernels whose weights a model streams from memory: they have copies, and each call takes the next."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from stepwell.runtime.machine.target import host_target
from stepwell.runtime.measuring.kernel_call import Arguments, Clock, KernelCall, Sizes
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.records.record import TaskRecord, record_of
from stepwell.tools.tuning.candidate import Candidate
from stepwell.tools.tuning.fleet import LocalRunner
from stepwell.tools.tuning.recheck import task_of_record
from stepwell.tools.tuning.tasks import Task, extract_tasks
from tests.unit.tools.tuning.test_space import program

PRODUCT = """
func.func @main(%x: tensor<1x64xf32> {{graph.name = "x"}}) -> (tensor<1x{n}xf32> {{graph.name = "y"}}) {{
  %w = graph.constant dense<0.5> : tensor<64x{n}xf32>
  %y = graph.matmul %x, %w : (tensor<1x64xf32>, tensor<64x{n}xf32>) -> tensor<1x{n}xf32>
  func.return %y : tensor<1x{n}xf32>
}}
"""


def task_of(n: int, l3_bytes: int = 64 << 10) -> Task:
    """The product of a row with n columns of weights, for a machine with a small last-level cache."""
    made = program(PRODUCT.format(n=n))
    made.ctx.target = replace(host_target(), l3_bytes=l3_bytes)
    (task,) = extract_tasks(made, CompileOptions()).tasks
    return task


@pytest.mark.parametrize(("n", "cold"), [(128, False), (1024, True)])
def test_weights_beyond_the_last_cache_are_cold(n: int, cold: bool) -> None:
    task = task_of(n)
    assert bool(task.cold) == cold
    sizes = {case_input.shape for case_input in (task.cases[0].inputs[at] for at in task.cold)}
    assert (1, 64) not in sizes
    assert task.copies(task.cases[0]) == 1  # the weights alone are twice the cache
    again = task_of_record(task.record, 1, task.target)
    assert again is not None and again.cold == task.cold


def test_a_record_has_the_numbers_of_cold_inputs() -> None:
    record = TaskRecord("9f", "text", cold=(1, 2), more={"later": 1})
    assert record_of(record.line()) == record and b'"cold":[1,2]' in record.line()
    assert b"cold" not in TaskRecord("9f", "text").line()


def test_calls_rotate_over_copies_of_cold_inputs_alone() -> None:
    x, w, y = (np.arange(n, dtype=np.float32) for n in (4, 300, 2))
    sizes = Sizes({}, [x, w], [y], cold=[1], copies=3)
    for place in (0, 2, 0):
        copies = sizes.placed(place)
        assert len(copies) == 3
        assert all(mine[0] is copies[0][0] and mine[2] is copies[0][2] for mine in copies)
        assert len({mine[1].ctypes.data for mine in copies}) == 3
        assert all(np.array_equal(mine[1], w) and np.array_equal(mine[0], x) for mine in copies)
    assert len(Sizes({}, [x, w], [y], copies=3).placed(0)) == 1


def test_the_clock_goes_on_with_the_next_copy() -> None:
    """A kernel that counts its calls in the first element of its first argument."""
    calls: list[int] = []

    class _Library:
        def address(self, symbol: str) -> int:
            return ctypes.cast(_repeat, ctypes.c_void_p).value or 0

    kind = ctypes.CFUNCTYPE(
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_void_p,
    )

    @kind
    def _repeat(n: int, kernel: int, table: int, count: int, first: int, dims: int, context: int) -> int:
        calls.append(first)
        return (first + n) % count

    context = np.zeros(1, np.uint64)
    arguments = Arguments([[np.zeros(1)] for _ in range(3)], np.zeros(1, np.uint8), {}, context)
    clock = Clock(_Library(), 1)  # pyright: ignore[reportArgumentType]
    kernel = KernelCall.__new__(KernelCall)
    kernel.address = 0
    for times in (2, 2, 3):
        clock.seconds(kernel, arguments, times)
    assert calls == [0, 2, 1]


def test_a_cold_kernel_is_timed_on_every_copy() -> None:
    """The native loop wraps around: all copies are called, and results are right in each of them."""
    task = task_of(1024, 240 << 10)
    assert task.copies(task.cases[0]) == 2
    runner = LocalRunner()
    try:
        built = runner.build(runner.choose(task, Candidate()).script)
        (kernels,) = runner.race(task, [built], 3)
    finally:
        runner.close()
    assert len(kernels[0]) == 3 and all(seconds > 0 for seconds in kernels[0])
