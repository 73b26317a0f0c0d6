"""Trees of `ai.onnx.ml`, compiled: they agree with ONNX Runtime, and with a walk by the text."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import stepwell
from benchmarks.trees import exported, learned
from stepwell.runtime.errors import StepwellError

RNG = np.random.default_rng(8)
ML = "ai.onnx.ml"
COMPARE = {
    "BRANCH_LEQ": operator.le,
    "BRANCH_LT": operator.lt,
    "BRANCH_GTE": operator.ge,
    "BRANCH_GT": operator.gt,
    "BRANCH_EQ": operator.eq,
    "BRANCH_NEQ": operator.ne,
}
FEATURES = 4


def nodes(trees: int, modes: Sequence[str], depth: int = 3) -> dict[str, Any]:
    """Attributes of complete trees whose thresholds are whole numbers, so that they are met exactly."""
    inner, size = 2**depth - 1, 2 ** (depth + 1) - 1
    numbers = [(tree, node) for tree in range(trees) for node in range(size)]
    return {
        "nodes_treeids": [tree for tree, _ in numbers],
        "nodes_nodeids": [node for _, node in numbers],
        "nodes_modes": [str(RNG.choice(list(modes))) if node < inner else "LEAF" for _, node in numbers],
        "nodes_featureids": RNG.integers(0, FEATURES, len(numbers)).tolist(),
        "nodes_values": RNG.integers(-1, 2, len(numbers)).astype(float).tolist(),
        "nodes_truenodeids": [2 * node + 1 if node < inner else 0 for _, node in numbers],
        "nodes_falsenodeids": [2 * node + 2 if node < inner else 0 for _, node in numbers],
        "nodes_missing_value_tracks_true": RNG.integers(0, 2, len(numbers)).tolist(),
    }


def leaves(attributes: dict[str, Any], kind: str, targets: int, *, positive: bool = False) -> dict[str, Any]:
    """Weights of the leaves, one for each target."""
    places = [i for i, mode in enumerate(attributes["nodes_modes"]) if mode == "LEAF" for _ in range(targets)]
    weights = RNG.uniform(0, 0.4, len(places)) if positive else RNG.standard_normal(len(places))
    return {
        f"{kind}_treeids": [attributes["nodes_treeids"][i] for i in places],
        f"{kind}_nodeids": [attributes["nodes_nodeids"][i] for i in places],
        f"{kind}_ids": [*range(targets)] * (len(places) // targets),
        f"{kind}_weights": weights.tolist(),
    }


def model(
    node: onnx.NodeProto,
    outputs: Sequence[tuple[str, int]],
    version: int = 3,
    *,
    element: int = TensorProto.FLOAT,
    features: int | str = FEATURES,
) -> onnx.ModelProto:
    """A model of one operator with an open batch, not named."""
    x = helper.make_tensor_value_info("x", element, [None, features])
    made = [helper.make_tensor_value_info(name, kind, None) for name, kind in outputs]
    graph = helper.make_graph([node], "g", [x], made)
    opsets = [helper.make_opsetid(ML, version), helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def rows(count: int = 40, *, holes: bool = True) -> npt.NDArray[np.float32]:
    """Whole numbers as often as others, and NaN."""
    x = RNG.uniform(-2, 2, (count, FEATURES)).astype(np.float32)
    x[::2] = np.round(x[::2])
    if holes:
        x[::5, 1] = np.nan
    return x


def walked(attributes: dict[str, Any], x: npt.NDArray[np.float32], targets: int) -> npt.NDArray[np.float64]:
    """The sums that a walk by the text of TreeEnsembleRegressor comes to."""
    keys = list(zip(attributes["nodes_treeids"], attributes["nodes_nodeids"], strict=True))
    place = {key: i for i, key in enumerate(keys)}
    names = ("target_treeids", "target_nodeids", "target_ids", "target_weights")
    said = list(zip(*(attributes[name] for name in names), strict=True))
    sums = np.zeros((len(x), targets))
    for row, numbers in enumerate(x):
        for tree in {tree for tree, _ in keys}:
            at = place[tree, 0]
            while (mode := attributes["nodes_modes"][at]) != "LEAF":
                number = numbers[attributes["nodes_featureids"][at]]
                goes = COMPARE[mode](number, np.float32(attributes["nodes_values"][at]))
                goes |= bool(np.isnan(number) and attributes["nodes_missing_value_tracks_true"][at])
                way = "nodes_truenodeids" if goes else "nodes_falsenodeids"
                at = place[tree, attributes[way][at]]
            for leaf_tree, node, target, weight in said:
                if (leaf_tree, node) == keys[at]:
                    sums[row, target] += weight
    return sums


@pytest.mark.sample(3)
@pytest.mark.parametrize("modes", [*([mode] for mode in COMPARE), list(COMPARE)], ids=lambda m: m[0][7:])
def test_modes(modes: Sequence[str]) -> None:
    attributes = nodes(3, modes)
    attributes |= leaves(attributes, "target", 2)
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=2, **attributes)
    x = rows()
    y: Any = stepwell.compile(model(node, [("y", TensorProto.FLOAT)]))(x)
    np.testing.assert_allclose(y, walked(attributes, x, 2), rtol=1e-5, atol=1e-6)


@pytest.mark.sample(3)
@pytest.mark.parametrize("aggregate", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC", "SOFTMAX"])
def test_regressor(aggregate: str, transform: str) -> None:
    attributes = nodes(4, ["BRANCH_LEQ"])
    attributes |= leaves(attributes, "target", 2)
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=2, base_values=[0.25, -0.5],
        aggregate_function=aggregate, post_transform=transform, **attributes,
    )  # fmt: skip
    agrees(model(node, [("y", TensorProto.FLOAT)]))


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("classes", "transform"), [(1, "NONE"), (1, "LOGISTIC"), (3, "NONE"), (3, "LOGISTIC"), (3, "SOFTMAX")]
)
@pytest.mark.parametrize("positive", [False, True])
def test_classifier(classes: int, transform: str, positive: bool) -> None:
    attributes = nodes(3, ["BRANCH_LT"])
    attributes |= leaves(attributes, "class", classes, positive=positive)
    labels = [7, -2, 5][: max(2, classes)]
    node = helper.make_node(
        "TreeEnsembleClassifier", ["x"], ["label", "scores"], domain=ML,
        classlabels_int64s=labels, post_transform=transform, **attributes,
    )  # fmt: skip
    agrees(model(node, [("label", TensorProto.INT64), ("scores", TensorProto.FLOAT)]))


def agrees(proto: onnx.ModelProto) -> None:
    """Compare with ONNX Runtime, for two sizes from one compilation."""
    session = onnxruntime.InferenceSession(proto.SerializeToString())
    compiled = stepwell.compile(proto)
    for count in (1, 33):
        x = rows(count)
        found: dict[str, Any] = {**compiled.run({"x": x})}
        wanted: list[Any] = [*session.run(None, {"x": x})]
        for spec, expected in zip(session.get_outputs(), wanted, strict=True):
            assert found[spec.name].dtype == expected.dtype
            np.testing.assert_allclose(found[spec.name], expected, rtol=1e-5, atol=1e-6)


def test_labels_may_be_strings() -> None:
    attributes = nodes(2, ["BRANCH_LEQ"])
    attributes |= leaves(attributes, "class", 3)
    node = helper.make_node(
        "TreeEnsembleClassifier", ["x"], ["label", "scores"], domain=ML,
        classlabels_strings=["no", "yes", "perhaps"], **attributes,
    )  # fmt: skip
    proto = model(node, [("label", TensorProto.STRING), ("scores", TensorProto.FLOAT)])
    x = rows(holes=False)
    expected: Any = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {"x": x})[0]
    assert [*stepwell.compile(proto).run({"x": x})["label"]] == [*expected]


def test_sets_of_members() -> None:
    tensor = numpy_helper.from_array
    node = helper.make_node(
        "TreeEnsemble", ["x"], ["y"], domain=ML, n_targets=1, aggregate_function=1, post_transform=0,
        tree_roots=[0], nodes_featureids=[0, 1], nodes_modes=tensor(np.array([6, 6], np.uint8)),
        nodes_splits=tensor(np.zeros(2, np.float32)), nodes_truenodeids=[0, 1], nodes_trueleafs=[1, 1],
        nodes_falsenodeids=[1, 2], nodes_falseleafs=[0, 1], leaf_targetids=[0, 0, 0],
        leaf_weights=tensor(np.array([1.0, 2.0, 3.0], np.float32)),
        membership_values=tensor(np.array([-1.5, 0.0, 2.0, np.nan, 5.0, np.nan], np.float32)),
    )  # fmt: skip
    x = np.zeros((6, FEATURES), np.float32)
    x[:, 0] = [-1.5, 0.0, 2.0, 1.0, np.nan, 1.0]
    x[5, 1] = 5.0
    y = stepwell.compile(model(node, [("y", TensorProto.FLOAT)], version=5))(x)
    assert np.asarray(y).ravel().tolist() == [1.0, 1.0, 1.0, 3.0, 3.0, 2.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes_truenodeids": [9, 0, 0]}, "tree 0 has no node 9"),
        ({"nodes_modes": ["BRANCH_UP", "LEAF", "LEAF"]}, "no mode of a node is named UP"),
        (
            {"nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"], "nodes_falsenodeids": [2, 2, 0]},
            "has no tree",
        ),
        (
            {
                "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ", "LEAF"],
                "nodes_truenodeids": [1, 1, 0],
                "nodes_falsenodeids": [2, 2, 0],
            },
            "in a circle",
        ),
        ({"target_ids": [0, 5]}, "a leaf names target 5, there are 1"),
        ({"nodes_featureids": [4, 0, 0]}, "a node names feature 4, there are 4"),
        ({"nodes_featureids": [-1, 0, 0]}, "a node names feature -1, there are 4"),
    ],
)
def test_wrong_tables_are_errors(change: dict[str, Any], message: str) -> None:
    attributes: dict[str, Any] = {
        "nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0],
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "nodes_values": [0.0, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0],
        "target_treeids": [0, 0], "target_nodeids": [1, 2],
        "target_ids": [0, 0], "target_weights": [1.0, 2.0],
    }  # fmt: skip
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=1, **attributes | change
    )
    with pytest.raises(StepwellError, match=message):
        stepwell.compile(model(node, [("y", TensorProto.FLOAT)]))


def test_open_features_are_checked() -> None:
    attributes: dict[str, Any] = {**nodes(2, ["BRANCH_LT"]), "nodes_featureids": [3] * 30}
    attributes |= leaves(attributes, "target", 1)
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=1, **attributes)
    compiled = stepwell.compile(model(node, [("y", TensorProto.FLOAT)], features="F"))
    x = rows(33)
    y: Any = compiled(x)
    np.testing.assert_allclose(y, walked(attributes, x, 1), rtol=1e-5, atol=1e-6)
    with pytest.raises(StepwellError, match="a node names feature 3"):
        compiled(np.ascontiguousarray(x[:, :3]))


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_types_of_numbers(dtype: Any) -> None:
    tensor = numpy_helper.from_array
    splits = np.array([0.1, -0.5], dtype)
    node = helper.make_node(
        "TreeEnsemble", ["x"], ["y"], domain=ML, n_targets=1, aggregate_function=1, post_transform=0,
        tree_roots=[0], nodes_featureids=[0, 1], nodes_modes=tensor(np.array([0, 1], np.uint8)),
        nodes_splits=tensor(splits), nodes_truenodeids=[1, 0], nodes_trueleafs=[0, 1],
        nodes_falsenodeids=[2, 1], nodes_falseleafs=[1, 1], leaf_targetids=[0, 0, 0],
        leaf_weights=tensor(np.array([0.1, 0.2, 0.3], dtype)),
    )  # fmt: skip
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    compiled = stepwell.compile(model(node, [("y", element)], version=5, element=element))
    x = np.zeros((40, FEATURES), dtype)
    x[:, 0] = np.where(np.arange(40) % 3, splits[0], np.nextafter(splits[0], dtype(np.inf)))
    x[:, 1] = np.where(np.arange(40) % 2, splits[1], np.nextafter(splits[1], dtype(-np.inf)))
    expected: Any = np.where(x[:, 0] > splits[0], 0.3, np.where(x[:, 1] < splits[1], 0.1, 0.2)).astype(dtype)
    y: Any = compiled(x)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.ravel(), expected)


@pytest.mark.sample(7)
@pytest.mark.parametrize("classes", [1, 2, 10])
@pytest.mark.parametrize("depth", [5, 12])
def test_forests_of_scikit_learn(depth: int, classes: int) -> None:
    pytest.importorskip("sklearn", reason="scikit-learn is not installed (make .venv/with-bench)")
    forest = learned(30, depth, classes)
    compiled = stepwell.compile(exported(forest))
    for count in (1, 100):
        x = np.random.default_rng(count).standard_normal((count, 20)).astype(np.float32)
        found: dict[str, Any] = {**compiled.run({"x": x})}
        expected: Any = forest.predict(x) if classes == 1 else forest.predict_proba(x)
        np.testing.assert_allclose(found["y"].reshape(expected.shape), expected, rtol=1e-5, atol=1e-6)
        if classes > 1:
            # Sums of f32 may decide between classes that are equally probable.
            clear = np.ptp(np.sort(expected, axis=1)[:, -2:], axis=1) > 1e-6
            assert np.array_equal(found["label"][clear], forest.predict(x)[clear])
