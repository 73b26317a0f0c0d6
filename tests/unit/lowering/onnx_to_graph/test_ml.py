"""Features, labels and linear models of `ai.onnx.ml`, compiled: they agree with ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import stepwell
from stepwell.runtime.errors import StepwellError

RNG = np.random.default_rng(4)
ML = "ai.onnx.ml"
X = RNG.uniform(-2, 2, (6, 4)).astype(np.float32)
X[0] = 0
HOLES = np.where(RNG.uniform(size=X.shape) < 0.3, np.float32(np.nan), X).astype(np.float32)
NUMBERS = np.array([[3, 1], [7, 2], [-5, 3]], np.int64)
WORDS = np.array(["cat", "dog", "eel"], object)
F, I64, S = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING
KINDS = {"float32": F, "int64": I64, "object": S}


def model(op: str, x: Any, outputs: Sequence[int], version: int, **attributes: Any) -> onnx.ModelProto:
    names = [f"y{i}" for i in range(len(outputs))]
    node = helper.make_node(op, ["x"], names, "node", domain=ML, **attributes)
    info = helper.make_tensor_value_info
    dims = ["N", *x.shape[1:]]
    graph = helper.make_graph(
        [node],
        "g",
        [info("x", KINDS[x.dtype.name], dims)],
        [info(*pair, None) for pair in zip(names, outputs, strict=True)],
    )
    opsets = [helper.make_opsetid(ML, version), helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


CASES: list[tuple[str, Any, Sequence[int], dict[str, Any]]] = [
    ("Scaler", X, [F], {"offset": [0.5, 1.0, -1.0, 0.0], "scale": [2.0, 0.5, 1.0, 3.0]}),
    ("Scaler", NUMBERS, [F], {"offset": [0.5], "scale": [2.0]}),
    ("Normalizer", X, [F], {"norm": "L1"}),
    ("Normalizer", X, [F], {"norm": "L2"}),
    ("Normalizer", X, [F], {"norm": "MAX"}),
    ("Binarizer", X, [F], {"threshold": 0.25}),
    (
        "Imputer",
        HOLES,
        [F],
        {"imputed_value_floats": [1.0, 2.0, 3.0, 4.0], "replaced_value_float": float("nan")},
    ),
    ("Imputer", NUMBERS, [I64], {"imputed_value_int64s": [9], "replaced_value_int64": 3}),
    ("OneHotEncoder", NUMBERS, [F], {"cats_int64s": [7, 3, 2], "zeros": 1}),
    ("OneHotEncoder", WORDS, [F], {"cats_strings": ["dog", "ant", "cat"], "zeros": 1}),
    (
        "LabelEncoder",
        NUMBERS,
        [F],
        {"keys_int64s": [3, 2], "values_floats": [0.5, 1.5], "default_float": -1.0},
    ),
    (
        "LabelEncoder",
        NUMBERS,
        [S],
        {"keys_int64s": [3, 2], "values_strings": ["c", "b"], "default_string": "?"},
    ),
    (
        "LabelEncoder",
        WORDS,
        [I64],
        {"keys_strings": ["dog", "cat"], "values_int64s": [4, 5], "default_int64": 0},
    ),
    ("LabelEncoder", X, [I64], {"keys_floats": [1.0, 0.0], "values_int64s": [8, 9]}),
    (
        "CategoryMapper",
        WORDS,
        [I64],
        {"cats_strings": ["dog", "cat"], "cats_int64s": [4, 5], "default_int64": -3},
    ),
    (
        "LinearRegressor",
        X,
        [F],
        {"coefficients": [1.0, 2.0, 3.0, 4.0] * 2, "intercepts": [0.5, -1.0], "targets": 2},
    ),
    (
        "LinearClassifier",
        X,
        [I64, F],
        {
            "coefficients": [1.0, -2.0, 0.5, 0.0, 0.0, 1.0, 1.0, -1.0, 2.0, 0.0, 0.0, 1.0],
            "intercepts": [0.1, 0.2, -0.3],
            "classlabels_ints": [4, 7, 9],
            "post_transform": "SOFTMAX",
        },
    ),
    (
        "LinearClassifier",
        X,
        [I64, F],
        {
            "coefficients": [1.0, -2.0, 0.5, 0.0],
            "intercepts": [0.1],
            "classlabels_ints": [4, 7],
            "post_transform": "LOGISTIC",
        },
    ),
]


@pytest.mark.sample(4)
@pytest.mark.parametrize(("op", "x", "outputs", "attributes"), CASES)
def test_agrees(op: str, x: Any, outputs: Sequence[int], attributes: dict[str, Any]) -> None:
    proto = model(op, x, outputs, 3 if op != "CategoryMapper" else 1, **attributes)
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    compiled = stepwell.compile(proto)
    for rows in (x, x[:1]):
        expected: list[Any] = [*session.run(None, {"x": rows})]
        found: Any = compiled(rows)
        for have, want in zip(found if len(outputs) > 1 else [found], expected, strict=True):
            assert have.shape == want.shape
            if want.dtype == object:
                assert have.tolist() == want.tolist()
            else:
                assert have.dtype == want.dtype
                np.testing.assert_allclose(have, want, rtol=1e-5, atol=1e-6)


def test_nan_is_a_key_like_others() -> None:
    proto = model("LabelEncoder", HOLES, [I64], 4, keys_floats=[float("nan")], values_int64s=[8])
    found: Any = stepwell.compile(proto)(HOLES)
    np.testing.assert_array_equal(found, np.where(np.isnan(HOLES), 8, -1))


@pytest.mark.sample(3)
@pytest.mark.parametrize(("dtype", "count"), [("int64", 4), ("float32", 17), ("int64", 1000)])
def test_keys_are_searched(dtype: str, count: int) -> None:
    """Keys in no order, of which the first one wins; elements between, below and above them have none."""
    rng = np.random.default_rng(count)
    keys = rng.permutation(3 * count)[:count] - count
    x: Any = np.concatenate([keys, rng.integers(-2 * count, 4 * count, 99), [-(2**31), 2**31]]).astype(dtype)
    kind = "floats" if dtype == "float32" else "int64s"
    numbers: list[float] = keys.astype(dtype).tolist()
    attributes = {f"keys_{kind}": [*numbers, numbers[3]], "values_int64s": [*range(count), -9]}
    found: Any = stepwell.compile(model("LabelEncoder", x, [I64], 4, default_int64=-5, **attributes))(x)
    values = {number: i for i, number in enumerate(numbers)}
    assert found.tolist() == [values.get(number, -5) for number in x.tolist()]


def test_nan_among_keys() -> None:
    x: Any = np.array([np.nan, 3, -0.0, np.inf, -1], np.float32)
    keys = [*map(float, range(1, 40)), float("nan"), 0.0, float("inf")]
    pairs = {"keys_floats": keys, "values_int64s": [*range(len(keys))], "default_int64": -5}
    found: Any = stepwell.compile(model("LabelEncoder", x, [I64], 4, **pairs))(x)
    assert found.tolist() == [39, 2, 40, 41, -5]


def test_without_keys_all_is_default() -> None:
    proto = model("LabelEncoder", NUMBERS, [I64], 4, default_int64=-5)
    for kind in ("keys", "values"):
        empty = helper.make_tensor("t", I64, [0], [])
        proto.graph.node[0].attribute.append(helper.make_attribute(f"{kind}_tensor", empty))
    assert np.array_equal(stepwell.compile(proto)(NUMBERS), np.full_like(NUMBERS, -5))


def test_zip_map_is_a_list_of_dictionaries() -> None:
    node = helper.make_node("ZipMap", ["x"], ["z"], domain=ML, classlabels_strings=["a", "b", "c", "d"])
    x = helper.make_tensor_value_info("x", F, ["N", 4])
    kind = helper.make_sequence_type_proto(
        helper.make_map_type_proto(S, helper.make_tensor_type_proto(F, []))
    )
    graph = helper.make_graph([node], "g", [x], [helper.make_value_info("z", kind)])
    opsets = [helper.make_opsetid(ML, 1), helper.make_opsetid("", 18)]
    proto = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    found: Any = stepwell.compile(proto)(X)
    expected: Any = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": X})[0]
    assert found == expected


def test_wrong_tables_are_errors() -> None:
    bad = {"keys_int64s": [1, 2], "values_int64s": [1]}
    with pytest.raises(StepwellError, match="2 keys for 1 values"):
        stepwell.compile(model("LabelEncoder", NUMBERS, [I64], 3, **bad))
    bad = {"coefficients": [1.0, 2.0, 3.0], "targets": 2}
    with pytest.raises(StepwellError, match="3 coefficients do not make 2 rows"):
        stepwell.compile(model("LinearRegressor", X, [F], 1, **bad))
