# ruff: noqa: F821, UP037
# pyright: reportUndefinedVariable=false, reportInvalidTypeForm=false, reportInvalidTypeArguments=false
"""Scripts with `debug=True`: an access outside ends the call, with its line, the index and the extent."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell import StepwellError
from stepwell.script import Buffer, Out, Script, script
from tests.support.samples import examples
from tests.unit.frontend.script.kernels import softmax, stencil, twice
from tests.unit.frontend.script.test_scripts import expect_equal

Array = npt.NDArray[Any]
LOOSE = """
def loose(x: Buffer["N", 4, "f32"], at: Buffer["N", "i64"], y: Out["N", 4, "f32"]):
    t = alloc((x.shape[0], 2), "f32")
    for i in parallel(x.shape[0]):
        for j in range(4):
            y[i, j] = x[at[i] + 1, j] + t[i, j // 2] if at[i] > 2 else 0.5
    for i in range(x.shape[0]):
        if at[i] < 0:
            y[at[i] + 2, 0] = 3.0
"""
ROWS = np.random.default_rng(0).standard_normal((6, 9), np.float32)


@cache
def checked() -> Any:
    """The kernel whose accesses are checked."""
    return script(LOOSE).compile(debug=True)


def message_of(at: list[int]) -> str:
    rows = np.ones((len(at), 4), np.float32)
    with pytest.raises(StepwellError) as error:
        checked()(rows, np.array(at, np.int64))
    assert error.value.code == "index-out-of-range"
    return str(error.value)


def test_a_read_outside_ends_the_call() -> None:
    text = message_of([0, 3, 9])
    assert "x[at[i] + 1, j] lies outside of its tensor (index, then extent)" in text
    assert "<script>:6:23" in text
    assert "found 4 and 3" in text  # of the first iteration that reads outside


def test_a_write_outside_ends_the_call() -> None:
    text = message_of([0, -1, -5, 0])
    assert "y[at[i] + 2, 0] lies outside" in text
    assert "<script>:9:13" in text
    assert "found -3 and 4" in text


@pytest.mark.parametrize("at", [[], [0], [0, -1, 2], [0, 0, 0, 3, 3]])
def test_calls_whose_accesses_are_inside_give_the_results(at: list[int]) -> None:
    rows, indices = np.ones((len(at), 4), np.float32), np.array(at, np.int64)
    np.testing.assert_array_equal(checked()(rows, indices), script(LOOSE)(rows, indices))


@pytest.mark.parametrize(
    ("made", "arrays"), [(softmax, (ROWS,)), (stencil, (ROWS[:, :8].copy(),)), (twice, (ROWS[0, :6].copy(),))]
)
def test_scripts_that_stay_inside_compute_the_same(made: Script, arrays: tuple[Array, ...]) -> None:
    expect_equal(made.compile(debug=True)(*arrays), made(*arrays))


@script
def unguarded(x: Buffer["N", "f32"], at: Buffer["M", "i32"], y: Out["M", "f32"]):
    for i in range(at.shape[0]):
        y[i] = x[at[i]]


CODE = unguarded.compile(debug=True)


@examples(20)
@given(st.lists(st.integers(-2, 6), max_size=5), st.integers(0, 5))
def test_emulation_and_checked_code_refuse_the_same(at: list[int], size: int) -> None:
    x, indices = np.arange(size, dtype=np.float32), np.array(at, np.int32)
    try:
        wanted = unguarded(x, indices)
    except StepwellError:
        with pytest.raises(StepwellError) as error:
            CODE(x, indices)
        first = next(i for i in at if not 0 <= i < size)
        assert f"found {first} and {size}" in str(error.value)
    else:
        np.testing.assert_array_equal(CODE(x, indices), wanted)


def test_debug_runs_on_one_thread() -> None:
    with pytest.raises(StepwellError) as error:
        unguarded.compile(debug=True, threads=2)
    assert error.value.code == "bad-option"
