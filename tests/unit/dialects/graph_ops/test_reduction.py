"""Reductions and normalizations: meanings at their edges, types and lowering against the meanings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import numpy as np
import pytest
from xdsl.dialects.builtin import f32, f64

from stepwell.dialects import graph
from stepwell.dialects.graph.reduction import BOOL_REDUCTIONS, REDUCTIONS, ArgReduceOp
from stepwell.dialects.types import dims_of, element_of
from tests.graph_ops import run, value
from tests.kernels import ALL, BOOL, FLOATS, INTEGERS, expect_lowering, numbers

NORM_TOLERANCES = {2: 2e-2, 4: 2e-5, 8: 1e-11}
"""By bytes of an element: sums of a few dozen terms in another order, a division and a root."""


def floats(dtype: np.dtype[Any], *shape: int, seed: int = 0) -> Any:
    return numbers(dtype, *shape, special=False, seed=seed)


def takes(kind: str, dtype: np.dtype[Any]) -> bool:
    """Whether a kind of reduction takes a type."""
    if dtype == BOOL or kind in BOOL_REDUCTIONS:
        return dtype == BOOL and kind in BOOL_REDUCTIONS
    return dtype in FLOATS or kind != "log_sum_exp"


CASES = [
    pytest.param(kind, dtype, id=f"{kind}-{dtype}")
    for kind in REDUCTIONS
    for dtype in ALL
    if takes(kind, dtype)
]


@pytest.mark.sample(6)
@pytest.mark.parametrize(("kind", "dtype"), CASES, ids=str)
def test_reduce(kind: str, dtype: np.dtype[Any]) -> None:
    for axes, keep_dims in (([1], False), ([0, 2], True), ([0, 1, 2], False), ([], True)):
        x = numbers(dtype, 3, 4, 5, special=dtype in FLOATS and keep_dims)
        build = partial(graph.ReduceOp, kind=kind, axes=axes, keep_dims=keep_dims)
        run(build(value(x)), x)
        expect_lowering(build, [x])


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("sum", 0),
        ("prod", 1),
        ("max", -np.inf),
        ("min", np.inf),
        ("mean", np.nan),
        ("sum_square", 0),
        ("l1", 0),
        ("l2", 0),
        ("log_sum_exp", -np.inf),
    ],
)
def test_reduce_nothing(kind: str, expected: float) -> None:
    x = np.zeros((2, 0), np.float32)
    np.testing.assert_array_equal(run(graph.ReduceOp(value(x), kind, [1]), x)[0], [expected] * 2)
    expect_lowering(lambda a: graph.ReduceOp(a, kind, [1]), [x])


def test_reductions_of_integers() -> None:
    x = np.array([[100, 100, 100], [-7, 0, -1]], np.int8)

    def reduced(kind: str) -> list[int]:
        return run(graph.ReduceOp(value(x), kind, [1]), x)[0].tolist()

    assert reduced("sum") == [44, -8]  # wraps
    assert reduced("mean") == [100, -2]  # truncates
    assert run(graph.ReduceOp(value(x[:, :0]), "max", [1]), x[:, :0])[0].tolist() == [-128, -128]


def test_reduce_with_symbols() -> None:
    x = floats(FLOATS[2], 3, 4, 5)
    op = graph.ReduceOp(value(x, ["N", "S", 5]), "mean", [1], keep_dims=True)
    assert [str(dim) for dim in dims_of(op.result.type)] == ["N", "1", "5"]
    expect_lowering(lambda a: graph.ReduceOp(a, "mean", [1, 2]), [x], [["N", "S", 5]])
    expect_lowering(lambda a: graph.SoftmaxOp(a, 1), [x], [["N", "S", 5]])
    expect_lowering(lambda a: graph.LayerNormOp(a, axis=1), [x], [["N", "S", 5]], tolerance=2e-5)


@pytest.mark.sample(3)
@pytest.mark.parametrize("op", [graph.ArgmaxOp, graph.ArgminOp])
@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS], ids=str)
def test_arg_reduce(op: type[ArgReduceOp], dtype: np.dtype[Any]) -> None:
    x = numbers(dtype, 5, 4, 6)
    x[0, :2] = x[0, 2:]
    for select_last in (False, True):
        for keep_dims in (False, True):
            build = partial(op, axis=1, keep_dims=keep_dims, select_last=select_last)
            run(build(value(x)), x)
            expect_lowering(build, [x])


def test_the_first_nan_is_extreme() -> None:
    x = np.array([1, np.nan, 5, np.nan, 5], np.float32)
    for select_last in (False, True):
        assert run(graph.ArgmaxOp(value(x), 0, select_last=select_last), x)[0] == 1
    assert run(graph.ArgmaxOp(value(x[2::2]), 0, select_last=True), x[2::2])[0] == 1


@pytest.mark.sample(6)
@pytest.mark.parametrize("kind", ["sum", "prod", "max", "min"])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan(kind: str, exclusive: bool, reverse: bool) -> None:
    for dtype in (np.float32, np.float16, np.int64, np.uint8):
        for shape, axis in (((5,), 0), ((3, 4, 5), 1), ((3, 0), 1), ((3, 259), 0)):
            x = np.random.default_rng(0).integers(0, 5, shape).astype(dtype)
            build = partial(graph.ScanOp, kind=kind, axis=axis, exclusive=exclusive, reverse=reverse)
            run(build(value(x)), x)
            expect_lowering(build, [x])


def test_scan_of_a_few_numbers() -> None:
    x = np.array([1, 2, 3, 4], np.float32)

    def scanned(exclusive: bool, reverse: bool) -> list[float]:
        return run(graph.ScanOp(value(x), "sum", 0, exclusive=exclusive, reverse=reverse), x)[0].tolist()

    assert scanned(False, False) == [1, 3, 6, 10]
    assert scanned(True, False) == [0, 1, 3, 6]
    assert scanned(False, True) == [10, 9, 7, 4]
    assert scanned(True, True) == [9, 7, 4, 0]


def expect_norm(build: Any, arrays: Sequence[Any]) -> None:
    """The results have the inferred types, and the lowering gives the same numbers."""
    run(build(*map(value, arrays)), *arrays)
    expect_lowering(build, arrays, tolerance=NORM_TOLERANCES[arrays[0].dtype.itemsize])


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_rows(dtype: np.dtype[Any]) -> None:
    x = floats(dtype, 3, 4, 5)
    for axis in range(3):
        expect_norm(partial(graph.SoftmaxOp, axis=axis), [x])
        expect_norm(partial(graph.LogSoftmaxOp, axis=axis), [x])
    x[0, :, 1] = 0
    expect_norm(lambda a: graph.LpNormOp(a, 1, 1), [x])
    expect_norm(lambda a: graph.LpNormOp(a, 1, 2), [x])


def test_softmax_far_from_zero() -> None:
    x = np.array([[1000, 1001], [-np.inf, 0]], np.float32)
    expected = [[1 / (1 + np.e), np.e / (1 + np.e)], [0, 1]]
    found: Any = run(graph.SoftmaxOp(value(x), 1), x)[0]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    expect_lowering(lambda a: graph.SoftmaxOp(a, 1), [x])
    expect_lowering(lambda a: graph.LogSoftmaxOp(a, 1), [x])


@pytest.mark.sample(3)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_norms(dtype: np.dtype[Any]) -> None:
    x, scale, bias = floats(dtype, 2, 6, 4), floats(dtype, 6, seed=1), floats(dtype, 6, seed=2)
    variance = np.abs(floats(dtype, 6, seed=3)) + dtype.type(0.1)
    mean = floats(dtype, 6, seed=4)
    expect_norm(graph.BatchNormOp, [x, mean, variance.astype(dtype), scale, bias])
    expect_norm(partial(graph.BatchNormOp, eps=0.5), [x, mean, variance.astype(dtype)])
    expect_norm(graph.InstanceNormOp, [x, scale, bias])
    expect_norm(partial(graph.GroupNormOp, groups=2), [x, scale, bias])
    row, column = floats(dtype, 6, 4, seed=5), floats(dtype, 4, seed=6)
    kept = f64 if dtype.itemsize == 8 else f32
    expect_norm(partial(graph.LayerNormOp, axis=1, compute_type=kept), [x, row, column])
    expect_norm(partial(graph.LayerNormOp, axis=0, eps=0.5, compute_type=kept), [x])
    expect_norm(partial(graph.RmsNormOp, axis=2, compute_type=kept), [x, column, column])
    for size in (1, 3, 4):
        for beta in (0.5, 0.75, 0.6):
            expect_norm(partial(graph.LrnOp, size=size, alpha=0.3, beta=beta, bias=1.5), [x])


def test_layer_norm_gives_its_statistics() -> None:
    x = floats(FLOATS[0], 2, 6, 4)
    arrays = [x]
    op = graph.LayerNormOp(value(x), axis=1, statistics=True)
    assert [element_of(a.dtype) for a in run(op, x)[1:]] == [element_of(np.float32)] * 2
    expect_lowering(lambda a: graph.LayerNormOp(a, axis=1, statistics=True), arrays, tolerance=2e-2)


def test_an_op_as_an_operand_stands_for_its_result() -> None:
    absolute = graph.AbsOp(value(np.zeros((2, 3), np.float32)))
    assert graph.ReduceOp(cast("Any", absolute), "sum", [1]).input is absolute.result
    assert graph.ConcatOp(cast("Any", [absolute, absolute]), 0).operands[1] is absolute.result
