"""Shape, movement and indexing ops: meanings against plain numpy, type relations against the meanings."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import f32, i64
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects import graph
from stepwell.dialects.types import dims_of, tensor_type
from tests.graph_ops import run, value
from tests.kernels import expect_lowering

RNG = np.random.default_rng(3)


def numbers(*shape: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Distinct numbers, so that a misplaced element shows."""
    return RNG.permutation(int(np.prod(shape))).reshape(shape).astype(np.float32)


def integers(*rows: object) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    return np.array(rows, np.int64)


X = numbers(2, 3, 4)


def test_views() -> None:
    x = value(X)
    assert run(graph.ReshapeOp(x, [4, 6]), X)[0].tolist() == X.reshape(4, 6).tolist()
    assert run(graph.ExpandDimsOp(x, [0, 3]), X)[0].shape == (1, 2, 3, 1, 4)
    y = numbers(1, 3, 1)
    assert run(graph.SqueezeOp(value(y), [0, 2]), y)[0].shape == (3,)


def test_reshape_follows_symbols() -> None:
    x = value(X, ["N", "S", 4])
    op = graph.ReshapeOp(x, ["N * S", 2, 2])
    assert [str(d) for d in dims_of(op.result.type)] == ["N * S", "2", "2"]
    assert run(op, X, symbols={"N": 2, "S": 3})[0].shape == (6, 2, 2)


def test_reshape_by_operand_knows_the_rank() -> None:
    shape = integers(4, 6)
    op = graph.ReshapeOp(value(X), value(shape))
    assert op.result.type == tensor_type(f32, ["?", "?"])
    assert run(op, X, shape)[0].shape == (4, 6)


def test_made_from_dimensions() -> None:
    assert run(graph.ShapeOfOp(value(X), 1, 3), X)[0].tolist() == [3, 4]
    assert run(graph.ExtentsOp(["N", "2 * N"]), symbols={"N": 3})[0].tolist() == [3, 6]
    assert run(graph.IotaOp([2, 3], 1, i64))[0].tolist() == [[0, 1, 2], [0, 1, 2]]
    one = np.array(1.5, np.float32)
    assert run(graph.FullOp(value(one), [2, 0]), one)[0].shape == (2, 0)
    bounds = [np.array(n) for n in (7, 1, -2)]
    assert run(graph.RangeOp(*map(value, bounds)), *bounds)[0].tolist() == [7, 5, 3]


def test_broadcast() -> None:
    y = numbers(3, 1)
    assert (
        run(graph.BroadcastToOp(value(y), [2, 3, 4]), y)[0].tolist() == np.broadcast_to(y, (2, 3, 4)).tolist()
    )


def test_permute_join_and_cut() -> None:
    x = value(X)
    assert run(graph.TransposeOp(x, [2, 0, 1]), X)[0].tolist() == X.transpose(2, 0, 1).tolist()
    y = numbers(2, 5, 4)
    assert run(graph.ConcatOp([x, value(y)], 1), X, y)[0].shape == (2, 8, 4)
    pieces = run(graph.SplitOp(x, 2, [1, 0, 3]), X)
    assert [p.tolist() for p in pieces] == [X[..., :1].tolist(), X[..., 1:1].tolist(), X[..., 1:].tolist()]
    assert run(graph.ReverseOp(x, [0, 2]), X)[0].tolist() == X[::-1, :, ::-1].tolist()


def test_concat_takes_the_better_known_dimension() -> None:
    a, b = numbers(2, 3), numbers(1, 3)
    op = graph.ConcatOp([value(a, ["N", "S"]), value(b, ["M", 3])], 0)
    assert [str(d) for d in dims_of(op.result.type)] == ["M + N", "3"]


@given(st.data())
def test_slice(data: st.DataObject) -> None:
    n = data.draw(st.integers(0, 6))
    step = data.draw(st.sampled_from([1, 2, 3, -1, -2]))
    low, high = (0, n) if step > 0 else (-1, n - 1)
    start, limit = data.draw(st.integers(low, high)), data.draw(st.integers(low, high))
    x = np.arange(n)
    expected = [i for i in (range(start, limit, step)) if 0 <= i < n]
    if start >= 0:
        assert run(graph.SliceOp(value(x), [start], [limit], [step]), x)[0].tolist() == expected


def test_slice_follows_symbols() -> None:
    x = numbers(512, 2)
    op = graph.SliceOp(value(x), [0, 0], ["min(512, S)", 2], [1, 1])
    assert run(op, x, symbols={"S": 7})[0].shape == (7, 2)


