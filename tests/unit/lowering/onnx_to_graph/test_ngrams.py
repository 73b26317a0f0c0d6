"""`TfIdfVectorizer` of integers, compiled: counts as ONNX's reference evaluator has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import stepwell
from stepwell.runtime.errors import StepwellError
from tests.support.samples import whole

# n-grams of one, two and three items: prefixes are shared, (5, 5) repeats an item, and 90 only continues.
POOL = [5, 7, 2, *(5, 7), *(5, 5), *(7, 90), *(5, 7, 90), *(2, 2, 2), *(5, 7, 5)]
COUNTS = [0, 3, 9]
INDEXES = [3, 0, 1, 4, 2, 5, 7, 6, 8]
WEIGHTS = [0.5, 2.0, 1.0, 3.0, 4.0, 0.25, 1.5, 2.5, 8.0]


def _model(dims: list[Any], kind: int, **attributes: Any) -> onnx.ModelProto:
    given: dict[str, Any] = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 3, "max_skip_count": 0}
    pool: dict[str, Any] = {"pool_int64s": POOL, "ngram_counts": COUNTS, "ngram_indexes": INDEXES}
    node = helper.make_node("TfIdfVectorizer", ["x"], ["y"], **(given | pool | attributes))
    info = helper.make_tensor_value_info
    graph = helper.make_graph([node], "g", [info("x", kind, dims)], [info("y", TensorProto.FLOAT, None)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def _check(model: onnx.ModelProto, x: Any, *, on_host: bool = False) -> None:
    compiled = stepwell.compile(model)
    assert bool(compiled.image.main.callees) == on_host
    session = onnxruntime.InferenceSession(model.SerializeToString())
    found: Any = compiled(x)
    expected: Any = session.run(None, {"x": x})[0]
    assert found.dtype == expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.sample(6)
@pytest.mark.parametrize(("mode", "skips"), [("TF", 2), ("IDF", 0), ("TFIDF", 1)])
def test_rows(mode: str, skips: int) -> None:
    """Rows of a batch of open size, with items that are in no n-gram; most n-grams occur, some twice."""
    model = _model(["N", 12], TensorProto.INT64, mode=mode, max_skip_count=skips, weights=WEIGHTS)
    rows = np.random.default_rng(3).choice(np.array([5, 7, 2, 90, 4, -1]), (8, 12))
    _check(model, rows)
    _check(model, rows[:1])


@pytest.mark.sample(3)
@pytest.mark.parametrize("length", [1, 9])
def test_a_vector_may_be_shorter_than_an_n_gram(length: int) -> None:
    model = _model([length], TensorProto.INT32, min_gram_length=2, max_skip_count=5)
    _check(model, np.resize(np.array([5, 7, 90], np.int32), length))


def test_rows_of_open_length_are_left_to_the_host() -> None:
    model = _model(["L"], TensorProto.INT64)
    _check(model, np.array([5, 7, 90, 5, 7, 5], np.int64), on_host=True)


@whole
def test_a_large_pool() -> None:
    """Each pair of 60 items but some: tables of several levels."""
    pairs = [(a, b) for a in range(60) for b in range(60) if (a + b) % 3]
    model = _model(
        ["N", 40],
        TensorProto.INT64,
        min_gram_length=2,
        max_gram_length=2,
        pool_int64s=[item for pair in pairs for item in pair],
        ngram_counts=[0, 0],
        ngram_indexes=[*range(len(pairs))],
    )
    _check(model, np.random.default_rng(4).integers(-2, 62, (5, 40)))


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"ngram_indexes": INDEXES[:-1]}, "9 n-grams need as many ngram_indexes from 0 on"),
        ({"ngram_indexes": [-1, *INDEXES[1:]]}, "9 n-grams need as many ngram_indexes from 0 on"),
        ({"ngram_counts": [0, 2, 9]}, "do not divide 18 items"),
    ],
)
def test_wrong_pools_are_errors(attributes: dict[str, Any], message: str) -> None:
    with pytest.raises(StepwellError, match=message):
        stepwell.compile(_model(["N", 4], TensorProto.INT64, **attributes))
