"""NonMaxSuppression, compiled and by its meaning: equal scores, NaN, infinities, limits, empty inputs."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell.dialects import graph
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import evaluate
from stepwell.runtime.model import CompiledModel
from tests.graph_ops import run, value
from tests.kernels import expect_lowering
from tests.onnx_models import onnx_model
from tests.support.samples import examples, whole

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.nan, np.inf, -np.inf, 1e30, -3e38, 1e-40]


@cache
def compiled(center: bool, has_least: bool, threads: int = 1) -> CompiledModel:
    """The operator on inputs of any size."""
    least, limit = (", float[1] least", ", least") if has_least else ("", "")
    body = f"""g (float[B, N, 4] boxes, float[B, C, N] scores, int64[1] most, float[1] overlap{least})
        => (int64[K, 3] y) {{
        y = NonMaxSuppression<center_point_box = {int(center)}>(boxes, scores, most, overlap{limit})
    }}"""
    return stepwell.compile(onnx_model(body), threads=threads)


def expected(boxes: F32, scores: F32, most: int, overlap: float, least: float | None, center: bool) -> I64:
    """The rows by the ops' meanings."""
    limit = min(max(most, 0), boxes.shape[1])
    thresholds = [np.array(overlap, np.float32), None if least is None else np.array(least, np.float32)]
    properties = {"most": (limit,), "center": center}
    chosen, counts = evaluate("graph.non_max_suppression", [boxes, scores, *thresholds], properties)
    (rows,) = evaluate("graph.join_parts", [chosen, counts], {"size": (int(np.sum(counts)),)})
    return np.asarray(rows, np.int64)


def expect(
    boxes: F32, scores: F32, most: int, overlap: float, least: float | None, center: bool, threads: int = 1
) -> None:
    """Compare compiled code with the meanings."""
    limits = [np.array([most], np.int64), np.array([overlap], np.float32)]
    limits += [] if least is None else [np.array([least], np.float32)]
    found = compiled(center, least is not None, threads)(boxes, scores, *limits)
    np.testing.assert_array_equal(np.asarray(found), expected(boxes, scores, most, overlap, least, center))