def test_insert_slice() -> None:
    u = numbers(2, 1, 4)
    expected = X.copy()
    expected[:, 1:2] = u
    assert run(graph.InsertSliceOp(value(X), value(u), [0, 1, 0]), X, u)[0].tolist() == expected.tolist()


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad(mode: Literal["constant", "reflect", "edge", "wrap"]) -> None:
    op = graph.PadOp(value(X), [0, -1, 5, 1, 0, 7], mode)
    np.testing.assert_array_equal(run(op, X)[0], np.pad(X[:, 1:], [(0, 1), (0, 0), (5, 7)], mode=mode))


def test_tile() -> None:
    assert run(graph.TileOp(value(X), [2, 1, 3]), X)[0].tolist() == np.tile(X, (2, 1, 3)).tolist()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_layers_are_copied_back_to_front(axis: int) -> None:
    """Whole layers, but elements along the last axis; the others go up with steps of their own."""
    x = numbers(5, 7, 6)
    starts, limits, steps = [0, 1, 2], [5, 7, 6], [2, 3, 1]
    starts[axis], limits[axis], steps[axis] = x.shape[axis] - 1, -1, -2
    expect_lowering(lambda v: graph.SliceOp(v, starts, limits, steps), [x])


@pytest.mark.parametrize("repeats", [(1, 1, 7), (3, 2, 5), (4, 1, 1)])
def test_tile_of_dimensions_of_one(repeats: tuple[int, ...]) -> None:
    expect_lowering(lambda v: graph.TileOp(v, list(repeats)), [numbers(1, 5, 1)])


def test_gather() -> None:
    i = integers([0, -1], [2, 1])
    assert run(graph.GatherOp(value(X), value(i), 1), X, i)[0].tolist() == np.take(X, i, 1).tolist()
    batched = run(graph.GatherOp(value(X), value(i), 2, 1), X, i)[0]
    assert batched.tolist() == [[[row[j] for j in i[b]] for row in X[b].tolist()] for b in range(2)]
    outside = integers(5)
    clipped = run(graph.GatherOp(value(X), value(outside), 0, bounds="clip"), X, outside)[0]
    assert clipped.tolist() == X[1:].tolist()
    with pytest.raises(IndexError, match="index 5 is outside a dimension of size 2"):
        run(graph.GatherOp(value(X), value(outside), 0), X, outside)


def test_gather_elements_and_nd() -> None:
    i = integers([[0, -1]], [[1, 2]])
    found = run(graph.GatherElementsOp(value(X), value(i), 2), X, i)[0]
    assert found.tolist() == [[[X[0, 0, 0], X[0, 0, 3]]], [[X[1, 0, 1], X[1, 0, 2]]]]
    at = integers([1, 2], [0, -1])
    assert run(graph.GatherNdOp(value(X), value(at)), X, at)[0].tolist() == [
        X[1, 2].tolist(),
        X[0, 2].tolist(),
    ]
    in_batch = integers([2], [0])
    found = run(graph.GatherNdOp(value(X), value(in_batch), 1), X, in_batch)[0]
    assert found.tolist() == [X[0, 2].tolist(), X[1, 0].tolist()]


def test_scatter() -> None:
    i, u = integers([[0, 0]], [[1, -1]]), numbers(2, 1, 2)
    added = run(graph.ScatterElementsOp(value(X), value(i), value(u), 2, "add"), X, i, u)[0]
    expected = X.copy()
    expected[0, 0, 0] += u[0, 0].sum()
    expected[1, 0, 1] += u[1, 0, 0]
    expected[1, 0, 3] += u[1, 0, 1]
    assert added.tolist() == expected.tolist()
    at, rows = integers([1, 2], [1, 2]), numbers(2, 4)
    written = run(graph.ScatterNdOp(value(X), value(at), value(rows)), X, at, rows)[0]
    expected = X.copy()
    expected[1, 2] = rows[1]
    assert written.tolist() == expected.tolist()


def test_one_hot() -> None:
    i = integers(2, -1, 0)
    assert run(graph.OneHotOp(value(i), 3, 0), i)[0].tolist() == [
        [False, False, True],
        [False, False, False],
        [True, False, False],
    ]


def test_refusals() -> None:
    x = value(X)
    with pytest.raises(VerifyException, match=r"shape \(5, 5\) has other elements than \(2, 3, 4\)"):
        graph.ReshapeOp(x, [5, 5])
    with pytest.raises(VerifyException, match="starts and limits must be in 0..4, found 5"):
        graph.SliceOp(x, [0, 0, 0], [2, 3, 5], [1, 1, 1])
    with pytest.raises(VerifyException, match="sizes must add up to 4, found 5"):
        graph.SplitOp(x, 2, [2, 3])
