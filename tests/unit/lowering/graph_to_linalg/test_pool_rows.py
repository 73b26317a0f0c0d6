"""Pools whose rows are vectors: on the interpreter as they mean, and compiled as numpy says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import helper

import stepwell
from stepwell.dialects import graph
from tests.kernels import expect_lowering

# Size, kernel, strides, pads: a register or several, rows in a loop, columns apart, borders.
POOLS: list[tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]] = [
    ((7, 7), (3, 3), (1, 1), (1, 1, 1, 1)),
    ((25, 37), (3, 3), (2, 2), (1, 1, 1, 1)),
    ((40, 18), (5, 5), (1, 1), (2, 2, 2, 2)),
    ((19, 67), (3, 4), (3, 3), (0, 0, 0, 0)),
    ((13, 35), (4, 5), (1, 2), (2, 0, 1, 3)),
]


def _reference(x: Any, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int], mean: bool) -> Any:
    """Of float64, as numpy says it: NaN is no cell of a maximum, padding none of a mean."""
    around = [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])]
    padded: Any = np.pad(x.astype(np.float64), around, constant_values=np.nan)
    windows: Any = np.lib.stride_tricks.sliding_window_view(padded, kernel, (2, 3))
    windows = windows[:, :, :: strides[0], :: strides[1]]
    if mean:
        return np.nanmean(windows, (4, 5))
    return np.where(np.isnan(windows), -np.inf, windows).max((4, 5))


@pytest.mark.sample(6)
@pytest.mark.parametrize(("size", "kernel", "strides", "pads"), POOLS)
@pytest.mark.parametrize("kind", ["max", "avg"])
def test_pool_by_rows(
    size: Sequence[int], kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int], kind: str
) -> None:
    x = np.random.default_rng(3).normal(size=(2, 2, *size)).astype(np.float32)
    if kind == "max":
        x[0, 1, 2:6, :5] = np.nan
        x[1, 0] = -np.inf
    expect_lowering(
        lambda v: graph.PoolOp(v, kind, list(kernel), strides=list(strides), pads=list(pads)),
        [x],
        tolerance=1e-5,
    )
    expected = _reference(x, kernel, strides, pads, kind == "avg")
    name = {"max": "MaxPool", "avg": "AveragePool"}[kind]
    node = helper.make_node(name, ["x"], ["y"], kernel_shape=kernel, strides=strides, pads=pads)
    values = [helper.make_tensor_value_info(n, 1, list(a.shape)) for n, a in (("x", x), ("y", expected))]
    model = helper.make_model(
        helper.make_graph([node], "pool", values[:1], values[1:]),
        opset_imports=[helper.make_opsetid("", 19)],
        ir_version=9,
    )
    # For a fixed level too, the kinds taking turns from size to size.
    is_turn = POOLS.index((size, kernel, strides, pads)) % 2 == ["max", "avg"].index(kind)
    for mcpu, threads in (("host", 2), ("x86-64-v3", 1)) if is_turn else (("host", 2),):
        y: Any = stepwell.compile(model, threads=threads, mcpu=mcpu)(x)
        np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)
