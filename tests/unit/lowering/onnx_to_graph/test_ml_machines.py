"""Support vector machines and dictionaries of `ai.onnx.ml`, compiled: they agree with ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime  # pyright: ignore[reportMissingTypeStubs]
import pytest
from onnx import TensorProto, helper

import stepwell
from stepwell.runtime.errors import StepwellError

RNG = np.random.default_rng(41)
ML = "ai.onnx.ml"
X = RNG.uniform(-2, 2, (9, 4)).astype(np.float32)
STRING, FLOAT, INT64 = TensorProto.STRING, TensorProto.FLOAT, TensorProto.INT64
COUNTS = [3, 2, 4]


def numbers(count: int) -> list[float]:
    """Weights around 0."""
    return RNG.uniform(-1, 1, count).astype(np.float32).tolist()


def model(op: str, outputs: list[int], **attributes: Any) -> onnx.ModelProto:
    """A model of one node on rows of four features."""
    names = [f"y{i}" for i in range(len(outputs))]
    node = helper.make_node(op, ["x"], names, "node", domain=ML, **attributes)
    info = helper.make_tensor_value_info
    ends = [info(name, kind, None) for name, kind in zip(names, outputs, strict=True)]
    graph = helper.make_graph([node], "g", [info("x", TensorProto.FLOAT, ["N", 4])], ends)
    return _of(graph)


def _of(graph: onnx.GraphProto) -> onnx.ModelProto:
    opsets = [helper.make_opsetid(ML, 1), helper.make_opsetid("", 18)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)


def agree(made: onnx.ModelProto, x: object) -> None:
    """Run a model by both, and compare all outputs."""
    session: Any = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    found = stepwell.compile(made).run({"x": x})
    for output, expected in zip(made.graph.output, session.run(None, {"x": x}), strict=True):
        result: Any = found[output.name]
        assert result.dtype == expected.dtype and result.shape == expected.shape
        if expected.dtype.kind == "f":
            assert np.allclose(result, expected, rtol=1e-4, atol=1e-5)
        else:
            assert np.array_equal(result, expected)


def machines(classes: int, kernel: str, *, chances: bool = False, **attributes: Any) -> onnx.ModelProto:
    """A classifier with support vectors."""
    counts, pairs = COUNTS[:classes], classes * (classes - 1) // 2
    if chances:
        attributes |= {"prob_a": [-1.3, -0.8, -2.0][:pairs], "prob_b": [0.1, -0.2, 0.3][:pairs]}
    attributes = {"classlabels_ints": [7, 3, 5][:classes], **attributes}
    label = TensorProto.STRING if "classlabels_strings" in attributes else TensorProto.INT64
    if label == TensorProto.STRING:
        del attributes["classlabels_ints"]
    return model(
        "SVMClassifier",
        [label, TensorProto.FLOAT],
        kernel_type=kernel,
        kernel_params=[0.4, 0.2, 3.0],
        vectors_per_class=counts,
        support_vectors=numbers(4 * sum(counts)),
        coefficients=numbers((classes - 1) * sum(counts)),
        rho=numbers(pairs),
        **attributes,
    )


@pytest.mark.sample(6)
@pytest.mark.parametrize(
    "made",
    [
        machines(3, "LINEAR"),
        machines(3, "POLY", post_transform="SOFTMAX"),
        machines(3, "SIGMOID"),
        machines(3, "RBF", classlabels_strings=["a", "b", "c"]),
        machines(3, "RBF", chances=True),
        machines(2, "RBF"),
        machines(2, "RBF", post_transform="LOGISTIC"),
        machines(2, "LINEAR", chances=True),
    ],
)
def test_classifier(made: onnx.ModelProto) -> None:
    agree(made, X)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("weights", "classes", "transform"),
    [(numbers(12), 3, "NONE"), (numbers(12), 3, "SOFTMAX"), (numbers(8), 2, "NONE"), ([0.1] * 8, 2, "NONE")],
)
def test_linear_classifier(weights: list[float], classes: int, transform: str) -> None:
    labels = list(range(4, 4 + classes))
    told = {"coefficients": weights, "rho": [0.1], "post_transform": transform, "kernel_params": [0.0] * 3}
    agree(model("SVMClassifier", [INT64, FLOAT], classlabels_ints=labels, **told), X)


@pytest.mark.parametrize(("kernel", "one_class"), [("RBF", 0), ("POLY", 0), ("LINEAR", 1)])
def test_regressor(kernel: str, one_class: int) -> None:
    vectors, weights = numbers(20), numbers(5)
    told = {"n_supports": 5, "rho": [0.3], "one_class": one_class, "kernel_params": [0.5, 0.1, 2.0]}
    made = model(
        "SVMRegressor",
        [TensorProto.FLOAT],
        kernel_type=kernel,
        support_vectors=vectors,
        coefficients=weights,
        **told,
    )
    agree(made, X)


def test_linear_regressor() -> None:
    told = {"n_supports": 0, "rho": [0.5], "kernel_params": [0.0] * 3}
    agree(model("SVMRegressor", [FLOAT], coefficients=numbers(4), **told), X)


def test_wrong_tables_are_errors() -> None:
    made = model("SVMClassifier", [INT64, FLOAT], vectors_per_class=[1, 2], classlabels_ints=[0, 1])
    with pytest.raises(StepwellError, match="support_vectors"):
        stepwell.compile(made)


def dictionary(op: str, key: int, value: int, output: int, **attributes: Any) -> onnx.ModelProto:
    """A model of one node on a map."""
    x = onnx.ValueInfoProto(name="x")
    x.type.map_type.key_type = key
    x.type.map_type.value_type.tensor_type.elem_type = value
    x.type.map_type.value_type.tensor_type.shape.SetInParent()
    node = helper.make_node(op, ["x"], ["y"], domain=ML, **attributes)
    return _of(helper.make_graph([node], "g", [x], [helper.make_tensor_value_info("y", output, None)]))


WORDS = dictionary("DictVectorizer", STRING, FLOAT, FLOAT, string_vocabulary=["a", "b", "c"])
TEXTS = dictionary("CastMap", INT64, FLOAT, STRING, cast_to="TO_STRING")
PLACES = dictionary("CastMap", INT64, FLOAT, INT64, cast_to="TO_INT64", map_form="SPARSE", max_map=7)


@pytest.mark.parametrize(
    ("made", "x"),
    [
        (WORDS, {"a": 1.5, "c": 2.0, "z": 9.0}),
        (dictionary("CastMap", INT64, FLOAT, FLOAT), {5: 1.5, 1: 2.0}),
        (TEXTS, {5: 1.5, 1: 2.0}),
        (PLACES, {5: 1.5, 1: 2.0}),
    ],
)
def test_dictionary(made: onnx.ModelProto, x: dict[object, float]) -> None:
    agree(made, x)


def test_key_without_a_place() -> None:
    with pytest.raises(StepwellError, match="key 9 is not below max_map, 7"):
        stepwell.compile(PLACES).run({"x": {9: 1.0}})