def drawn(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> F32:
    """Random numbers: `plain`; `steps`, of which many are equal; or with `special` ones among them."""
    if kind == "steps":
        return rng.integers(0, 4, shape).astype(np.float32)
    numbers = rng.uniform(0, 8, shape).astype(np.float32)
    if kind == "special":
        there = rng.random(shape) < 0.2
        numbers[there] = rng.choice(np.array(SPECIAL, np.float32), int(there.sum()))
    return numbers


@examples(150)
@given(st.data())
def test_any_boxes(data: st.DataObject) -> None:
    draw = data.draw
    batch, classes = draw(st.integers(0, 2)), draw(st.integers(0, 3))
    count = draw(st.sampled_from([0, 1, 2, 15, 16, 17, 33, 90]))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    kinds = st.sampled_from(["plain", "steps", "special"])
    boxes = drawn(rng, (batch, count, 4), draw(kinds))
    scores = drawn(rng, (batch, classes, count), draw(kinds))
    most = draw(st.sampled_from([-1, 0, 1, 3, 16, 17, 40, 1 << 40]))
    overlap = draw(st.sampled_from([0.0, 0.3, 0.5, 1.0, -1.0, np.nan]))
    least = draw(st.sampled_from([None, 0.0, 2.0, np.inf, -np.inf, np.nan]))
    expect(boxes, scores, most, overlap, least, draw(st.booleans()))


def test_equal_scores_prefer_the_lower_index() -> None:
    boxes = np.tile(np.array([0, 0, 1, 1], np.float32), (1, 40, 1)) + np.arange(40, dtype=np.float32)[:, None]
    scores = np.array([[[2, 1, 2, 1] * 10]], np.float32)
    rows = np.asarray(compiled(False, False)(boxes, scores, np.array([40]), np.array([0.5], np.float32)))
    assert rows[:, 2].tolist() == [*range(0, 40, 2), *range(1, 40, 2)]


def test_the_overlap_is_a_quotient_in_f32() -> None:
    """1 / 41 is not above itself; the product of 41 and the rounded quotient is below 1."""
    boxes, scores = (
        np.array([[[0, 0, 1, 21], [0, 20, 1, 41]]], np.float32),
        np.array([[[1, 0.5]]], np.float32),
    )
    threshold = np.float32(1) / np.float32(41)
    assert threshold * np.float32(41) < 1
    for overlap, kept in ((threshold, 2), (np.nextafter(threshold, np.float32(0)), 1)):
        assert len(expected(boxes, scores, 2, float(overlap), None, False)) == kept
        expect(boxes, scores, 2, float(overlap), None, False)


@pytest.mark.parametrize(
    ("score", "least", "kept"), [(np.nan, 0.1, 0), (np.nan, None, 1), (0.1, 0.1, 0), (np.inf, 0.1, 1)]
)
def test_scores_above_the_least(score: float, least: float | None, kept: int) -> None:
    boxes, scores = np.array([[[0, 0, 1, 1]]], np.float32), np.array([[[score]]], np.float32)
    assert len(expected(boxes, scores, 1, 0.5, least, False)) == kept
    expect(boxes, scores, 1, 0.5, least, False)


def test_boxes_without_a_finite_area_stay() -> None:
    box = [0, 0, np.inf, np.inf]
    boxes = np.array(
        [[box, box, [0, 0, 3e38, 3e38], [0, 0, np.nan, 1], [1, 1, 2, 2], [1, 1, 2, 2]]], np.float32
    )
    scores = np.array([[[6, 5, 4, 3, 2, 1]]], np.float32)
    assert expected(boxes, scores, 9, 0.5, None, False)[:, 2].tolist() == [0, 1, 2, 3, 4]
    expect(boxes, scores, 9, 0.5, None, False)


@whole
def test_many_classes_on_two_threads() -> None:
    rng = np.random.default_rng(0)
    low = rng.uniform(0, 100, (2, 700, 2))
    boxes = np.concatenate([low, low + rng.uniform(5, 30, low.shape)], 2).astype(np.float32)
    scores = rng.random((2, 30, 700)).astype(np.float32)
    for most, least in ((5, 0.9), (700, 0.5), (700, None)):
        expect(boxes, scores, most, 0.4, least, False, threads=2)


def test_the_kernels_at_level_2() -> None:
    rng = np.random.default_rng(1)
    boxes, scores = drawn(rng, (1, 37, 4), "steps"), drawn(rng, (1, 2, 37), "steps")
    overlap, least = np.array(0.2, np.float32), np.array(0.5, np.float32)
    for center in (False, True):
        expect_lowering(
            lambda b, s, o, t, center=center: graph.NonMaxSuppressionOp(b, s, o, t, most=20, center=center),
            [boxes, scores, overlap, least],
        )
    parts, counts = np.arange(12).reshape(2, 2, 3), np.array([[2, 0], [3, 1]])
    expect_lowering(lambda p, c: graph.JoinPartsOp(p, c, 6), [parts, counts])
    rows = run(graph.JoinPartsOp(value(parts), value(counts), 6), parts, counts)[0]
    assert rows.tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 6], [1, 0, 7], [1, 0, 8], [1, 1, 9]]
    with pytest.raises(ValueError, match="size is 5, but the counts have a sum of 6"):
        run(graph.JoinPartsOp(value(parts), value(counts), 5), parts, counts)


def test_sizes_that_do_not_fit() -> None:
    limits = np.array([3]), np.array([0.5], np.float32)
    boxes, scores = np.zeros((1, 5, 4), np.float32), np.zeros((1, 2, 5), np.float32)
    for bad in ((boxes[:, :4], scores), (boxes, np.zeros((2, 2, 5), np.float32))):
        with pytest.raises(StepwellError) as caught:
            compiled(False, False)(*bad, *limits)
        assert caught.value.code == "shape-mismatch"


def test_boxes_of_five_numbers() -> None:
    model = onnx_model("g (float[1,8,5] b, float[1,2,8] s) => (int64[K,3] y) { y = NonMaxSuppression(b, s) }")
    with pytest.raises(StepwellError) as caught:
        stepwell.compile(model)
    assert caught.value.render().startswith(
        "error[invalid-model]: NonMaxSuppression: boxes have 4 numbers, found 5"
    )
